/* each_line.c - the lines of `rota run --each` (each_line.h).
 *
 * Called by: run_each.c.
 * Invariants:
 * - The text of a line becomes one argument, whatever characters it has. Only without a command is it read as shell code, by `sh
 *   -c`. */
#include "bin/rota/steps/each_line.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/err.h"

enum { READ_SIZE = 64 << 10 };

/* Cut one whole line off the bytes read so far. Returns NULL if they have no line feed. */
static char *reader_cut(struct line_reader *r)
{
	char *line = r->bytes + r->from, *end = r->to > r->from ? memchr(line, '\n', r->to - r->from) : NULL;

	if (!end && (!r->ended || r->from == r->to))
		return NULL;
	if (!end)
		end = r->bytes + r->to; /* line_reader_fill() left room for the NUL */
	*end = '\0';
	r->from = (size_t)(end - r->bytes) + 1;
	if (r->from > r->to)
		r->from = r->to;
	if (end > line && end[-1] == '\r')
		end[-1] = '\0';
	r->number++;
	return line;
}

char *line_reader_next(struct line_reader *r)
{
	char *line;

	while ((line = reader_cut(r)))
		if (line[strspn(line, " \t")])
			return line;
	return NULL;
}

void line_reader_fill(struct line_reader *r)
{
	ssize_t size;

	if (r->from) {
		memmove(r->bytes, r->bytes + r->from, r->to - r->from);
		r->to -= r->from;
		r->from = 0;
	}
	if (r->room - r->to < READ_SIZE + 1) {
		r->room = r->room * 2 + READ_SIZE + 1;
		r->bytes = xrealloc(r->bytes, r->room);
	}
	do
		size = read(r->fd, r->bytes + r->to, READ_SIZE);
	while (size < 0 && errno == EINTR);
	if (size > 0)
		r->to += (size_t)size;
	else if (size == 0 || errno != EAGAIN)
		r->ended = true;
	if (size < 0 && errno != EAGAIN)
		r->error = errno;
}

static size_t placeholders_count(const char *word)
{
	size_t count = 0;

	for (; (word = strstr(word, "{}")); word += 2)
		count++;
	return count;
}

/* Write a word with each {} replaced. Returns the end of the written text, after its NUL. */
static char *word_fill(char *at, const char *word, const char *line)
{
	const char *next;

	for (; (next = strstr(word, "{}")); word = next + 2) {
		at = mempcpy(at, word, (size_t)(next - word));
		at = stpcpy(at, line);
	}
	return stpcpy(at, word) + 1;
}

char **each_line_command(char *const *command, const char *line)
{
	static char shell[] = "/bin/sh", option[] = "-c", braces[] = "{}";
	static char *const of_shell[] = {shell, option, braces, NULL};
	size_t count = 0, size = 0, some = 0;
	char **words, *at;

	if (!*command)
		command = of_shell;
	for (; command[count]; count++) {
		size_t here = placeholders_count(command[count]);

		some += here;
		size += strlen(command[count]) + 1 + here * strlen(line);
	}
	words = xmalloc((count + 2) * sizeof(*words) + size + strlen(line) + 1);
	at = (char *)(words + count + 2);
	for (size_t i = 0; i < count; i++) {
		words[i] = at;
		at = word_fill(at, command[i], line);
	}
	if (!some) {
		words[count++] = at;
		strcpy(at, line);
	}
	words[count] = NULL;
	return words;
}

/* Returns the hash FNV-1a of a text, its NUL included. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3U;
	while (*text++);
	return hash;
}

uint64_t each_line_hash(char *const *command, long number, const char *line)
{
	uint64_t hash = 0xcbf29ce484222325U;

	for (; *command; command++)
		hash = hash_text(hash, *command);
	for (int i = 0; i < 8; i++)
		hash = (hash ^ (((uint64_t)number >> (8 * i)) & 0xff)) * 0x100000001b3U;
	return hash_text(hash, line);
}
