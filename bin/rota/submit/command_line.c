/* command_line.c - the command line of this process as text, for the record of a job.
 *
 * Called by: origin.c.
 * Invariants:
 * - A shell that reads the text gets the same words. Bytes that are not printable are written as $'\x07'. */
#include "bin/rota/submit/command_line.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/print/format.h"
#include "lib/err.h"
#include "lib/text.h"

/* LINE_READ leaves room for the folder of the program, which is not part of the line. */
enum { LINE_MOST = 4096, LINE_READ = 3 * LINE_MOST };

/* Returns the bytes of the character at `text` that can be shown; 0 if it is a control character or not UTF-8. */
static size_t shown_size(const char *text)
{
	return text_control_size(text) ? 0 : text_character_size(text);
}

static bool can_be_shown(const char *word)
{
	while (*word && shown_size(word))
		word += shown_size(word);
	return !*word;
}

/* Returns a word as $'...', malloc'ed. */
static char *word_escaped(const char *word)
{
	char *text = xmalloc(4 * strlen(word) + 4), *end = stpcpy(text, "$'");

	while (*word) {
		size_t size = shown_size(word);

		if (!size) {
			end += sprintf(end, "\\x%02x", (unsigned char)*word++);
			continue;
		}
		if (*word == '\'' || *word == '\\')
			*end++ = '\\';
		memcpy(end, word, size);
		end += size;
		word += size;
	}
	strcpy(end, "'");
	return text;
}

char *command_line_text(const char *words, size_t size, size_t most)
{
	const char *first = memrchr(words, '/', strnlen(words, size)), *word = first ? first + 1 : words;
	char *text = xstrdup("");

	while (word < words + size && strlen(text) <= most) {
		char *quoted = can_be_shown(word) ? format_shell(word) : word_escaped(word),
		     *longer = xasprintf("%s%s%s", text, *text ? " " : "", quoted);

		free(quoted);
		free(text);
		text = longer;
		word += strlen(word) + 1;
	}
	text_cut(text, most);
	return text;
}

char *command_line_own(void)
{
	char words[LINE_READ];
	int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t got = file < 0 ? -1 : 1;

	while (got > 0 && size < sizeof words - 1) {
		got = read(file, words + size, sizeof words - 1 - size);
		size += got > 0 ? (size_t)got : 0;
	}
	if (file >= 0)
		close(file);
	words[size] = '\0';
	return got < 0 || !size ? NULL : command_line_text(words, size, LINE_MOST);
}
