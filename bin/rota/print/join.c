/* join.c - shortens lists of names: the neighbours n1, n2, n3 become n[1-3].
 *
 * Called by: the verbs that list nodes. */
#include "bin/rota/print/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

/* A name split into stem and number. `digits` is 0 if the name has no number, or one of ten or more digits. */
struct numbered {
	const char *name;
	int stem, digits;
	long number;
};

static struct numbered name_cut(const json_t *name)
{
	struct numbered n = {json_string_value(name) ? json_string_value(name) : "", 0, 0, 0};
	int length = (int)strlen(n.name);

	n.stem = length;
	while (n.stem > 0 && n.name[n.stem - 1] >= '0' && n.name[n.stem - 1] <= '9')
		n.stem--;
	n.digits = length - n.stem < 10 ? length - n.stem : 0;
	n.number = n.digits ? atol(n.name + n.stem) : 0;
	return n;
}

/* Returns true if names a and b have the same stem, and the number of b is one higher. */
static bool name_follows(const struct numbered *a, const struct numbered *b)
{
	bool padded = (a->digits && a->name[a->stem] == '0') || (b->digits && b->name[b->stem] == '0');

	return a->digits && b->digits && a->stem == b->stem && !strncmp(a->name, b->name, a->stem) &&
	       b->number == a->number + 1 && (!padded || a->digits == b->digits);
}

char *join_text(const json_t *names)
{
	char *text = NULL;
	size_t size, count = json_array_size(names);
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("out of memory");
	for (size_t i = 0; i < count;) {
		struct numbered first = name_cut(json_array_get(names, i)), last = first, next;
		size_t run = 1;

		for (; i + run < count; run++, last = next) {
			next = name_cut(json_array_get(names, i + run));
			if (!name_follows(&last, &next))
				break;
		}
		if (run > 1)
			fprintf(out, "%s%.*s[%s-%s]", i ? "," : "", first.stem, first.name, first.name + first.stem,
				last.name + last.stem);
		else
			fprintf(out, "%s%s", i ? "," : "", first.name);
		i += run;
	}
	if (fclose(out))
		die("out of memory");
	return text;
}

void join_cell(struct table *table, const json_t *names)
{
	char *text = join_text(names);

	table_cell(table, text);
	free(text);
}
