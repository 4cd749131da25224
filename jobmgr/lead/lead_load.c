/* lead_load.c - turns rows of the database's answers into structs: a table of columns for each result set, and one loop for all
 * tables.
 *
 * Called by: lead_cycle_read.c and lead_queue.c, once for each result.
 * Invariants:
 *  - Columns are found by name. A missing column is an error: daemon and database have different versions.
 *  - All values that are read are in the arena of the rows. Each reader writes only one struct member.
 * To add a column, add a line to the table of its result set. */
#include "jobmgr/lead/lead_load.h"

#include <stdlib.h>
#include <string.h>

#include "jobmgr/lead/lead_value.h"
#include "jobmgr/schedule/schedule_arena.h"

/* A column of a result set, and the struct member that it is read into. */
struct column {
	const char *name;
	lead_reader *read;
	size_t offset;
};

/* A result set: its rows become an array of structs, stored as a pointer and a count in struct lead_rows. */
struct target {
	size_t size; /* size of the struct that one row becomes */
	size_t array, count;
	const struct column *columns;
	size_t column_count;
};

struct tick {
	double now, next;
	const struct schedule_claim *claims;
	size_t claim_count;
	bool preempts;
	const struct schedule_claim *resumes;
	size_t resume_count;
};

#define AT(type, member) offsetof(struct type, member)

static const struct column node_columns[] = {
	{"node_id", lead_read_int, AT(schedule_node, id)},
	{"name", lead_read_text, AT(schedule_node, name)},
	{"cpus", lead_read_int, AT(schedule_node, cpus)},
	{"cpus_used", lead_read_int, AT(schedule_node, cpus_used)},
	{"mem_mb", lead_read_int64, AT(schedule_node, mem_mb)},
	{"mem_used_mb", lead_read_int64, AT(schedule_node, mem_used_mb)},
	{"state", lead_read_usable, AT(schedule_node, usable)},
	{"features", lead_read_texts, AT(schedule_node, features)},
	{"gres_total", lead_read_gres_total, AT(schedule_node, gres)},
	{"gres", lead_read_gres_free, AT(schedule_node, gres)},
	{"weight", lead_read_int, AT(schedule_node, weight)},
	{"failing", lead_read_bool, AT(schedule_node, failing)},
	{"power", lead_read_power, AT(schedule_node, power)},
	{"image", lead_read_text, AT(schedule_node, image)},
	{"default_image", lead_read_text, AT(schedule_node, default_image)},
	{"prep", lead_read_text, AT(schedule_node, prep)},
	{"ready_at", lead_read_double, AT(schedule_node, ready_at)},
};

static const struct column partition_columns[] = {
	{"partition", lead_read_text, AT(schedule_partition, name)},
	{"priority", lead_read_int, AT(schedule_partition, priority)},
	{"state", lead_read_state, AT(schedule_partition, state)},
	{"max_time_s", lead_read_int64, AT(schedule_partition, max_time_s)},
	{"max_nodes", lead_read_int, AT(schedule_partition, max_nodes)},
	{"node_ids", lead_read_ints, AT(schedule_partition, node_ids)},
};

static const struct column running_columns[] = {
	{"job_id", lead_read_int64, AT(schedule_running, job)},
	{"step_id", lead_read_int, AT(schedule_running, step)},
	{"label", lead_read_text, AT(schedule_running, label)},
	{"attempt", lead_read_int, AT(schedule_running, attempt)},
	{"node_id", lead_read_int, AT(schedule_running, node_id)},
	{"cpus", lead_read_int, AT(schedule_running, cpus)},
	{"mem_mb", lead_read_int64, AT(schedule_running, mem_mb)},
	{"gres", lead_read_devices, AT(schedule_running, gres)},
	{"ends_at", lead_read_time, AT(schedule_running, ends_at)},
	{"reserved", lead_read_bool, AT(schedule_running, reserved)},
	{"reserved_for", lead_read_int, AT(schedule_running, reserved_for)},
	{"request_id", lead_read_int, AT(schedule_running, request)},
	{"predispatched", lead_read_bool, AT(schedule_running, predispatched)},
	{"licenses", lead_read_amounts, AT(schedule_running, licenses)},
};

static const struct column license_columns[] = {
	{"license", lead_read_text, AT(schedule_license, name)},
	{"total", lead_read_int64, AT(schedule_license, total)},
	{"used", lead_read_int64, AT(schedule_license, used)},
};

