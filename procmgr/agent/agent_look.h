/* agent_look.h - one look at what the steps of a node use. */
#ifndef ROTA_PROCMGR_AGENT_LOOK_H
#define ROTA_PROCMGR_AGENT_LOOK_H

#include <jansson.h>

#include "procmgr/agent/figures.h"
#include "procmgr/record/record.h"

/* An attempt that is to be sampled. */
struct look_step {
	struct record_key key;
	int period_s, first_task, tasks; /* its tasks on this node */
	bool units;			 /* it holds generic resources */
	bool running;
	int64_t due;
	pid_t keeper; /* 0: not looked for yet */
	pid_t *pids;  /* of its tasks by rank, once all were seen; NULL: not, or there is one only */
};

struct look {
	const char *group; /* the node's control group */
	const struct figures_mounts *mounts;
	struct look_step *list; /* all that there are */
	int count;
	int64_t now;
	struct figures_processes all;
	bool scanned;
	char *locks;   /* /proc/locks; NULL: not read */
	json_t *steps; /* rows, as api.node_sample takes them */
	bool units;    /* one of these holds generic resources */
};

/* Add the rows of a step; false where nothing of it is there (any more). */
bool agent_look_at(struct look *l, struct look_step *one);
void agent_look_end(struct look *l);

#endif
