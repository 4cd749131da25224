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
	LEAD_PENDING, /* the last one of these, see lead_pass.c */
	LEAD_SNAPSHOT_SETS,
	LEAD_LAUNCH = LEAD_SNAPSHOT_SETS
};

/* What the scheduler need not know of a pending step; it stands at the same index. */
struct lead_key {
	int request_id;	 /* its row of what was asked for: itself, or the head of its array */
	int attempt;	 /* the latest one */
	int array_index; /* of an element that is a row of its own, -1: none */
	const char *name;
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
};

/* All rows of a pass, with one end. */
struct lead_rows {
	struct schedule_snapshot snapshot;
	const struct lead_key *keys; /* one for each of snapshot.pending */
	const struct lead_launch *launches;
	size_t launch_count;
	struct schedule_arena *arena;
};

struct lead_rows *lead_rows_new(double now);
void lead_rows_free(struct lead_rows *rows);

/* The api function that answers a set. */
enum api_function lead_set_function(enum lead_set set);

/* Read a result; false where the database's answer is not of the form expected. */
bool lead_load(struct lead_rows *rows, enum lead_set set, const PGresult *result, struct err *e);

#endif
