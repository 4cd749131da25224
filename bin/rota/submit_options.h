/* submit_options.h - the options of a submission (jobmgr/options.def) on a command line, for `rota submit` and `rota modify`. */
#ifndef ROTA_BIN_SUBMIT_OPTIONS_H
#define ROTA_BIN_SUBMIT_OPTIONS_H

#include <jansson.h>

#include "bin/rota/verb.h"

/* The rows of a verb's option table, for help and completion. Ids are those of the table, from 2000 on, or the letter. */
#define SUBMIT_OPTIONS_ROW(id, name, alias, letter, kind, level, slurm, pbs, key, argument, help)                                \
	{(letter) ? (letter) : 2000 + OPTION_ID_##id, name, sizeof(argument) > 1 ? argument : NULL, help},

/* If argv[0] is such an option, add it to `options` (a list of "--name=value") and return how many words it took; else 0.
 * A word that looks like an option and is none is misuse, with the nearest. */
int submit_options_take(const struct verb *verb, json_t *options, int left, char **argv);

/* An option common to all verbs, or --json: how many words it took, 0 for none of them; --help and --version end the process. */
int submit_options_common(const struct verb *verb, int left, char **argv, bool *json);

#endif
