/* verb.c - the table of verbs of this program, and the end of a verb.
 *
 * Called by: main.c and everyday.c, which set the table; every verb. */
#include "bin/rota/line/verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct verb_option VERB_COMMON[] = {
	{VERB_CONFIG, "config", "FILE", "use the instance that has this rota.conf"},
	{VERB_HELP, "help", NULL, "print this help"},
	{VERB_VERSION, "version", NULL, "print the version"},
	{0, NULL, NULL, NULL},
};

static const struct verb *table;

void verb_use(const struct verb *verbs)
{
	table = verbs;
}

const struct verb *verb_table(void)
{
	return table;
}

const struct verb *verb_find(const char *name)
{
	for (const struct verb *v = table; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

int verb_finish(int status)
{
	bool failed = ferror(stdout), full = fflush(stdout);

	if (full)
		fprintf(stderr, "rota: could not write the output: %s\n", strerror(errno));
	else if (failed)
		fputs("rota: could not write all of the output\n", stderr);
	return (full || failed) && status == EXIT_OK ? EXIT_REFUSED : status;
}
