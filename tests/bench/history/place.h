/* place.h - nodes for what is to start, and back. */
#ifndef ROTA_HISTORY_PLACE_H
#define ROTA_HISTORY_PLACE_H

#include <stdbool.h>

#include "job.h"
#include "world.h"

/* Take what the request asks for of as many nodes, appended to the job's placings; false, and nothing is taken, where it does not fit. */
bool place_take(struct world *w, struct job *j, const struct request *r);

/* What an attempt had. */
void place_give_back(struct world *w, const struct job *j, const struct attempt *t);

#endif
