"""secret_search.py NEEDLES ROOT...: prints where what is in the files of the folder NEEDLES is found.

Reads each file below each ROOT, and command line, environment and memory of each process that has a ROOT in its command line, environment
or working directory. Of each needle it looks for the bytes, their base64 and their hexadecimal form; of an SSH key also for the bare seed.
"""
import base64
import glob
import os
import sys

LARGEST = 1 << 28  # no mapping of a test is larger, except those that nothing was written to


def ssh_seed(text):
    """The 32 secret bytes of an ed25519 key: they follow the second copy of the public half, and a length."""
    blob = base64.b64decode(b"".join(text.splitlines()[1:-1]))
    public = blob[blob.index(b"ssh-ed25519") + 15:][:32]
    return blob[blob.rindex(b"ssh-ed25519") + 15 + 32 + 4:][:32] if public in blob else b""


def needles(folder):
    """(name, bytes) of each form of each needle. Text of several lines is looked for by its longest line, since readers split it."""
    for path in glob.glob(f"{folder}/*"):
        with open(path, "rb") as file:
            text = file.read().strip(b"\n")
        name = os.path.basename(path)
        forms = [text]
        if b"PRIVATE KEY" in text:
            forms = [max(text.splitlines(), key=len), ssh_seed(text)]
        for form in forms:
            assert len(form) >= 16, f"needle {name} is too short"
            # The end of a base64 text depends on what follows.
            yield from ((name, form), (name, base64.b64encode(form)[:-4]), (name, form.hex().encode()))


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def memory(process, seen):
    """Mappings of a process that can be written, one after the other; a process that ends has none. `seen`: shared ones of others."""
    try:
        with open(f"{process}/mem", "rb", 0) as file:
            for line in read(f"{process}/maps").decode().splitlines():
                bounds, rights, *place = line.split()[:5]
                begin, end = (int(x, 16) for x in bounds.split("-"))
                if rights[:2] != "rw" or end - begin > LARGEST or rights[3] == "s" and tuple(place) in seen:
                    continue
                seen.add(tuple(place))
                try:
                    file.seek(begin)
                    yield file.read(end - begin)
                except OSError:
                    continue
    except OSError:
        return


def processes(roots):
    """Folders in /proc of the processes that belong to one of the roots, except this one and its parents."""
    own, pid = set(), os.getpid()
    while pid > 1:
        own.add(pid)
        pid = int(read(f"/proc/{pid}/stat").rpartition(b") ")[2].split()[1])
    for process in glob.glob("/proc/[0-9]*"):
        try:
            place = os.readlink(f"{process}/cwd")
        except OSError:
            continue
        words = read(f"{process}/cmdline") + read(f"{process}/environ") + place.encode()
        if int(process[6:]) not in own and any(root.encode() in words for root in roots):
            yield process


def main():
    forms, roots = list(needles(sys.argv[1])), sys.argv[2:]
    found, seen = set(), set()

    def search(text, where):
        found.update(f"{name}: {where}" for name, form in forms if form in text)

    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                if os.path.isfile(f"{folder}/{name}"):
                    search(read(f"{folder}/{name}"), f"{folder}/{name}")
    for process in processes(roots):
        name = read(f"{process}/comm").decode().strip()
        for part in ("cmdline", "environ"):
            search(read(f"{process}/{part}"), f"{part} of {name}")
        for text in memory(process, seen):
            search(text, f"memory of {name}")
    print("\n".join(sorted(found)), end="\n" if found else "")


main()
