/* place.h - takes nodes for starts, and gives them back. */
#ifndef ROTA_HISTORY_PLACE_H
#define ROTA_HISTORY_PLACE_H

#include <stdbool.h>

#include "job.h"
#include "world.h"

/* Take the request's resources on its number of nodes, and append them to the job's placings; false, taking nothing, if they do not fit. */
bool place_take(struct world *w, struct job *j, const struct request *r);

/* Free what an attempt had. */
void place_give_back(struct world *w, const struct job *j, const struct attempt *t);

#endif
