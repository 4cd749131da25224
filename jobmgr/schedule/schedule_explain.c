/* schedule_explain.c - writes why a step waits, in one line for users.
 *
 * Called by: schedule_decide.c, schedule_wait.c, schedule_record.c and schedule_request.c.
 * Invariants:
 *  - A message has clock times and no durations, so it stays the same until the plan changes: only changed plans are written. */
#include "jobmgr/schedule/schedule_explain.h"

#include <limits.h>
#include <math.h>
#include <time.h>

#include "jobmgr/schedule/schedule_bits.h"
#include "jobmgr/schedule/schedule_fit.h"
#include "lib/text.h"

static const char *explain_mem(struct schedule_arena *arena, int64_t mb)
{
	if (mb >= 1024 && mb % 1024 == 0)
		return schedule_arena_print(arena, "%lld GB", (long long)mb / 1024);
	return schedule_arena_print(arena, "%lld MB", (long long)mb);
}

static const char *explain_nodes(struct schedule_arena *arena, const struct schedule_request *request)
{
	if (request->nodes_max == INT_MAX && request->ntasks > request->nodes_min)
		return schedule_arena_print(arena, "%d or more nodes", request->nodes_min);
	if (request->nodes_max > request->nodes_min && request->nodes_max < INT_MAX)
		return schedule_arena_print(arena, "%d-%d nodes", request->nodes_min, request->nodes_max);
	return schedule_arena_print(arena, "%d node%s", request->nodes_min, text_plural(request->nodes_min));
}

const char *schedule_explain_request(const struct schedule_cluster *cluster, const struct schedule_request *request)
{
	struct schedule_arena *arena = cluster->arena;
	int64_t cpus = (int64_t)request->ntasks * request->cpus_per_task;
	const char *text = schedule_arena_print(arena, "%lld CPU%s", (long long)cpus, text_plural(cpus));
	if (request->whole_memory)
		text = schedule_arena_print(arena, "%s, all memory of a node", text);
	else if (request->mem_mb)
		text = schedule_arena_print(arena, "%s, %s a node", text, explain_mem(arena, request->mem_mb));
	else if (request->mem_per_cpu_mb)
		text = schedule_arena_print(arena, "%s, %s a CPU", text, explain_mem(arena, request->mem_per_cpu_mb));
	for (size_t i = 0; i < request->gres_count; i++)
		text = schedule_arena_print(arena, "%s, %s:%lld a node", text,
					    cluster->gres.name[request->gres[i].kind - SCHEDULE_FIRST_GRES],
					    (long long)request->gres[i].count);
	text = schedule_arena_print(arena, "%s on %s%s", text, explain_nodes(arena, request),
				    request->exclusive ? " for itself" : "");
	if (request->step->image)
		text = schedule_arena_print(arena, "%s with image %s", text, request->step->image);
	if (request->step->prep)
		text = schedule_arena_print(arena, "%s prepared with %s", text, request->step->prep);
	return text;
}

const char *schedule_explain_pending(struct schedule_arena *arena, const struct schedule_pending *step)
{
	if (!step->name || !*step->name)
		return schedule_arena_print(arena, "%lld", (long long)step->job);
	return schedule_arena_print(arena, "%lld.%s", (long long)step->job, step->name);
}

const char *schedule_explain_source(const struct schedule_profile *profile, int source, struct schedule_cause *cause)
{
	const struct schedule_snapshot *s = profile->cluster->snapshot;
	struct schedule_arena *arena = profile->cluster->arena;
	if (source < 0) {
		cause->job = s->pending[~source].job;
		cause->step = s->pending[~source].step;
		return schedule_explain_pending(arena, &s->pending[~source]);
	}
	if ((size_t)source >= s->running_count) {
		cause->job = 0;
		cause->step = -1;
		return profile->outages.list[(size_t)source - s->running_count].outage->description;
	}
	const struct schedule_running *row = &s->running[source];
	cause->job = row->job;
	cause->step = row->step;
	return row->label ? row->label : schedule_arena_print(arena, "%lld step %d", (long long)row->job, row->step);
}

const char *schedule_explain_at(struct schedule_arena *arena, double at)
{
	char text[sizeof "2000-01-01 00:00:00" + 16];
	time_t second = (time_t)ceil(at);
	struct tm tm;
	localtime_r(&second, &tm);
	strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
	return schedule_arena_print(arena, "at %s", text);
}

