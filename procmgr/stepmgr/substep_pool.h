/* substep_pool.h - the resources of the step's allocation on one node, and the shares of them that sub-steps have. */
#ifndef ROTA_PROCMGR_SUBSTEP_POOL_H
#define ROTA_PROCMGR_SUBSTEP_POOL_H

#include <jansson.h>
#include <sched.h>

#include "procmgr/stepmgr/substep_spec.h"

struct substep_pool;

/* The share of a pool that a sub-step has. All 0: nothing. */
struct substep_share {
	int cpus;
	int64_t mem_mb;
	bool *cpu;  /* by index of the CPU in the pool: the sub-step has it; NULL: none */
	bool *unit; /* by index of the unit in the pool: the sub-step has that unit of a generic resource; NULL: none */
};

/* Make the pool of this node. `cpus`: number of CPUs of the allocation; `mem_mb`: its memory in MiB, 0: no limit; `gres`: its
 * devices as in ROTA_GRES, "gpu:0+3,ssd:1". */
struct substep_pool *substep_pool_new(int cpus, int64_t mem_mb, const char *gres);
void substep_pool_free(struct substep_pool *pool);

/* Does the pool, with all shares free, have what `ntasks` tasks of the spec need? If not, the error says what it has too little
 * of. */
bool substep_pool_can(const struct substep_pool *pool, const struct substep_spec *spec, int ntasks, struct err *e);
/* Returns the number of CPUs that `ntasks` tasks of the spec get, if the pool can run them. */
int substep_pool_cpus(const struct substep_pool *pool, const struct substep_spec *spec, int ntasks);
/* Returns for how many further tasks of the spec CPUs are free now, at most `most`. */
int substep_pool_room(const struct substep_pool *pool, const struct substep_spec *spec, int most);
/* Returns for how many tasks of the spec the pool has CPUs if nothing else runs. */
int substep_pool_most(const struct substep_pool *pool, const struct substep_spec *spec);
/* Take a share for `ntasks` tasks of the spec. Returns false if the pool has not enough free now; *reason (a constant) says of
 * what. */
bool substep_pool_take(struct substep_pool *pool, const struct substep_spec *spec, int ntasks, struct substep_share *share,
		       const char **reason);
/* Describe a share for the journal: {"cpu": [0, 3], "unit": [1], "mem": 100}, with indexes in the pool. The second function takes
 * a share from the pool again that was described like that. */
json_t *substep_pool_share_json(const struct substep_pool *pool, const struct substep_share *share);
void substep_pool_claim(struct substep_pool *pool, const json_t *described, struct substep_share *share);
void substep_pool_give(struct substep_pool *pool, struct substep_share *share);
bool substep_pool_has_cpus(const struct substep_pool *pool); /* is a CPU free? */

/* Find the cores to which --cpu-bind binds a task. Returns false if the task is not bound. `index`: position of the task on this
 * node. */
bool substep_pool_bind(const struct substep_pool *pool, const struct substep_spec *spec, const struct substep_share *share,
		       int index, cpu_set_t *set);

/* Returns the devices of the share as in ROTA_GRES; malloc'ed, "" if there are none. */
char *substep_pool_devices(const struct substep_pool *pool, const struct substep_share *share);

/* Describe the pool as the answer to `resources` does (docs/step-protocol.md). */
json_t *substep_pool_json(const struct substep_pool *pool, const char *node);
/* Make the pool of another node as its agent describes it. Returns NULL if the number of CPUs is not valid. */
struct substep_pool *substep_pool_of_json(const json_t *nodes);

#endif
