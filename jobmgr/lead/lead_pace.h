/* lead_pace.h - how fast elements of the array at the head of the queue end, as one snapshot after the other shows it, and so how many of
 * them may stand ahead on their nodes (jobmgr/schedule/schedule_ahead.c): as many as end in a quarter of a second. So nobody who comes later
 * waits for longer than that, and of what takes long nothing stands ahead. */
#ifndef ROTA_LEAD_PACE_H
#define ROTA_LEAD_PACE_H

#include "jobmgr/lead/lead_load.h"

struct lead_pace {
	int64_t job; /* 0: none */
	int step;
	size_t there; /* elements that had started and not ended, once what was decided is committed */
	double ended; /* of them, in the last moments */
	double at;    /* monotonic seconds */
};

/* A snapshot has been read, at this moment: put into it what may stand ahead. */
void lead_pace_read(struct lead_pace *pace, struct lead_rows *rows, double now);

/* What was decided from it is going to be committed. */
void lead_pace_decided(struct lead_pace *pace, const struct schedule_result *result);

/* It was not. */
void lead_pace_forget(struct lead_pace *pace);

#endif