/* Returns the index of the first node of the request to become free, or -1 if nothing runs on its nodes. */
static int explain_find_first(const struct schedule_profile *profile, const struct schedule_request *request)
{
	const struct schedule_cluster *c = profile->cluster;
	int first = -1;
	if (schedule_bits_has(request->mask, (size_t)profile->first_node))
		return profile->first_at[profile->first_node] < SCHEDULE_BEYOND ? profile->first_node : -1;
	for (size_t w = 0; w < c->words; w++) {
		for (uint64_t word = request->mask[w]; word;) {
			size_t node_index = w * 64 + schedule_bits_pop(&word);
			if (profile->first_at[node_index] < (first < 0 ? SCHEDULE_BEYOND : profile->first_at[first]))
				first = (int)node_index;
		}
	}
	return first;
}

/* Returns which step on a node ends first, as "; first to end: 812.solve at 2000-01-01 00:00:00". The ids of the step go into
 * `cause`. */
static const char *explain_end(struct schedule_arena *arena, const struct schedule_profile *profile, int node_index,
			       struct schedule_cause *cause)
{
	if (node_index < 0)
		return "";
	const char *label = schedule_explain_source(profile, profile->first_source[node_index], cause);
	if (profile->first_at[node_index] >= SCHEDULE_FOREVER)
		return schedule_arena_print(arena, "; %s has no time limit", label);
	return schedule_arena_print(arena, "; first to end: %s %s", label,
				    schedule_explain_at(arena, profile->first_at[node_index]));
}

/* Returns the first row on nodes of the request that is reserved for another step, or NULL. */
static const struct schedule_running *explain_find_reserved(const struct schedule_profile *profile,
							    const struct schedule_request *request)
{
	const struct schedule_cluster *c = profile->cluster;
	for (size_t i = profile->first_reserved; i < c->snapshot->running_count; i++) {
		const struct schedule_running *row = &c->snapshot->running[i];
		bool own = row->job == request->step->job && row->reserved_for == request->step->step;
		int node_index = row->reserved && !own ? schedule_cluster_by_id(c, row->node_id) : -1;
		if (node_index >= 0 && schedule_bits_has(request->mask, (size_t)node_index))
			return row;
	}
	return NULL;
}

/* Returns for which step nodes are reserved, as "; n1 is reserved for 812.b (--same-nodes)". The ids of the step go into
 * `cause`. */
static const char *explain_reserved(const struct schedule_cluster *c, const struct schedule_running *row,
				    struct schedule_cause *cause)
{
	const struct schedule_snapshot *s = c->snapshot;
	const char *label = schedule_arena_print(c->arena, "step %d of job %lld", row->reserved_for, (long long)row->job);
	for (size_t i = 0; i < s->pending_count; i++)
		if (s->pending[i].job == row->job && s->pending[i].step == row->reserved_for)
			label = schedule_explain_pending(c->arena, &s->pending[i]);
	cause->job = row->job;
	cause->step = row->reserved_for;
	return schedule_arena_print(c->arena, "; %s is reserved for %s (--same-nodes)",
				    c->node[schedule_cluster_by_id(c, row->node_id)]->name, label);
}

struct schedule_cause schedule_explain_resources(struct schedule_arena *arena, const struct schedule_profile *profile,
						 const struct schedule_request *request, size_t nodes_free)
{
	struct schedule_cause cause = {.reason = SCHEDULE_RESOURCES, .step = -1, .blocks = true};
	int first = explain_find_first(profile, request);
	/* Name a reservation only if no running step is known to end: a reservation has no known end. */
	const struct schedule_running *reserved =
		first < 0 || profile->first_at[first] >= SCHEDULE_FOREVER ? explain_find_reserved(profile, request) : NULL;
	const char *end =
		reserved ? explain_reserved(profile->cluster, reserved, &cause) : explain_end(arena, profile, first, &cause);
	cause.message = schedule_arena_print(arena, "needs %s; %zu node%s free%s", request->description, nodes_free,
					     text_plural((int64_t)nodes_free), end);
	return cause;
}

static bool reservation_uses(const struct schedule_reservation *reservation, const struct schedule_cluster *c,
			     const struct schedule_request *request)
{
	for (size_t i = 0; i < reservation->part_count; i++) {
		size_t node_index = (size_t)reservation->parts[i].node_index;
		if (node_index == c->nodes ? request->license_count > 0 : schedule_bits_has(request->mask, node_index))
			return true;
	}
	return false;
}

