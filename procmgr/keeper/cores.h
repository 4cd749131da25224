/* cores.h - the cores to which a step is pinned by sched_setaffinity, if no cpuset pins it. */
#ifndef ROTA_PROCMGR_CORES_H
#define ROTA_PROCMGR_CORES_H

#include <sched.h>
#include <stdbool.h>

struct cores {
	cpu_set_t set;
	int *claims; /* a bound abstract socket for each claimed core */
	int count;   /* number of claimed cores; 0 if the step runs on any core */
};

/* Claim `count` of the cores that this process may use and no keeper of this machine has claimed. If fewer cores are free, claims
 * none and returns false. */
bool cores_take(struct cores *c, int count);
void cores_release(struct cores *c);

#endif
