/* lead_load.h - the rows that a scheduling cycle reads, as structs for the scheduler and the signer. */
#ifndef ROTA_LEAD_LOAD_H
#define ROTA_LEAD_LOAD_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule.h"
#include "jobmgr/schedule/schedule_preempt.h"
#include "lib/db.h"
#include "lib/err.h"

/* The result sets that a scheduling cycle reads. Those before LEAD_SNAPSHOT_SETS make up the snapshot. */
enum lead_set {
	LEAD_NODES,
	LEAD_PARTITIONS,
	LEAD_RUNNING,
	LEAD_LICENSES,
	LEAD_OUTAGES,
	LEAD_QUEUE, /* must be the last result set of the snapshot, see lead_cycle.c */
	LEAD_SNAPSHOT_SETS,
	LEAD_PENDING = LEAD_SNAPSHOT_SETS, /* requests of pending steps, see lead_queue.h */
	LEAD_LAUNCH,
	LEAD_MOVERS,	 /* running steps that can be moved */
	LEAD_AHEAD,	 /* steps that may be sent ahead */
	LEAD_CANDIDATES, /* running steps that may be preempted; must be the last set */
	LEAD_SETS
};

/* A step of the queue, in queue order. */
struct lead_queued {
	int64_t job;
	int step;
	int64_t version; /* version of the step's row */
	int64_t stamp;	 /* number that changes with anything else on which requests depend; the same in all rows of a snapshot */
	int free_slots;	 /* only of an array: number of elements that may start */
	int next;	 /* only of an array: all elements before this position have started */
	const int *skip; /* only of an array: positions after `next` whose elements have started, ascending */
	size_t skip_count;
	int ended; /* only of an array: number of elements that have ended */
};

/* Data of a pending step that only the signer needs. It has the same index as the step in the snapshot. */
struct lead_key {
	int request_id;	 /* step id of the row with the request: the step itself, or the head row of its array */
	int attempt;	 /* number of the step's latest attempt */
	int array_index; /* array index of an element that has a row of its own; -1: no such element */
	const char *name;
	bool steady; /* the step's cached request is valid as long as version and stamp of its row stay the same */
	/* variables of an element whose job has directives for burst_buffer.lua, as in a launch request; NULL: those of the
	 * launch row */
	const char *variables;
	const struct lead_ahead *ahead; /* data of a step that is sent ahead; NULL: the step starts at once */
};

/* A step that may be sent to the node of the step that it waits for, its predecessor, which has not ended. */
struct lead_ahead {
	int64_t job;
	int step;
	int after_step, after_attempt; /* the predecessor */
	int node_id;
	const char *node;
	int cpus;
	int64_t mem_mb;
	int hold_s; /* seconds for which the node may hold the step beyond the default */
};

/* Data that the signer needs of a step that starts. Only auth, group_name, array_indices and idle_timeout_of
 * may be NULL. */
struct lead_launch {
	int64_t job_id;
	int request_id;
	int64_t uid, gid;
	const char *user_name, *script_hash, *environment_hash, *spec;
	const char *auth;    /* authenticator: HMAC over what the user submitted */
	int64_t auth_number; /* job number, if it is part of what the HMAC in `auth` was computed over; else 0 */
	int array_size;
	const char *array_indices; /* array indices as JSON: [[low, high, step], ...] */
	const char *group_name;
	const int *group_nodes; /* ids of the nodes on which the prolog of the step's job group has an owner */
	size_t group_node_count;
	int sample_s;		     /* seconds between samples of the step's resource use; 0: no samples */
	int idle_timeout_s;	     /* shortest idle limit of partition and quality of service; 0: none */
	const char *idle_timeout_of; /* object that has the limit idle_timeout_s: "partition NAME" or "qos NAME"; NULL: none */
	bool staging;		     /* the job has directives for burst_buffer.lua */
	/* environment variables that the function paths of burst_buffer.lua has returned, as in a launch request; NULL: none */
	const char *variables;
	bool credentials; /* the step needs credentials of its owner */
};

/* A running step that can save a checkpoint and start again from it on other nodes. */
struct lead_mover {
	int64_t job;
	int step;
	double cost_s;	    /* seconds that a move of the step takes, as measured */
	double off_after_s; /* as in struct schedule_mover */
};

/* Rows of one scheduling cycle, freed together. */
struct lead_rows {
	struct schedule_snapshot snapshot;
	const struct lead_queued *queue; /* rows of the queue, from which lead_queue.c makes snapshot.pending */
	size_t queue_count;
	struct schedule_pending *pending; /* snapshot.pending, writable */
	const struct lead_key *keys; /* data of the pending steps that the signer needs, by index of the step in the snapshot */
	const struct lead_launch *launches;
	size_t launch_count;
	const struct schedule_claim *claims; /* resources kept for steps for which others were preempted or moved */
	size_t claim_count;
	bool preempts;			      /* some steps may be preempted */
	const struct schedule_claim *resumes; /* resources that steps which were suspended by preemption need in order to go on */
	size_t resume_count;
	const bool *resumed; /* lead_resume.c: for each row of `resumes`, whether its step goes on */
	const struct schedule_candidate *candidates;
	size_t candidate_count;
	const struct lead_mover *movers; /* running steps that can be moved */
	size_t mover_count;
	const struct lead_ahead *ahead;
	size_t ahead_count;
	struct schedule_arena *arena;
};

struct lead_rows *lead_rows_new(double now);
void lead_rows_free(struct lead_rows *rows);

/* Returns the function of schema api that reads one result set, such as nodes or running steps. */
enum api_function lead_set_function(enum lead_set set);

/* Load the answer of api.schedule_tick(): the time of the snapshot and the claims into `rows`, and into *next the time of the
 * next timer-driven transition. Both are seconds since 1970; *next is INFINITY if no transition is known. */
bool lead_load_tick(struct lead_rows *rows, const PGresult *result, double *next, struct err *e);

/* Load the rows of one result set into `rows`. Returns false if the result does not have the expected columns and types. */
bool lead_load(struct lead_rows *rows, enum lead_set set, const PGresult *result, struct err *e);

#endif