static const struct column outage_columns[] = {
	{"reservation_id", lead_read_int, AT(schedule_outage, id)},  {"node_ids", lead_read_ints, AT(schedule_outage, node_ids)},
	{"from_at", lead_read_double, AT(schedule_outage, from)},    {"to_at", lead_read_time, AT(schedule_outage, to)},
	{"words", lead_read_text, AT(schedule_outage, description)},
};

static const struct column queue_columns[] = {
	{"job_id", lead_read_int64, AT(lead_queued, job)},	    {"step_id", lead_read_int, AT(lead_queued, step)},
	{"version", lead_read_int64, AT(lead_queued, version)},	    {"stamp", lead_read_int64, AT(lead_queued, stamp)},
	{"free_slots", lead_read_int, AT(lead_queued, free_slots)}, {"array_next", lead_read_int, AT(lead_queued, next)},
	{"array_skip", lead_read_ints, AT(lead_queued, skip)},	    {"array_over", lead_read_int, AT(lead_queued, ended)},
};

static const struct column pending_columns[] = {
	{"job_id", lead_read_int64, AT(schedule_pending, job)},
	{"step_id", lead_read_int, AT(schedule_pending, step)},
	{"name", lead_read_text, AT(schedule_pending, name)},
	{"partition", lead_read_text, AT(schedule_pending, partition)},
	{"nodes_min", lead_read_int, AT(schedule_pending, nodes_min)},
	{"nodes_max", lead_read_int, AT(schedule_pending, nodes_max)},
	{"ntasks", lead_read_int, AT(schedule_pending, ntasks)},
	{"ntasks_per_node", lead_read_int, AT(schedule_pending, ntasks_per_node)},
	{"cpus_per_task", lead_read_int, AT(schedule_pending, cpus_per_task)},
	{"mem_mb", lead_read_int64, AT(schedule_pending, mem_mb)},
	{"mem_per_cpu_mb", lead_read_int64, AT(schedule_pending, mem_per_cpu_mb)},
	{"gres", lead_read_amounts, AT(schedule_pending, gres)},
	{"licenses", lead_read_amounts, AT(schedule_pending, licenses)},
	{"exclusive", lead_read_bool, AT(schedule_pending, exclusive)},
	{"features", lead_read_text, AT(schedule_pending, constraint)},
	{"nodelist", lead_read_texts, AT(schedule_pending, nodelist)},
	{"exclude", lead_read_texts, AT(schedule_pending, exclude)},
	{"time_limit_s", lead_read_int64, AT(schedule_pending, time_limit_s)},
	{"time_min_s", lead_read_int64, AT(schedule_pending, time_min_s)},
	{"deadline_at", lead_read_double, AT(schedule_pending, deadline_at)},
	{"with_set", lead_read_int_or_none, AT(schedule_pending, with_set)},
	{"with_count", lead_read_int, AT(schedule_pending, with_count)},
	{"same_as_step", lead_read_ints, AT(schedule_pending, same_as)},
	{"other_than_step", lead_read_ints, AT(schedule_pending, other_than)},
	{"same_nodes", lead_read_ints, AT(schedule_pending, same_nodes)},
	{"other_nodes", lead_read_ints, AT(schedule_pending, other_nodes)},
	{"data_nodes", lead_read_ints, AT(schedule_pending, data_nodes)},
	{"array_size", lead_read_int, AT(schedule_pending, array_size)},
	{"admitted", lead_read_ints, AT(schedule_pending, admitted)},
	{"reservation", lead_read_int, AT(schedule_pending, reservation)},
	{"image", lead_read_text, AT(schedule_pending, image)},
	{"tier", lead_read_int, AT(schedule_pending, tier)},
	{"prep", lead_read_text, AT(schedule_pending, prep)},
};

static const struct column key_columns[] = {
	{"request_id", lead_read_int, AT(lead_key, request_id)},
	{"attempt", lead_read_int, AT(lead_key, attempt)},
	{"array_index", lead_read_int_or_none, AT(lead_key, array_index)},
	{"name", lead_read_text, AT(lead_key, name)},
	{"steady", lead_read_bool, AT(lead_key, steady)},
	{"variables", lead_read_text, AT(lead_key, variables)},
};

