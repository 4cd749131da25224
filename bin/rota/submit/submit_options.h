/* submit_options.h - options of a submission (jobmgr/translate/options.def) on the command lines of `rota submit`, `rota check` and `rota
 * modify`, and scripts of the first two. */
#ifndef ROTA_BIN_SUBMIT_OPTIONS_H
#define ROTA_BIN_SUBMIT_OPTIONS_H

#include <jansson.h>

#include "bin/rota/line/verb.h"
#include "lib/err.h"

/* An option of a submission as a row of a verb's option table, for help and completion. The id is the letter of the option, or
 * 2000 plus its id in options.def. */
#define SUBMIT_OPTIONS_ROW(id, name, alias, letter, kind, level, slurm, pbs, key, argument, help)                                \
	{(letter) ? (letter) : 2000 + OPTION_ID_##id, name, sizeof(argument) > 1 ? argument : NULL, help},

/* The option --bbf as a row of a verb's option table. */
#define SUBMIT_OPTIONS_BBF(id)                                                                                                   \
	{                                                                                                                        \
		(id), "bbf", "FILE", "read directives for burst_buffer.lua from a file, as for --bb"                             \
	}

/* If argv[0] is an option of a submission, add it to `options` (a list of "--name=value") and return the number of arguments
 * that the option consists of; else return 0. An unknown option is misuse; the message suggests the nearest option. */
int submit_options_take(const struct verb *verb, json_t *options, int left, char **argv);

/* Take an option common to all verbs, or --json. Returns the number of arguments that the option consists of, 0 for another
 * option. --help and --version end the process. */
int submit_options_common(const struct verb *verb, int left, char **argv, bool *json);

/* Parse the command line of a verb that takes a script. Options of the submission go to `options`; `own` takes options of the
 * verb (returns the number of arguments, 0 for another option). Returns the operands, NULL-terminated; malloc'ed. All words
 * after the first operand are operands too, unless *several is true. A wrong command line is misuse. */
const char **submit_options_operands(const struct verb *verb, json_t *options, int argc, char **argv,
				     int (*own)(const struct verb *verb, void *arg, int left, char **argv), void *arg,
				     const bool *several);

/* Returns words as a list of JSON strings; NULL with an error if a word is not UTF-8. */
json_t *submit_options_arguments(const char *const *words, struct err *e);

/* Print the warnings about a submission, each only once in a process. */
void submit_options_warn(const json_t *warnings);

/* Read a script from `path` ("-": standard input) until its end or until `most` bytes are read, perhaps some more. Returns the
 * text malloc'ed and NUL-terminated; NULL with an error on failure. */
char *submit_options_read(const char *path, size_t most, size_t *size, struct err *e);

/* Take the option `name` ("--name") and its value. Returns the number of arguments that the option consists of, 0 for another option. A
 * missing value is misuse. */
int submit_options_valued(const struct verb *verb, const char *name, const char **value, int left, char **argv);

/* Take the option --bbf: the file's text becomes the value of --bb in `options`. Returns as submit_options_valued(). A file that cannot
 * be read is misuse. */
int submit_options_bbf(const struct verb *verb, json_t *options, int left, char **argv);

/* Returns the text of the file of --bbf, which is the value of --bb: malloc'ed; NULL with an error on failure. It is read as the
 * caller, so a link leads nowhere where the caller may not read. */
char *submit_options_directives(const char *path, struct err *e);

/* Returns a script as a JSON string. NUL bytes and text that is not UTF-8 are errors that name the line. */
json_t *submit_options_script(const char *name, const char *text, size_t size, struct err *e);

#endif
