/* agent_measure.h - measures at one moment what running steps use. */
#ifndef ROTA_PROCMGR_AGENT_MEASURE_H
#define ROTA_PROCMGR_AGENT_MEASURE_H

#include <jansson.h>

#include "procmgr/agent/figures.h"
#include "procmgr/record/record.h"

/* An attempt that is sampled. */
struct agent_sampled {
	struct record_key key;
	int period_s, first_task, tasks; /* its tasks on this node */
	bool has_devices;		 /* it holds generic resources */
	bool running;
	int64_t due;
	pid_t keeper; /* 0: not found yet */
	pid_t *pids;  /* of its tasks by rank; NULL: there is one task only, or they were never seen together */
};

/* One measurement of several attempts. */
struct agent_measurement {
	const char *group; /* the node's cgroup */
	const struct figures_mounts *mounts;
	struct agent_sampled *list; /* every attempt that is sampled */
	int count;
	int64_t now;
	struct figures_processes all;
	bool has_processes; /* `all` is read */
	char *locks;	    /* /proc/locks; NULL: not read */
	json_t *steps;	    /* the result: rows as api.node_sample takes them */
	bool has_devices;   /* one of these attempts holds generic resources */
};

/* Add the rows of an attempt; false where it has no process. */
bool agent_measure_step(struct agent_measurement *m, struct agent_sampled *one);
void agent_measure_end(struct agent_measurement *m);

#endif
