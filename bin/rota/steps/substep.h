/* substep.h - sub-steps as operands of `rota cancel`, `rota signal` and `rota wait`. */
#ifndef ROTA_BIN_SUBSTEP_H
#define ROTA_BIN_SUBSTEP_H

#include <stdbool.h>

#include "bin/rota/line/verb.h"
#include "lib/rota.h"

/* Returns the number of the sub-step that a word names: ".3", or "812.solve.3" inside the step 812.solve; 0 if it names none. */
int substep_parse(const char *word, const char *own_label);

/* Returns true if the operands are sub-steps, such as .3 or 812.solve.3. Ends the process (misuse) if only some of them are. */
bool substep_operands(const struct verb_scan *scan);

/* The step in which this process runs; its members are NULL outside a job. substep_open() changes the variables from which it is
 * read. */
struct substep_own {
	char *label, *socket;
};
struct substep_own substep_own(void);
void substep_own_free(struct substep_own *own);

/* Connect to the step manager of the sub-step that a word names, and store its number. Returns NULL with the exit status after
 * printing the reason. Without a verb, the status is EXIT_OK if the manager cannot be reached, and nothing is printed. */
struct rota_steps *substep_open(const char *verb, const char *word, const struct substep_own *own, int *number, int *status);

/* Carry out `rota cancel`, or `rota signal`, for each sub-step of the operands. Return the exit status. */
int substep_cancel(const struct verb_scan *scan, bool quiet);
int substep_signal(const struct verb_scan *scan, int signal, bool quiet);

/* How `rota wait` waits. */
struct substep_wait {
	bool quiet, json;
	long timeout_s; /* time limit in seconds; less than 0: none */
};

/* Wait until each sub-step has ended. The end of a sub-step whose step manager cannot be reached is read from the database.
 * Returns the exit status; after the timeout, the process ends with 124. */
int substep_wait(const struct verb_scan *scan, const struct substep_wait *how);

#endif