static const struct column launch_columns[] = {
	{"job_id", lead_read_int64, AT(lead_launch, job_id)},
	{"request_id", lead_read_int, AT(lead_launch, request_id)},
	{"uid", lead_read_int64, AT(lead_launch, uid)},
	{"gid", lead_read_int64, AT(lead_launch, gid)},
	{"user_name", lead_read_text, AT(lead_launch, user_name)},
	{"script_hash", lead_read_text, AT(lead_launch, script_hash)},
	{"environment_hash", lead_read_text, AT(lead_launch, environment_hash)},
	{"spec", lead_read_text, AT(lead_launch, spec)},
	{"auth", lead_read_text, AT(lead_launch, auth)},
	{"auth_number", lead_read_int64, AT(lead_launch, auth_number)},
	{"array_size", lead_read_int, AT(lead_launch, array_size)},
	{"array_indices", lead_read_text, AT(lead_launch, array_indices)},
	{"group_name", lead_read_text, AT(lead_launch, group_name)},
	{"group_nodes", lead_read_ints, AT(lead_launch, group_nodes)},
	{"sample_s", lead_read_int, AT(lead_launch, sample_s)},
	{"idle_timeout_s", lead_read_int, AT(lead_launch, idle_timeout_s)},
	{"idle_timeout_of", lead_read_text, AT(lead_launch, idle_timeout_of)},
	{"staging", lead_read_bool, AT(lead_launch, staging)},
	{"variables", lead_read_text, AT(lead_launch, variables)},
	{"credentials", lead_read_bool, AT(lead_launch, credentials)},
};

static const struct column candidate_columns[] = {
	{"job_id", lead_read_int64, AT(schedule_candidate, job)},
	{"step_id", lead_read_int, AT(schedule_candidate, step)},
	{"attempt", lead_read_int, AT(schedule_candidate, attempt)},
	{"tier", lead_read_int, AT(schedule_candidate, tier)},
	{"lost_s", lead_read_double, AT(schedule_candidate, lost_s)},
	{"from_at", lead_read_time, AT(schedule_candidate, from_at)},
	{"suspends", lead_read_bool, AT(schedule_candidate, suspends)},
	{"gives_licenses", lead_read_bool, AT(schedule_candidate, gives.licenses)},
	{"gives_gpus", lead_read_bool, AT(schedule_candidate, gives.gpus)},
};

static const struct column mover_columns[] = {
	{"job_id", lead_read_int64, AT(lead_mover, job)},
	{"step_id", lead_read_int, AT(lead_mover, step)},
	{"cost_s", lead_read_double, AT(lead_mover, cost_s)},
	{"off_after_s", lead_read_double, AT(lead_mover, off_after_s)},
};

static const struct column ahead_columns[] = {
	{"job_id", lead_read_int64, AT(lead_ahead, job)},
	{"step_id", lead_read_int, AT(lead_ahead, step)},
	{"after_step", lead_read_int, AT(lead_ahead, after_step)},
	{"after_attempt", lead_read_int, AT(lead_ahead, after_attempt)},
	{"node_id", lead_read_int, AT(lead_ahead, node_id)},
	{"node", lead_read_text, AT(lead_ahead, node)},
	{"cpus", lead_read_int, AT(lead_ahead, cpus)},
	{"mem_mb", lead_read_int64, AT(lead_ahead, mem_mb)},
	{"hold_s", lead_read_int, AT(lead_ahead, hold_s)},
};

#define COLUMNS(columns) columns, sizeof columns / sizeof *columns
#define SNAPSHOT(array, count) offsetof(struct lead_rows, snapshot.array), offsetof(struct lead_rows, snapshot.count)

static const struct column tick_columns[] = {
	{"now", lead_read_double, AT(tick, now)},	  {"next_at", lead_read_time, AT(tick, next)},
	{"claims", lead_read_claims, AT(tick, claims)},	  {"preempts", lead_read_bool, AT(tick, preempts)},
	{"resumes", lead_read_claims, AT(tick, resumes)},
};

static const struct target targets[] = {
	[LEAD_NODES] = {sizeof(struct schedule_node), SNAPSHOT(nodes, node_count), COLUMNS(node_columns)},
	[LEAD_PARTITIONS] = {sizeof(struct schedule_partition), SNAPSHOT(partitions, partition_count),
			     COLUMNS(partition_columns)},
	[LEAD_RUNNING] = {sizeof(struct schedule_running), SNAPSHOT(running, running_count), COLUMNS(running_columns)},
	[LEAD_LICENSES] = {sizeof(struct schedule_license), SNAPSHOT(licenses, license_count), COLUMNS(license_columns)},
	[LEAD_OUTAGES] = {sizeof(struct schedule_outage), SNAPSHOT(outages, outage_count), COLUMNS(outage_columns)},
	[LEAD_QUEUE] = {sizeof(struct lead_queued), offsetof(struct lead_rows, queue), offsetof(struct lead_rows, queue_count),
			COLUMNS(queue_columns)},
	[LEAD_PENDING] = {sizeof(struct schedule_pending), SNAPSHOT(pending, pending_count), COLUMNS(pending_columns)},
	[LEAD_LAUNCH] = {sizeof(struct lead_launch), offsetof(struct lead_rows, launches),
			 offsetof(struct lead_rows, launch_count), COLUMNS(launch_columns)},
	[LEAD_MOVERS] = {sizeof(struct lead_mover), offsetof(struct lead_rows, movers), offsetof(struct lead_rows, mover_count),
			 COLUMNS(mover_columns)},
	[LEAD_AHEAD] = {sizeof(struct lead_ahead), offsetof(struct lead_rows, ahead), offsetof(struct lead_rows, ahead_count),
			COLUMNS(ahead_columns)},
	[LEAD_CANDIDATES] = {sizeof(struct schedule_candidate), offsetof(struct lead_rows, candidates),
			     offsetof(struct lead_rows, candidate_count), COLUMNS(candidate_columns)},
};

