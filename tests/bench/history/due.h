/* due.h - future events, earliest first; events of the same moment in the order in which they were added. */
#ifndef ROTA_HISTORY_DUE_H
#define ROTA_HISTORY_DUE_H

#include <stdint.h>

#include "job.h"

enum what { SUBMIT, END, READY, CANCEL, NODE_DOWN, NODE_UP };

struct due {
	int64_t at, order;
	enum what what;
	struct job *job;
	int number; /* END: attempt; READY: step; NODE_*: node */
};

/* Zero it before use. */
struct due_list {
	struct due *heap;
	int count, room;
	int64_t order;
};

/* Adds 1 to the job's `pending`, if the event has a job. */
void due_add(struct due_list *l, int64_t at, enum what what, struct job *j, int number);

/* The first event; there must be one. */
struct due due_take(struct due_list *l);

#endif