struct schedule_cause schedule_explain_priority(struct schedule_arena *arena, const struct schedule_profile *profile,
						const struct schedule_request *request)
{
	const struct schedule_snapshot *s = profile->cluster->snapshot;
	double until = schedule_profile_until(s->now, request->least_s);
	struct schedule_cause cause = {.reason = SCHEDULE_PRIORITY, .step = -1, .blocks = true};
	cause.message = "enough resources are free, but steps ahead in the queue need them";
	for (size_t i = 0; i < profile->reservation_count; i++) {
		const struct schedule_reservation *reservation = profile->reservations[i];
		const struct schedule_pending *step = &s->pending[reservation->pending];
		if (reservation->from >= until || !reservation_uses(reservation, profile->cluster, request))
			continue;
		cause.job = step->job;
		cause.step = step->step;
		cause.message =
			schedule_arena_print(arena, "enough resources are free, but this step would delay %s, expected %s",
					     schedule_explain_pending(arena, step),
					     reservation->from < SCHEDULE_FOREVER ? schedule_explain_at(arena, reservation->from)
										  : "when steps without a time limit end");
		break;
	}
	return cause;
}

/* Returns the first outage on nodes of the request that begins within the time limit of the request. */
static const struct schedule_node_outage *explain_find_outage(const struct schedule_profile *profile,
							      const struct schedule_request *request)
{
	double now = profile->live.at, until = schedule_profile_until(now, request->least_s);
	const struct schedule_node_outage *first = NULL;
	for (size_t w = 0; w < profile->cluster->words; w++) {
		for (uint64_t word = request->mask[w]; word;) {
			const struct schedule_node_outage *met = schedule_outage_find(
				&profile->outages, request->step, w * 64 + schedule_bits_pop(&word), now, until);
			if (met && (!first || met < first))
				first = met;
		}
	}
	return first;
}

struct schedule_cause schedule_explain_maintenance(struct schedule_arena *arena, const struct schedule_profile *profile,
						   const struct schedule_request *request)
{
	struct schedule_cause cause = {.reason = SCHEDULE_MAINTENANCE, .step = -1, .blocks = true};
	const struct schedule_node_outage *met = explain_find_outage(profile, request);
	const char *time = request->least_s ? schedule_arena_print(arena, "for %lld s", (long long)request->least_s)
					    : "without a time limit";
	cause.message = schedule_arena_print(arena, "needs %s %s, which would run into %s", request->description, time,
					     met ? met->outage->description : "an outage of nodes of its peers");
	return cause;
}

struct schedule_cause schedule_explain_license(struct schedule_arena *arena, const struct schedule_profile *profile,
					       const struct schedule_request *request)
{
	const struct schedule_cluster *c = profile->cluster;
	struct schedule_cause cause = {.reason = SCHEDULE_LICENSE, .step = -1, .closes = true};
	int licenses = profile->first_at[c->nodes] < SCHEDULE_BEYOND ? (int)c->nodes : -1;
	cause.message = "the step and its peers need more licenses than are free";
	for (size_t i = 0; i < request->license_count; i++) {
		const struct schedule_need *need = &request->licenses[i];
		int64_t free = schedule_cluster_at(c, profile->live.free, c->nodes)[need->kind];
		if (free >= need->count)
			continue;
		cause.message = schedule_arena_print(arena, "needs %lld of license \"%s\"; %lld free%s", (long long)need->count,
						     c->licenses.name[need->kind], (long long)(free > 0 ? free : 0),
						     explain_end(arena, profile, licenses, &cause));
		break;
	}
	return cause;
}

struct schedule_cause schedule_explain_node(struct schedule_arena *arena, const struct schedule_request *request)
{
	struct schedule_cause cause = {.reason = SCHEDULE_NODE, .step = -1};
	if (!request->matching && request->step->other_nodes_count)
		cause.message = schedule_arena_print(
			arena, "needs %s, not on the %zu of its peers (--other-nodes); no other node matches",
			request->description, request->step->other_nodes_count);
	else if (!request->matching)
		cause.message =
			schedule_arena_print(arena, "needs %s; no node matches what the step asks for", request->description);
	else if (request->usable < (size_t)request->nodes_min || request->usable < request->forced_count)
		cause.message = schedule_arena_print(
			arena, "needs %s; of %zu node%s that match%s, %zu can be used", request->description, request->matching,
			text_plural((int64_t)request->matching), request->matching == 1 ? "es" : "", request->usable);
	else
		cause.message = schedule_arena_print(arena, "needs %s; that is more than the %zu node%s that match%s have",
						     request->description, request->usable, text_plural((int64_t)request->usable),
						     request->usable == 1 ? "es" : "");
	return cause;
}
