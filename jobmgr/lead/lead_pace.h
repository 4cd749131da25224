/* lead_pace.h - how fast elements of the array at the head of the queue end, as one reading of the queue after the other shows it, and so how
 * many of them may stand ahead on their nodes (jobmgr/schedule/schedule_ahead.c): as many as end in a quarter of a second. So nobody who comes
 * later waits for longer than that, and of what takes long nothing stands ahead. */
#ifndef ROTA_LEAD_PACE_H
#define ROTA_LEAD_PACE_H

#include "jobmgr/lead/lead_load.h"

struct lead_pace {
	int64_t job; /* 0: none yet */
	int step;
	int over;     /* elements of it that have ended */
	double ended; /* how many did in the last moments */
	double at;    /* monotonic seconds */
};

/* A snapshot has been read, at this moment: put into it what may stand ahead. */
void lead_pace_read(struct lead_pace *pace, struct lead_rows *rows, double now);

#endif
