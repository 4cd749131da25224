/* change.h - sends a request that changes jobs or steps, and prints the outcome of each. */
#ifndef ROTA_BIN_CHANGE_H
#define ROTA_BIN_CHANGE_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/line/verb.h"

struct change_line {
	bool json, quiet;
	bool yes;	 /* do not ask before selected jobs are changed */
	json_t *changed; /* array to which the labels of the changed steps are added, or NULL */
};

/* Add the operands of the command line to the request. A command line with neither operands nor a selection is misuse. */
void change_jobs(struct verb_scan *scan, json_t *request);

/* Send `request` and free it. Returns the exit status: EXIT_REFUSED if a named job or step could not be changed. */
int change_send(const struct verb *verb, json_t *request, const struct change_line *line);

#endif
