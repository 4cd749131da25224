/* verbs.c - the verbs of a program as a table; what verbs there are stands in verbs.def.
 *
 * Compiled for each of the two programs that make up the client: for `rota` with ROTA_EVERYDAY, without those of `rota-whole`. */
#include <stddef.h>

#include "bin/rota/line/verb.h"

#define VERB(name, usage, completes, summary, about, examples)                                                                   \
	extern const struct verb_option name##_options[];                                                                        \
	int verb_##name(const struct verb *verb, int argc, char **argv);
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
