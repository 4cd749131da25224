/* translate_shell.c - finds the here-documents of a shell script, because a directive in a here-document has no effect.
 *
 * Called by: translate_read.c, for each line outside here-documents.
 * Invariants:
 * - A here-document whose end is not in the script is ignored, so a wrong guess never hides the rest of the script.
 * - The work is linear in the script: skipped lines are not read again, and the number of searches that find nothing is
 *   bounded. */
#include <string.h>

#include "jobmgr/translate/translate_parts.h"

/* Kinds of quotes and parentheses on the stack, innermost on top. MISSES_MOST: most searches for the end of a here-document
 * that find nothing. */
enum { CODE = 'c', SINGLE = 's', DOUBLE = 'd', ARITHMETIC = 'a', MISSES_MOST = 32 };

static char shell_top(const struct translate_shell *s)
{
	return s->depth > 0 ? s->stack[s->depth - 1] : CODE;
}

static void shell_push(struct translate_shell *s, char kind)
{
	if (s->depth < (int)sizeof s->stack)
		s->stack[s->depth++] = kind;
}

void translate_shell_of(const char *script, size_t size, char interpreter[128])
{
	static const char *const shells[] = {"sh", "bash", "dash", "ksh", "mksh", "ash", "zsh"};
	const char *newline = size > 0 ? memchr(script, '\n', size) : NULL, *name = "";
	size_t length = newline ? (size_t)(newline - script) : size;
	char line[128], *rest = line, *word;
	*interpreter = '\0';
	if (length < 2 || length >= sizeof line || memcmp(script, "#!", 2) != 0)
		return;
	memcpy(line, script + 2, length - 2);
	line[length - 2] = '\0';
	while ((word = strsep(&rest, " \t"))) {
		if (!*word || (*name && *word == '-'))
			continue;
		name = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
		if (strcmp(name, "env") != 0)
			break;
	}
	for (size_t i = 0; word && i < sizeof shells / sizeof *shells; i++)
		if (strcmp(name, shells[i]) == 0)
			strcpy(interpreter, word);
}

void translate_shell_reset(struct translate_shell *s)
{
	s->depth = s->count = 0;
}

bool translate_shell_is_quoted(const struct translate_shell *s)
{
	return shell_top(s) == SINGLE || shell_top(s) == DOUBLE;
}

/* Read the word after "<<", which is the line that ends the here-document. Returns the text after the word. */
static const char *shell_take_word(struct translate_shell *s, const char *c, const char *end)
{
	struct translate_document *d = &s->documents[s->count];
	size_t length = 0;
	char quote = '\0';
	bool quoted = false;
	d->tabs = c < end && *c == '-';
	c += d->tabs;
	while (c < end && (*c == ' ' || *c == '\t'))
		c++;
	for (; c < end && (quote || !strchr(" \t\r;|&<>()", *c)); c++) {
		if (*c == quote || (!quote && (*c == '\'' || *c == '"'))) {
			quote = quote ? '\0' : *c;
			quoted = true;
			continue;
		}
		c += *c == '\\' && quote != '\'' && c + 1 < end;
		if (length + 1 < sizeof d->word)
			d->word[length++] = *c;
	}
	d->word[length] = '\0';
	s->count += length > 0 || quoted;
	return c;
}

/* Read one character of shell code, and what it begins: a comment, quote, parenthesis or here-document. `word`: a word begins
 * at the character. Returns the text after what was read. */
static const char *shell_take_code(struct translate_shell *s, const char *c, const char *end, bool word)
{
	bool twice = c + 1 < end && c[1] == c[0];
	if (*c == '#' && word && shell_top(s) == CODE)
		return end;
	if (*c == '\'' || *c == '"') {
		shell_push(s, *c == '"' ? DOUBLE : SINGLE);
	} else if (*c == '(') {
		bool sum = shell_top(s) == ARITHMETIC || twice;
		shell_push(s, sum ? ARITHMETIC : CODE);
		if (sum && twice)
			shell_push(s, ARITHMETIC);
		return c + 1 + (sum && twice);
	} else if (*c == ')') {
		s->depth -= s->depth > 0;
	} else if (*c == '<' && twice && shell_top(s) == CODE) {
		if (c + 2 < end && c[2] == '<')
			return c + 3;
		if (s->count < (int)(sizeof s->documents / sizeof *s->documents))
			return shell_take_word(s, c + 2, end);
	}
	return c + 1;
}

/* Read a line of a shell script. Returns true if the line continues on the next line, so that no here-document begins after
 * it. */
static bool shell_take_line(struct translate_shell *s, const char *c, const char *end)
{
	bool word = true;
	while (c < end) {
		char now = *c, kind = shell_top(s);
		if (now == '\\' && kind != SINGLE) {
			if (c + 1 == end)
				return true;
			c += 2;
		} else if (kind == SINGLE || kind == DOUBLE) {
			bool substitutes = kind == DOUBLE && now == '$' && c + 1 < end && c[1] == '(';
			s->depth -= now == (kind == SINGLE ? '\'' : '"');
			c = substitutes ? shell_take_code(s, c + 1, end, false) : c + 1;
		} else {
			c = shell_take_code(s, c, end, word);
		}
		word = strchr(" \t;|&()", now) != NULL;
	}
	return shell_top(s) == SINGLE || shell_top(s) == DOUBLE;
}

/* Returns the text after the line that ends the here-document, or NULL if there is no such line. *lines is set to the number of
 * the document's lines. */
static const char *shell_find_end(const struct translate_document *d, const char *text, const char *end, int *lines)
{
	size_t length = strlen(d->word);
	for (*lines = 1; text < end; ++*lines) {
		const char *newline = memchr(text, '\n', (size_t)(end - text)), *stop = newline ? newline : end;
		while (d->tabs && text < stop && *text == '\t')
			text++;
		if ((size_t)(stop - text) == length && memcmp(text, d->word, length) == 0)
			return newline ? newline + 1 : end;
		text = newline ? newline + 1 : end;
	}
	return NULL;
}

const char *translate_shell_read(struct translate_shell *s, const char *line, size_t size, const char *text, const char *end,
				 int *number)
{
	if (shell_take_line(s, line, line + size))
		return text;
	for (int i = 0; i < s->count; i++) {
		int lines;
		const char *after_document = s->misses < MISSES_MOST ? shell_find_end(&s->documents[i], text, end, &lines) : NULL;
		s->misses += !after_document;
		if (!after_document)
			break;
		text = after_document;
		*number += lines;
	}
	s->count = 0;
	return text;
}
