/* translate_words.c - splits a directive into words as a shell does, without expansions.
 *
 * Blanks separate words. '...' keeps all characters; "..." keeps all but \ before " and \; \ keeps the next character; # at the
 * beginning of a word ends the line.
 * Called by: translate_read.c, for each directive. */
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/translate_parts.h"

struct splitter {
	const char *in, *end;
	char *out;
};

static bool words_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Copy the quoted text after an opening quote of a directive. Returns false if the quote is not closed. */
static bool words_copy_quoted(struct splitter *s, char quote)
{
	while (s->in < s->end && *s->in != quote) {
		if (quote == '"' && *s->in == '\\' && s->in + 1 < s->end && (s->in[1] == '"' || s->in[1] == '\\'))
			s->in++;
		*s->out++ = *s->in++;
	}
	return s->in < s->end && *s->in++ == quote;
}

/* Copy one word of a directive, and a NUL. Returns false with an error if a quote is not closed or the directive ends in a
 * backslash. */
static bool words_copy_word(struct splitter *s, struct err *e)
{
	while (s->in < s->end && !words_is_blank(*s->in)) {
		char c = *s->in++;
		if (c == '\'' || c == '"') {
			if (!words_copy_quoted(s, c))
				return err_set(e, "a quotation mark %c is not closed", c);
			continue;
		}
		if (c == '\\') {
			if (s->in == s->end) {
				err_set(e, "the line ends in \"\\\"");
				return err_hint(e, "a directive cannot continue on the next line; write it on one line");
			}
			c = *s->in++;
		}
		*s->out++ = c;
	}
	*s->out++ = '\0';
	return true;
}

bool translate_words(const char *text, size_t size, struct translate_words *words, struct err *e)
{
	int capacity = 0;
	words->text = xmalloc(2 * size + 1);
	words->list = NULL;
	words->count = 0;
	memset(e, 0, sizeof *e);
	struct splitter s = {text, text + size, words->text};
	for (;;) {
		while (s.in < s.end && words_is_blank(*s.in))
			s.in++;
		if (s.in == s.end || *s.in == '#')
			return true;
		if (words->count == capacity) {
			capacity = capacity ? 2 * capacity : 8;
			words->list = xrealloc(words->list, (size_t)capacity * sizeof *words->list);
		}
		words->list[words->count++] = s.out;
		if (!words_copy_word(&s, e))
			return false;
	}
}

void translate_words_free(struct translate_words *words)
{
	free(words->text);
	free(words->list);
}
