/* lead_rate.h - how fast elements of the array at the head of the queue end, as one reading of the queue after the other shows it, and so how
 * many of them may stand ahead on their nodes (jobmgr/schedule/schedule_predispatch.c): as many as end in a quarter of a second. So nobody who comes
 * later waits for longer than that, and of what takes long nothing stands ahead. */
#ifndef ROTA_LEAD_RATE_H
#define ROTA_LEAD_RATE_H

#include "jobmgr/lead/lead_load.h"

struct lead_rate {
	int64_t job; /* 0: none yet */
	int step;
	int ended_total;       /* elements of it that have ended */
	double ended_recently; /* how many did in the last moments */
	double at;	       /* monotonic seconds */
};

/* A snapshot has been read, at this moment: put into it what may stand ahead. */
void lead_rate_update(struct lead_rate *rate, struct lead_rows *rows, double now);

#endif
