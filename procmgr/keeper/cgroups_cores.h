/* cgroups_cores.h - finds the cores to which no step is pinned. */
#ifndef ROTA_PROCMGR_CGROUPS_CORES_H
#define ROTA_PROCMGR_CGROUPS_CORES_H

#include <sched.h>

/* Add the cores of a list like "0-3,7" to a set. */
void cgroups_cores_add(const char *list, cpu_set_t *cores);

/* Returns the number of cores that this process may use. */
int cgroups_cores_count(void);

/* Pick `count` cores, as "0,3", that this process may use and to which no cgroup TOP/instance/node/attempt is pinned, where TOP
 * is `top`. Returns NULL if fewer cores are free. The list is malloc'ed. */
char *cgroups_cores_pick(const char *top, int count);

#endif