/* Keys are read from the same rows as the pending steps, so both have the same count. */
static const struct target keys = {sizeof(struct lead_key), offsetof(struct lead_rows, keys),
				   offsetof(struct lead_rows, snapshot.pending_count), COLUMNS(key_columns)};

static const enum api_function set_functions[] = {
	[LEAD_NODES] = API_schedule_nodes,	     [LEAD_PARTITIONS] = API_schedule_partitions,
	[LEAD_RUNNING] = API_schedule_running,	     [LEAD_LICENSES] = API_schedule_licenses,
	[LEAD_OUTAGES] = API_schedule_outages,	     [LEAD_QUEUE] = API_schedule_queue,
	[LEAD_PENDING] = API_schedule_pending,	     [LEAD_LAUNCH] = API_schedule_launch,
	[LEAD_MOVERS] = API_schedule_movers,	     [LEAD_AHEAD] = API_schedule_ahead,
	[LEAD_CANDIDATES] = API_schedule_candidates,
};

enum api_function lead_set_function(enum lead_set set)
{
	return set_functions[set];
}

struct lead_rows *lead_rows_new(double now)
{
	struct lead_rows *rows = xcalloc(1, sizeof *rows);

	rows->arena = schedule_arena_new();
	rows->snapshot.now = now;
	return rows;
}

void lead_rows_free(struct lead_rows *rows)
{
	if (!rows)
		return;
	schedule_arena_free(rows->arena);
	free(rows);
}

/* Read one column of a result into its member of each of the structs. */
static bool load_column(struct lead_rows *rows, const struct column *column, const PGresult *result, char *structs, size_t size,
			struct err *e)
{
	int field = PQfnumber(result, column->name), count = PQntuples(result);

	if (field < 0)
		return err_set(e, "column \"%s\" missing in the database's answer; run \"rota admin db upgrade\"", column->name);
	for (int i = 0; i < count; i++) {
		const char *text = PQgetisnull(result, i, field) ? NULL : PQgetvalue(result, i, field);

		if (!column->read(rows->arena, text, structs + (size_t)i * size + column->offset))
			return err_set(e, "malformed value \"%.100s\" in column \"%s\" of the database's answer",
				       text ? text : "", column->name);
	}
	return true;
}

static bool load_target(struct lead_rows *rows, const struct target *target, const PGresult *result, struct err *e)
{
	size_t count = (size_t)PQntuples(result);
	char *structs = schedule_arena_take(rows->arena, count, target->size);

	for (size_t i = 0; i < target->column_count; i++) {
		if (!load_column(rows, &target->columns[i], result, structs, target->size, e))
			return false;
	}
	memcpy((char *)rows + target->array, &structs, sizeof structs);
	memcpy((char *)rows + target->count, &count, sizeof count);
	return true;
}

bool lead_load(struct lead_rows *rows, enum lead_set set, const PGresult *result, struct err *e)
{
	if (!load_target(rows, &targets[set], result, e))
		return false;
	return set != LEAD_PENDING || load_target(rows, &keys, result, e);
}

bool lead_load_tick(struct lead_rows *rows, const PGresult *result, double *next, struct err *e)
{
	struct tick tick;

	if (PQntuples(result) != 1)
		return err_set(e, "api.schedule_tick returned %d rows, one expected", PQntuples(result));
	for (size_t i = 0; i < sizeof tick_columns / sizeof *tick_columns; i++) {
		if (!load_column(rows, &tick_columns[i], result, (char *)&tick, sizeof tick, e))
			return false;
	}
	rows->snapshot.now = tick.now;
	rows->claims = tick.claims;
	rows->claim_count = tick.claim_count;
	rows->preempts = tick.preempts;
	rows->resumes = tick.resumes;
	rows->resume_count = tick.resume_count;
	*next = tick.next;
	return true;
}
