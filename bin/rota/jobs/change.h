/* change.h - send a verb that acts on jobs or steps, and print what came of each. */
#ifndef ROTA_BIN_CHANGE_H
#define ROTA_BIN_CHANGE_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/line/verb.h"

struct change_line {
	bool json, quiet;
	bool yes; /* do not ask before what is selected is changed */
};

/* The operands into the request; misuse where there are none and nothing is selected either. */
void change_jobs(struct verb_scan *scan, json_t *request);

/* `request` is taken over; the exit status of the process: a failure when nothing could be done to something that was named. */
int change_send(const struct verb *verb, json_t *request, const struct change_line *line);

#endif
