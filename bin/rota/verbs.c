/* verbs.c - the verbs of a program as a table; what verbs there are stands in verbs.def.
 *
 * Compiled for each of the two programs that make up the client: for `rota` with ROTA_EVERYDAY, without those of `rota-whole`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bin/rota/verb.h"

#define VERB(name, usage, completes, summary, about, examples)                                                                   \
	extern const struct verb_option name##_options[];                                                                        \
	int verb_##name(int argc, char **argv);
#ifdef ROTA_EVERYDAY
#define VERB_WHOLE(name, usage, completes, summary, about, examples)
#else
#define VERB_WHOLE VERB
#endif
#include "bin/rota/verbs.def"
#undef VERB

const struct verb VERBS[] = {
#define VERB(name, usage, completes, summary, about, examples)                                                                   \
	{#name, usage, summary, about, examples, completes, name##_options, verb_##name},
#include "bin/rota/verbs.def"
	{NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

const struct verb *verb_find(const char *name)
{
	for (const struct verb *v = VERBS; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

int verb_finish(int status)
{
	bool failed = ferror(stdout), full = fflush(stdout);

	if (full)
		fprintf(stderr, "rota: could not write: %s\n", strerror(errno));
	else if (failed)
		fputs("rota: could not write all of it\n", stderr);
	return (full || failed) && status == EXIT_OK ? EXIT_REFUSED : status;
}
