/* selection.h - selects jobs by their properties (--me, --user, ...) instead of by id, and asks before selected jobs are
 * changed. */
#ifndef ROTA_BIN_SELECTION_H
#define ROTA_BIN_SELECTION_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/line/verb.h"

/* Ids of options that select jobs. SELECTION_LONG + 'u' is --user without the letter -u, for a verb in which -u means another
 * option. */
enum { SELECTION_ME = 800, SELECTION_NAME, SELECTION_LONG = 900 };

/* Options that select jobs, as rows of a verb's option table. `shift` is 0 or SELECTION_LONG. `of` is a prefix for options
 * whose name has another meaning in the verb. `note` is appended to their help. */
#define SELECTION_ROWS(shift, of, note)                                                                                          \
	{SELECTION_ME, "me", NULL, "all your jobs"},                                                                             \
		{(shift) + 'u', "user", "LIST", "jobs of these users, separated by commas"},                                     \
		{SELECTION_NAME, "name", "NAME", "jobs of this name"},                                                           \
		{(shift) + 't', "state", "LIST", "jobs in these states, separated by commas, as `rota queue` shows them"},       \
		{(shift) + 'p', of "partition", "LIST", "jobs of these partitions" note},                                        \
		{(shift) + 'A', of "account", "LIST", "jobs of these accounts" note},                                            \
	{                                                                                                                        \
		(shift) + 'y', "yes", NULL, "change the selected jobs without asking"                                            \
	}
#define SELECTION_OPTIONS SELECTION_ROWS(0, "", "")

/* Add an option that selects jobs to the request; --yes sets *yes instead. Returns false if `id` is no option of
 * SELECTION_ROWS. */
bool selection_take(const struct verb_scan *scan, int id, json_t *request, bool *yes);

/* Returns true if the request selects jobs. */
bool selection_any(const json_t *request);

/* On a terminal, list the selected jobs and ask whether to change them. Then narrow the request to the listed jobs. Returns
 * false if nothing is to be done; *status is then the exit status. */
bool selection_confirm(const struct verb *verb, json_t *request, bool yes, int *status);

#endif
