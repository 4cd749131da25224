/* selection.h - jobs selected by what they are (--me, --user, ...) instead of by number, and the question before they are changed. */
#ifndef ROTA_BIN_SELECTION_H
#define ROTA_BIN_SELECTION_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/line/verb.h"

/* Ids of options that select jobs. SELECTION_LONG + 'u' is the option 'u' without its letter, for a verb to whose letters it does not belong. */
enum { SELECTION_ME = 800, SELECTION_NAME, SELECTION_LONG = 900 };

/* Rows of a verb's table of options. `shift` is 0 or SELECTION_LONG. `of` stands before names that would have another meaning in the verb, and
 * `note` behind their help. */
#define SELECTION_ROWS(shift, of, note)                                                                                          \
	{SELECTION_ME, "me", NULL, "all your jobs, instead of naming some"},                                                     \
		{(shift) + 'u', "user", "LIST", "jobs of these users, with commas between"},                                     \
		{SELECTION_NAME, "name", "NAME", "jobs of this name"},                                                           \
		{(shift) + 't', "state", "LIST", "jobs in these states, with commas between, as `rota queue` shows them"},       \
		{(shift) + 'p', of "partition", "LIST", "jobs of these partitions" note},                                        \
		{(shift) + 'A', of "account", "LIST", "jobs of these accounts" note},                                            \
	{                                                                                                                        \
		(shift) + 'y', "yes", NULL, "do not ask"                                                                         \
	}
#define SELECTION_OPTIONS SELECTION_ROWS(0, "", "")

/* Add an option to the request; false where `id` is none of these. --yes only sets *yes. */
bool selection_take(const struct verb_scan *scan, int id, json_t *request, bool *yes);

/* Whether a request selects jobs. */
bool selection_any(const json_t *request);

/* On a terminal: list what a request selects and ask. From then on it means the jobs that were listed, as far as they still match.
 * False when there is nothing to do any more; the exit status is then in *status. */
bool selection_confirm(const struct verb *verb, json_t *request, bool yes, int *status);

#endif
