/* verbs.c - the table of the verbs of a program, made from verbs.def.
 *
 * This file is compiled for both programs of the client. ROTA_EVERYDAY is defined for `rota`, which has no rows of VERB_WHOLE. */
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
