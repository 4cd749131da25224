/* lead_load.h - the rows that a scheduling cycle reads, as structs for the scheduler and the signer. */
#ifndef ROTA_LEAD_LOAD_H
#define ROTA_LEAD_LOAD_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule.h"
#include "lib/db.h"
#include "lib/err.h"

/* The result sets of a cycle; the first ones are the snapshot. */
enum lead_set {
	LEAD_NODES,
	LEAD_PARTITIONS,
	LEAD_RUNNING,
	LEAD_LICENSES,
	LEAD_OUTAGES,
	LEAD_QUEUE, /* must be the last set of the snapshot, see lead_cycle.c */
	LEAD_SNAPSHOT_SETS,
	LEAD_PENDING = LEAD_SNAPSHOT_SETS, /* see lead_queue.h */
	LEAD_LAUNCH
};

/* A step of the queue, in queue order. */
struct lead_queued {
	int64_t job;
	int step;
	int64_t version; /* of the step's row */
	int64_t stamp;	 /* changes with all else that requests depend on; equal in all rows */
	int free_slots;	 /* of an array: elements that may start */
	int next;	 /* of an array: all before this position have started, */
	const int *skip; /* and these after it */
	size_t skip_count;
	int ended; /* elements that have ended */
};

/* What the signer needs of a pending step and the scheduler does not; it has the same index. */
struct lead_key {
	int request_id;	 /* the row of its request: the step itself, or the head of its array */
	int attempt;	 /* the latest attempt */
	int array_index; /* of an element with a row of its own, -1: no such element */
	const char *name;
	bool steady; /* its cached request is valid as long as version and stamp stay the same */
};

/* What the signer needs of a step that starts. Only auth, group_name and array_indices may be NULL. */
struct lead_launch {
	int64_t job_id;
	int request_id;
	int64_t uid, gid;
	const char *user_name, *script_hash, *environment_hash, *spec;
	const char *auth;
	int array_size;
	const char *array_indices; /* JSON: [[low, high, step], ...] */
	const char *group_name;
	const int *group_nodes; /* nodes on which its group's prolog has an owner */
	size_t group_node_count;
	int sample_s; /* seconds between samples of its use, 0: no samples */
};

/* Rows of one scheduling cycle, freed together. */
struct lead_rows {
	struct schedule_snapshot snapshot;
	const struct lead_queued *queue; /* the queue; lead_queue.c makes snapshot.pending of it */
	size_t queue_count;
	struct schedule_pending *pending; /* snapshot.pending, writable */
	const struct lead_key *keys;	  /* one for each pending step */
	const struct lead_launch *launches;
	size_t launch_count;
	struct schedule_arena *arena;
};

struct lead_rows *lead_rows_new(double now);
void lead_rows_free(struct lead_rows *rows);

/* The api function that reads a set. */
enum api_function lead_set_function(enum lead_set set);

/* Read the answer of the tick: the snapshot's time, and that of the next timer-driven transition (INFINITY: none), in seconds
 * since 1970. */
bool lead_load_tick(struct lead_rows *rows, const PGresult *result, double *next, struct err *e);

/* Read a result. False if it does not have the expected form. */
bool lead_load(struct lead_rows *rows, enum lead_set set, const PGresult *result, struct err *e);

#endif
