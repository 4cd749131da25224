/* table_test.c - the table alone: many lines, so that it grows; lines with a NUL and without a byte; the order. */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;

static void check(int holds, const char *what)
{
	printf("%s - %s\n", holds ? "ok" : "not ok", what);
	failed |= !holds;
}

/* Line i of n is added i times. */
static struct table *filled(int n)
{
	struct table *t = table_new();
	char line[32];

	for (int i = 1; i <= n; i++)
		for (int k = 0; k < i; k++)
			table_add(t, line, (size_t)snprintf(line, sizeof(line), "line %d", i));
	return t;
}

int main(void)
{
	struct table *t = filled(1000);
	struct entry *all = table_sorted(t, 0), *rare = table_sorted(t, 1);

	check(table_size(t) == 1000, "a thousand different lines");
	check(all[0].count == 1000 && strcmp(all[0].line, "line 1000") == 0, "the most frequent comes first");
	check(all[999].count == 1, "the rarest comes last");
	check(rare[0].count == 1 && strcmp(rare[0].line, "line 1") == 0, "and first when asked so");
	free(all);
	free(rare);
	table_free(t);

	t = table_new();
	table_add(t, "b", 1);
	table_add(t, "a\0b", 3);
	table_add(t, "a\0c", 3);
	table_add(t, "", 0);
	all = table_sorted(t, 0);
	check(table_size(t) == 4, "a NUL does not end a line");
	check(all[0].length == 0 && all[3].line[0] == 'b', "equally frequent lines stand in byte order");
	free(all);
	table_free(t);
	return failed;
}
