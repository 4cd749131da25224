/* rows.c - parses lines of fields, from the last to the first.
 *
 * The lists of `rota queue` and `rota acct` are long; parsing a JSON object for each row would take most of their time.
 * Called by: call.c for answers; the verbs for rows. */
#include "bin/rota/call/rows.h"

#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

/* Returns the character that a backslash and `c` stand for in JSON, 0 if this escape is not supported here. */
static char unescaped(char c)
{
	switch (c) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case '"':
	case '\\':
	case '/':
		return c;
	default:
		return 0;
	}
}

/* Returns the JSON string whose opening quote is right before `from`, NULL if it has an unsupported escape or no end. *rest is
 * the text after the closing quote. *plain is true if the string has only printable ASCII, tabs and newlines. */
static json_t *string_read(const char *from, const char **rest, bool *plain)
{
	char *text = xmalloc(strlen(from) + 1), *to = text;
	json_t *string = NULL;

	*plain = true;
	for (;;) {
		while (*from && *from != '"' && *from != '\\') {
			*plain &= (unsigned char)(*from - ' ') < 0x7F - ' ';
			*to++ = *from++;
		}
		if (*from != '\\' || !(*to = unescaped(from[1])))
			break;
		to++;
		from += 2;
	}
	if (*from == '"' && *plain)
		string = json_stringn_nocheck(text, (size_t)(to - text)); /* ASCII is UTF-8 */
	else if (*from == '"')
		string = json_stringn(text, (size_t)(to - text));
	*rest = from + 1;
	free(text);
	return string;
}

json_t *rows_answer(const char *answer, bool *plain)
{
	static const char head[] = "{\"lines\" : \"";
	const char *rest;
	json_t *lines = strncmp(answer, head, strlen(head)) ? NULL : string_read(answer + strlen(head), &rest, plain);

	if (lines && (*rest != '}' || rest[1 + strspn(rest + 1, "\n")])) {
		json_decref(lines);
		lines = NULL;
	}
	return lines ? json_pack("{so}", "lines", lines) : NULL;
}

void rows_each(const char *lines, int count, void (*each)(char **fields, void *arg), void *arg)
{
	char *text = xstrdup(lines), *end = text + strlen(text), **fields = xcalloc(count, sizeof *fields);

	while (end > text) {
		char *line = memrchr(text, '\n', (size_t)(end - text));
		char *rest = line = line ? line + 1 : text;

		for (int f = 0; f < count; f++) {
			fields[f] = rest ? rest : "";
			rest = rest ? strchr(rest, '\t') : NULL;
			if (rest)
				*rest++ = '\0';
		}
		each(fields, arg);
		end = line > text ? line - 1 : text;
		*end = '\0';
	}
	free(fields);
	free(text);
}
