/* simulate.h - simulates the scheduler and the nodes for the jobs that users submit. */
#ifndef ROTA_HISTORY_SIMULATE_H
#define ROTA_HISTORY_SIMULATE_H

#include "load.h"
#include "world.h"

struct plan {
	int64_t jobs, first_job, first_event;
	int64_t from; /* when the history begins, microseconds since 2000 */
	double days;
};

struct outcome {
	int64_t last_job, last_event, until; /* until: when the last job ended, microseconds since 2000 */
};

/* Simulate everything, and pass each ended job to `l`, in the order of ids. */
struct outcome simulate(struct world *w, struct draw *d, const struct plan *plan, struct load *l, PGconn *db);

#endif
