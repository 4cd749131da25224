/* fence_cores.h - which cores are free to pin a step to. */
#ifndef ROTA_PROCMGR_FENCE_CORES_H
#define ROTA_PROCMGR_FENCE_CORES_H

#include <sched.h>

/* Mark the cores of a list like "0-3,7". */
void fence_cores_mark(const char *list, cpu_set_t *cores);

/* How many there are that we may use. */
int fence_cores_count(void);

/* `count` cores as "0,3" that we may use and no group below `top` (instance/node/attempt) is pinned to; NULL where there are not
 * so many. malloc'ed. */
char *fence_cores_pick(const char *top, int count);

#endif
