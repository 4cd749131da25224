/* agent_measure.h - measures the resource usage of running steps at one moment. */
#ifndef ROTA_PROCMGR_AGENT_MEASURE_H
#define ROTA_PROCMGR_AGENT_MEASURE_H

#include <jansson.h>

#include "procmgr/agent/figures.h"
#include "procmgr/record/record.h"

/* An attempt whose resource usage is measured at intervals. */
struct agent_sampled {
	struct record_key key;
	int period_s, first_task, tasks; /* the tasks of the attempt on this node */
	bool has_devices;		 /* the attempt holds generic resources */
	bool running;
	int64_t due;
	pid_t keeper; /* 0 until the keeper's process is found */
	/* Processes of the attempt's tasks, by rank. NULL for a single task, or until all tasks were found at one moment. */
	pid_t *pids;
};

/* A measurement of several attempts at one moment. */
struct agent_measurement {
	const char *group; /* path of the node's cgroup */
	const struct figures_mounts *mounts;
	struct agent_sampled *list; /* every attempt that is measured at intervals */
	int count;
	int64_t now;
	struct figures_processes all;
	bool has_processes; /* the machine's processes have been read into `all` */
	char *locks;	    /* text of /proc/locks; NULL if it has not been read */
	json_t *steps;	    /* the result, as rows for api.node_sample */
	bool has_devices;   /* a measured attempt holds generic resources */
};

/* Measure an attempt and add its rows to the result. Returns false if the attempt has no process. */
bool agent_measure_step(struct agent_measurement *m, struct agent_sampled *one);
void agent_measure_end(struct agent_measurement *m);

#endif
