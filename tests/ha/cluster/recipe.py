"""The commands of docs/high-availability.md: what the page says is what the test runs.

A command begins with a prompt that names its machines: `db1#`, `n[1-2]#`, `primary#`. It is one line, with the lines that backslashes
continue and up to the end of its here-document. Other lines of a block are output. Successive commands with the same prompt and no
empty line between them are one script.
"""
import os
import re

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/high-availability.md")
PROMPT = re.compile(r"^ {4,}([a-z]+\d*(?:\[\d-\d\])?)# (.*)$")


def expand(pattern):
    """The machines that a prompt names."""
    found = re.match(r"^(.*)\[(\d)-(\d)\]$", pattern)
    return [f"{found[1]}{i}" for i in range(int(found[2]), int(found[3]) + 1)] if found else [pattern]


def commands(lines):
    """Yield (prompt, command, adjacent) for each command of these lines. adjacent: no empty line is between it and the command before."""
    index, adjacent = 0, False
    while index < len(lines):
        found = PROMPT.match(lines[index])
        index += 1
        if not found:
            adjacent = adjacent and bool(lines[index - 1].strip())
            continue
        indent = len(lines[index - 1]) - len(lines[index - 1].lstrip())
        text = [found[2]]
        document = re.search(r"<<-?'?([A-Z]+)'?", found[2])
        while text[-1].endswith("\\") or (document and text[-1] != document[1]):
            text.append(lines[index][indent:])
            index += 1
        yield found[1], "\n".join(text), adjacent
        adjacent = True


def scripts(section):
    """The scripts below a heading of the page, in order: (prompt, text)."""
    with open(PAGE, encoding="utf-8") as file:
        lines = file.read().split("\n")
    level = next((re.match("#+", line)[0] for line in lines if re.match(rf"^#+ {re.escape(section)}$", line)), None)
    if not level:
        raise RuntimeError(f"docs/high-availability.md has no section \"{section}\"")
    start = lines.index(f"{level} {section}") + 1
    end = next((i for i in range(start, len(lines)) if re.match(rf"^#{{1,{len(level)}}} ", lines[i])), len(lines))
    found = []
    for prompt, text, adjacent in commands(lines[start:end]):
        if adjacent and found[-1][0] == prompt:
            found[-1] = (prompt, f"{found[-1][1]}\n{text}")
        else:
            found.append((prompt, text))
    return found
