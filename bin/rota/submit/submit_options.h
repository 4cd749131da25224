/* submit_options.h - the options of a submission (jobmgr/translate/options.def) on a command line, for `rota submit`, `rota
 * check` and `rota modify`; and the scripts that the first two are about. */
#ifndef ROTA_BIN_SUBMIT_OPTIONS_H
#define ROTA_BIN_SUBMIT_OPTIONS_H

#include <jansson.h>

#include "bin/rota/line/verb.h"
#include "lib/err.h"

/* The rows of a verb's option table, for help and completion. Ids are those of the table, from 2000 on, or the letter. */
#define SUBMIT_OPTIONS_ROW(id, name, alias, letter, kind, level, slurm, pbs, key, argument, help)                                \
	{(letter) ? (letter) : 2000 + OPTION_ID_##id, name, sizeof(argument) > 1 ? argument : NULL, help},

/* If argv[0] is such an option, add it to `options` (a list of "--name=value") and return how many words it took; else 0.
 * A word that looks like an option and is none is misuse, with the nearest. */
int submit_options_take(const struct verb *verb, json_t *options, int left, char **argv);

/* An option common to all verbs, or --json: how many words it took, 0 for none of them; --help and --version end the process. */
int submit_options_common(const struct verb *verb, int left, char **argv, bool *json);

/* The command line of a verb that takes a script: options of the submission go to `options`, `own` takes the verb's own (how many
 * words, 0 for none), and the operands are the answer; malloc'ed, NULL behind the last. What stands behind the first operand are its
 * arguments, whatever it looks like; where `*several` is true by then, options may go on. Anything else is misuse. */
const char **submit_options_operands(const struct verb *verb, json_t *options, int argc, char **argv,
				     int (*own)(const struct verb *verb, void *arg, int left, char **argv), void *arg,
				     const bool *several);

/* The words as a list of strings; NULL with an error where one is not UTF-8. */
json_t *submit_options_arguments(const char *const *words, struct err *e);

/* Print what a submission was warned of, each warning once a process. */
void submit_options_warn(const json_t *warnings);

/* The script at `path` ("-": standard input), as far as `most` bytes; malloc'ed, NUL-terminated. NULL with an error. */
char *submit_options_read(const char *path, size_t most, size_t *size, struct err *e);

/* A script as it travels in a request. What cannot be JSON text, NUL bytes and what is not UTF-8, is an error that names its line. */
json_t *submit_options_script(const char *name, const char *text, size_t size, struct err *e);

#endif
