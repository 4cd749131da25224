/* submit_each.c - replaces placeholders in options and arguments by the text of a line. Each line of the file makes one job.
 *
 * Called by: `rota submit`.
 * Invariants:
 * - Placeholders in the text of a line are not replaced.
 * - No shell reads the text of a line. */
#include "bin/rota/submit/submit_each.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/submit/submit_options.h"
#include "lib/err.h"

enum { LIST_MOST = 16 << 20 };

#define BLANKS " \t"

json_t *submit_each_lines(const char *path, struct err *e)
{
	size_t size;
	char *text = submit_options_read(path, LIST_MOST, &size, e), *rest = text, *line;
	json_t *lines = json_array();

	if (text && (size >= LIST_MOST || memchr(text, '\0', size))) {
		err_set(e, size >= LIST_MOST ? "%s has more than 16 MiB" : "%s is not text: it has a NUL byte", path);
		free(text);
		rest = text = NULL;
	}
	for (int number = 1; text && (line = strsep(&rest, "\n")); number++) {
		size_t length = strlen(line);

		if (length && line[length - 1] == '\r')
			line[--length] = '\0';
		if (!line[strspn(line, BLANKS)])
			continue;
		if (json_array_append_new(lines, json_string(line))) {
			err_set(e, "%s:%d: the line is not UTF-8 text", path, number);
			free(text);
			text = NULL;
		}
	}
	if (!text || json_array_size(lines) == 0) {
		if (text)
			err_set(e, "%s has only blank lines", path);
		json_decref(lines);
		lines = NULL;
	}
	free(text);
	return lines;
}

/* Returns word n of a line, counted from 1, and its length; NULL if the line has fewer words. */
static const char *word_at(const char *line, long n, size_t *length)
{
	for (line += strspn(line, BLANKS); *line; line += strspn(line, BLANKS)) {
		*length = strcspn(line, BLANKS);
		if (--n == 0)
			return line;
		line += *length;
	}
	return NULL;
}

/* Returns the length of the placeholder {} (*n is 0) or {N} at `text`; 0 if there is none. */
static size_t placeholder(const char *text, long *n)
{
	size_t digits = *text == '{' ? strspn(text + 1, "0123456789") : 0;

	if (*text != '{' || digits > 6 || text[1 + digits] != '}')
		return 0;
	*n = digits ? strtol(text + 1, NULL, 10) : 0;
	return digits && *n == 0 ? 0 : digits + 2;
}

/* Returns the length of the first placeholder of a line, and where it is; 0 if there is none. */
static size_t line_placeholder(const char *line, size_t length, const char **at)
{
	size_t took = 0;
	long n;

	for (*at = line; !took && *at < line + length; *at += !took)
		took = placeholder(*at, &n);
	return took;
}

bool submit_each_check(const char *name, const char *script, struct err *e)
{
	const char *at;
	int number = 1;

	for (const char *line = script; *line; number++) {
		size_t length = strcspn(line, "\n"), took = 0;

		if (!strncmp(line, "#ROTA ", 6) || !strncmp(line, "#SBATCH ", 8) || !strncmp(line, "#PBS ", 5))
			took = line_placeholder(line, length, &at);
		if (took) {
			err_set(e, "%s:%d: %.*s is replaced in options and arguments of the command line only, not in the script",
				name, number, (int)took, at);
			return err_hint(e, "Write this option on the command line, before the script.");
		}
		line += length + (line[length] == '\n');
	}
	return true;
}

/* Returns a text with its placeholders replaced, as JSON; NULL with an error on failure. Sets *some if there was a
 * placeholder. */
static json_t *text_fill(const char *text, const char *line, bool *some, struct err *e)
{
	char *whole = NULL;
	size_t size = 0, took;
	FILE *out = open_memstream(&whole, &size);
	bool good = true;
	json_t *value;
	long n;

	if (!out)
		die("out of memory");
	while (good && *text) {
		size_t length = strlen(line);
		const char *word = line;

		took = placeholder(text, &n);
		if (!took) {
			fputc(*text++, out);
			continue;
		}
		if (n > 0)
			word = word_at(line, n, &length);
		if (word)
			fwrite(word, 1, length, out);
		else
			good = err_set(e, "{%ld}: the line \"%.200s\" has fewer words", n, line);
		*some = true;
		text += took;
	}
	fclose(out);
	value = good ? json_stringn(whole, size) : NULL;
	free(whole);
	return value;
}

static json_t *list_filled(const json_t *list, const char *line, bool *some, struct err *e)
{
	json_t *all = json_array(), *one;
	size_t i;

	json_array_foreach ((json_t *)list, i, one) {
		json_t *value = text_fill(json_string_value(one), line, some, e);

		if (!value) {
			json_decref(all);
			return NULL;
		}
		json_array_append_new(all, value);
	}
	return all;
}

json_t *submit_each_job(const char *line, const json_t *options, const json_t *arguments, struct err *e)
{
	bool some = false;
	json_t *own = list_filled(options, line, &some, e), *words = own ? list_filled(arguments, line, &some, e) : NULL;
	const char *word;
	size_t length;

	if (!words) {
		json_decref(own);
		return NULL;
	}
	for (long n = 1; !some && (word = word_at(line, n, &length)); n++)
		json_array_append_new(words, json_stringn(word, length));
	return json_pack("{so so}", "options", own, "arguments", words);
}
