/* cores.h - the cores that a step is kept to by sched_setaffinity, where no cpuset does it. */
#ifndef ROTA_PROCMGR_CORES_H
#define ROTA_PROCMGR_CORES_H

#include <sched.h>
#include <stdbool.h>

struct cores {
	cpu_set_t set;
	int *claims; /* a bound socket for each core */
	int count;   /* 0: the step runs on any core */
};

/* Claim `count` of the cores that this process may use and no keeper of this machine has claimed. Where there are not so many,
 * claim none and return false. */
bool cores_take(struct cores *c, int count);
void cores_release(struct cores *c);

#endif
