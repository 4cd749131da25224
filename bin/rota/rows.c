/* rows.c - cut lines of fields apart, from the last to the first. Called by `rota queue` and `rota acct`, whose lists are long: to
 * read an object for each row takes several times as long as all else they do. */
#include "bin/rota/rows.h"

#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

void rows_each(const char *lines, int count, void (*each)(char **fields, void *arg), void *arg)
{
	char *text = xstrdup(lines), *end = text + strlen(text), **fields = xcalloc(count, sizeof *fields);

	while (end > text) {
		char *line = memrchr(text, '\n', (size_t)(end - text));
		char *rest = line = line ? line + 1 : text;

		for (int f = 0; f < count; f++)
			fields[f] = rest ? strsep(&rest, "\t") : "";
		each(fields, arg);
		end = line > text ? line - 1 : text;
		*end = '\0';
	}
	free(fields);
	free(text);
}
