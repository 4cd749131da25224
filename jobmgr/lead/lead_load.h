/* lead_load.h - the rows that a scheduling pass reads, as the structs that the scheduler and the signer take. */
#ifndef ROTA_LEAD_LOAD_H
#define ROTA_LEAD_LOAD_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule.h"
#include "lib/db.h"
#include "lib/err.h"

/* The result sets of a pass; the first ones are the snapshot. */
enum lead_set {
	LEAD_NODES,
	LEAD_PARTITIONS,
	LEAD_RUNNING,
	LEAD_LICENSES,
	LEAD_OUTAGES,
	LEAD_QUEUE, /* the last one of these, see lead_cycle.c */
	LEAD_SNAPSHOT_SETS,
	LEAD_PENDING = LEAD_SNAPSHOT_SETS, /* see lead_queue.h */
	LEAD_LAUNCH
};

/* A step of the queue: its place in it is that in the array. */
struct lead_queued {
	int64_t job;
	int step;
	int64_t version; /* of its row */
	int64_t stamp;	 /* of what else its request depends on; the same in all of them */
	int free_slots;	 /* of an array, how many elements may start, */
	int next;	 /* and which have begun: all before this position, */
	const int *skip; /* and these behind it */
	size_t skip_count;
	int ended; /* how many have ended */
};

/* What the scheduler need not know of a pending step; it stands at the same index. */
struct lead_key {
	int request_id;	 /* its row of what was asked for: itself, or the head of its array */
	int attempt;	 /* the latest one */
	int array_index; /* of an element that is a row of its own, -1: none */
	const char *name;
	bool steady; /* what was read of it holds for as long as version and stamp are what they were */
};

/* What the signer needs of a step that is to start; strings are never NULL but auth, group_name and array_indices. */
struct lead_launch {
	int64_t job_id;
	int request_id;
	int64_t uid, gid;
	const char *user_name, *script_hash, *environment_hash, *spec;
	const char *auth;
	int array_size;
	const char *array_indices; /* JSON: [[low, high, step], ...] */
	const char *group_name;
	const int *group_nodes; /* where the prolog of its group has its holder */
	size_t group_node_count;
	int sample_s; /* seconds between samples of what it uses, 0 = none */
};

/* All rows of a pass, with one end. */
struct lead_rows {
	struct schedule_snapshot snapshot;
	const struct lead_queued *queue; /* the queue; snapshot.pending is made of it (lead_queue.h) */
	size_t queue_count;
	struct schedule_pending *pending; /* snapshot.pending, to be written */
	const struct lead_key *keys;	  /* one for each of snapshot.pending */
	const struct lead_launch *launches;
	size_t launch_count;
	struct schedule_arena *arena;
};

struct lead_rows *lead_rows_new(double now);
void lead_rows_free(struct lead_rows *rows);

/* The api function that answers a set. */
enum api_function lead_set_function(enum lead_set set);

/* Read the answer of the tick: the snapshot's time, and when something is due next (INFINITY: nothing is known to be), both in epoch seconds. */
bool lead_load_tick(struct lead_rows *rows, const PGresult *result, double *next, struct err *e);

/* Read a result; false where the database's answer is not of the form expected. */
bool lead_load(struct lead_rows *rows, enum lead_set set, const PGresult *result, struct err *e);

#endif
