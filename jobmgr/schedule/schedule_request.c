/* schedule_request.c - the table of distinct requests. All checks that need no placement are made once for each request.
 *
 * Called by: schedule_gang.c for each pending step.
 * Invariants:
 *  - The key of a request has the bytes of all values that decide where and when it fits. A step with reserved resources has its
 *    own request.
 *  - A refused request blocks nothing: it gets no backfill reservation, and the next step is considered. */
#include "jobmgr/schedule/schedule_request.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"
#include "jobmgr/schedule/schedule_explain.h"
#include "jobmgr/schedule/schedule_feature.h"
#include "lib/err.h"
#include "lib/text.h"

struct schedule_requests {
	const struct schedule_cluster *cluster;
	const struct schedule_reserved_index *reserved_index;
	struct schedule_request **bucket;
	size_t mask;
	char *key; /* key of the request being looked up */
	size_t length, capacity;
};

struct schedule_requests *schedule_requests_new(const struct schedule_cluster *cluster,
						const struct schedule_reserved_index *reserved_index)
{
	struct schedule_requests *requests = xcalloc(1, sizeof *requests);
	size_t buckets = 64;
	while (buckets < cluster->snapshot->pending_count)
		buckets *= 2;
	requests->cluster = cluster;
	requests->reserved_index = reserved_index;
	requests->bucket = schedule_arena_take(cluster->arena, buckets, sizeof *requests->bucket);
	requests->mask = buckets - 1;
	requests->capacity = 1024;
	requests->key = xmalloc(requests->capacity);
	return requests;
}

void schedule_requests_free(struct schedule_requests *requests)
{
	if (!requests)
		return;
	free(requests->key);
	free(requests);
}

static void key_bytes(struct schedule_requests *r, const void *bytes, size_t length)
{
	if (r->capacity - r->length < length) {
		r->capacity = (r->capacity + length) * 2;
		r->key = xrealloc(r->key, r->capacity);
	}
	if (length)
		memcpy(r->key + r->length, bytes, length);
	r->length += length;
}

static void key_number(struct schedule_requests *r, int64_t number)
{
	key_bytes(r, &number, sizeof number);
}

static void key_text(struct schedule_requests *r, const char *word)
{
	key_bytes(r, word ? word : "", word ? strlen(word) + 1 : 1);
}

static void key_texts(struct schedule_requests *r, const char *const *word, size_t count)
{
	key_number(r, (int64_t)count);
	for (size_t i = 0; i < count; i++)
		key_text(r, word[i]);
}

static void key_amounts(struct schedule_requests *r, const struct schedule_amount *amount, size_t count)
{
	key_number(r, (int64_t)count);
	for (size_t i = 0; i < count; i++) {
		key_text(r, amount[i].name);
		key_number(r, amount[i].count);
	}
}

static void key_ids(struct schedule_requests *r, const int *id, size_t count)
{
	key_number(r, (int64_t)count);
	key_bytes(r, id, count * sizeof *id);
}

static void key_write(struct schedule_requests *r, const struct schedule_pending *p, const struct schedule_reserved *reserved)
{
	const int64_t number[] = {p->nodes_min,	    p->nodes_max,  p->ntasks,	      p->ntasks_per_node,
				  p->cpus_per_task, p->mem_mb,	   p->mem_per_cpu_mb, p->exclusive,
				  p->time_limit_s,  p->time_min_s, p->reservation,    (int64_t)(intptr_t)reserved};
	r->length = 0;
	key_bytes(r, number, sizeof number);
	key_bytes(r, &p->deadline_at, sizeof p->deadline_at);
	key_text(r, p->partition);
	key_text(r, p->constraint);
	key_text(r, p->image);
	key_text(r, p->prep);
	key_amounts(r, p->gres, p->gres_count);
	key_amounts(r, p->licenses, p->license_count);
	key_texts(r, p->nodelist, p->nodelist_count);
	key_texts(r, p->exclude, p->exclude_count);
	key_ids(r, p->same_nodes, p->same_nodes_count);
	key_ids(r, p->other_nodes, p->other_nodes_count);
	key_ids(r, p->admitted, p->admitted_count);
	key_ids(r, p->data_nodes, p->data_nodes_count);
}

static uint64_t key_hash(const struct schedule_requests *r)
{
	uint64_t hash = 1469598103934665603u, word;
	size_t i = 0;
	for (; i + sizeof word <= r->length; i += sizeof word) {
		memcpy(&word, r->key + i, sizeof word);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	for (; i < r->length; i++)
		hash = (hash ^ (unsigned char)r->key[i]) * 1099511628211u;
	return hash ^ hash >> 32;
}

static void judge_refuse(struct schedule_request *r, enum schedule_reason reason, const char *message)
{
	if (r->refused)
		return;
	r->refused = true;
	r->cause = (struct schedule_cause){.reason = reason, .step = -1, .message = message};
}

/* List the amounts that a step asks for, each kind of resource once. Returns false if one of the names is unknown. */
static bool judge_needs(const struct schedule_cluster *c, const struct schedule_names *names, size_t first,
			const struct schedule_amount *amount, size_t count, struct schedule_need **need, size_t *needs)
{
	bool known = true;
	*need = schedule_arena_take(c->arena, count, sizeof **need);
	*needs = 0;
	for (size_t i = 0; i < count; i++) {
		int kind = schedule_names_find(names, amount[i].name);
		size_t at = 0;
		if (amount[i].count <= 0)
			continue;
		known &= kind >= 0;
		while (kind >= 0 && at < *needs && (*need)[at].kind != first + (size_t)kind)
			at++;
		if (kind < 0)
			continue;
		(*need)[at].kind = first + (size_t)kind;
		(*need)[at].count += amount[i].count;
		*needs += at == *needs;
	}
	return known;
}

static void judge_numbers(struct schedule_request *r)
{
	const struct schedule_pending *p = r->step;
	r->nodes_min = p->nodes_min > 0 ? p->nodes_min : 1;
	r->nodes_max = p->nodes_max > 0 ? p->nodes_max : INT_MAX;
	if (p->same_nodes_count)
		r->nodes_min = r->nodes_max = (int)p->same_nodes_count;
	if (r->nodes_max < r->nodes_min)
		r->nodes_max = r->nodes_min;
	r->ntasks = p->ntasks > r->nodes_min ? p->ntasks : r->nodes_min;
	r->tasks_per_node = p->ntasks_per_node > 0 ? p->ntasks_per_node : INT_MAX;
	r->cpus_per_task = p->cpus_per_task > 0 ? p->cpus_per_task : 1;
	r->whole_memory = p->mem_mb < 0;
	r->mem_mb = p->mem_mb > 0 ? p->mem_mb : 0;
	r->mem_per_cpu_mb = p->mem_per_cpu_mb > 0 ? p->mem_per_cpu_mb : 0;
	r->exclusive = p->exclusive;
}

static void judge_partition(const struct schedule_cluster *c, struct schedule_request *r)
{
	const char *name = r->step->partition ? r->step->partition : "";
	r->partition = schedule_cluster_partition(c, name);
	if (r->partition < 0) {
		judge_refuse(r, SCHEDULE_PARTITION, schedule_arena_print(c->arena, "there is no partition \"%s\"", name));
		return;
	}
	const struct schedule_partition *partition = &c->snapshot->partitions[r->partition];
	if (partition->state == SCHEDULE_DOWN || partition->state == SCHEDULE_INACTIVE)
		judge_refuse(r, SCHEDULE_PARTITION,
			     schedule_arena_print(c->arena, "partition \"%s\" is %s: no step starts in it", name,
						  partition->state == SCHEDULE_DOWN ? "down" : "inactive"));
	if (partition->max_nodes > 0 && r->nodes_min > partition->max_nodes)
		judge_refuse(r, SCHEDULE_LIMIT,
			     schedule_arena_print(c->arena, "asks for %d node%s; partition \"%s\" allows %d", r->nodes_min,
						  text_plural(r->nodes_min), name, partition->max_nodes));
	else if (partition->max_nodes > 0 && r->nodes_max > partition->max_nodes)
		r->nodes_max = partition->max_nodes;
}

/* Set the time limit of a request. With --time-min, partition and deadline may shorten the limit. A deadline also limits a step
 * without a time limit. */
static void judge_time(const struct schedule_cluster *c, struct schedule_request *r)
{
	const struct schedule_pending *p = r->step;
	int64_t most = r->partition >= 0 ? c->snapshot->partitions[r->partition].max_time_s : 0;
	r->full_s = p->time_limit_s > 0 ? p->time_limit_s : 0;
	r->least_s = p->time_min_s > 0 && (!r->full_s || p->time_min_s < r->full_s) ? p->time_min_s : r->full_s;
	if (most > 0 && (!r->least_s || r->least_s > most))
		judge_refuse(r, SCHEDULE_LIMIT,
			     schedule_arena_print(c->arena, "asks for %s; partition \"%s\" allows %lld s",
						  r->least_s ? schedule_arena_print(c->arena, "%lld s", (long long)r->least_s)
							     : "no time limit",
						  p->partition, (long long)most));
	else if (most > 0 && (!r->full_s || r->full_s > most))
		r->full_s = most;
	if (p->deadline_at <= 0)
		return;
	double left = floor(p->deadline_at - c->snapshot->now);
	if (left < (r->least_s ? (double)r->least_s : 1))
		judge_refuse(r, SCHEDULE_DEADLINE,
			     schedule_arena_print(c->arena, "needs %lld s; its deadline is %s",
						  (long long)(r->least_s ? r->least_s : 1),
						  schedule_explain_at(c->arena, p->deadline_at)));
	else if (!r->full_s || (double)r->full_s > left)
		r->full_s = (int64_t)left;
	if (!r->least_s)
		r->least_s = r->full_s;
}

static void judge_licenses(const struct schedule_cluster *c, struct schedule_request *r)
{
	const struct schedule_pending *p = r->step;
	if (!judge_needs(c, &c->licenses, 0, p->licenses, p->license_count, &r->licenses, &r->license_count))
		judge_refuse(r, SCHEDULE_LICENSE, "asks for a license that does not exist");
	for (size_t i = 0; i < r->license_count; i++) {
		int64_t total = c->total[c->nodes * c->kinds + r->licenses[i].kind];
		if (r->licenses[i].count > total)
			judge_refuse(r, SCHEDULE_LICENSE,
				     schedule_arena_print(c->arena, "asks for %lld of license \"%s\"; there are %lld",
							  (long long)r->licenses[i].count, c->licenses.name[r->licenses[i].kind],
							  (long long)total));
	}
}

static void judge_keep_only(const struct schedule_cluster *c, uint64_t *mask, const int *node_index, size_t count)
{
	uint64_t *only = schedule_cluster_bits(c);
	for (size_t i = 0; i < count; i++)
		if (node_index[i] >= 0)
			schedule_bits_add(only, (size_t)node_index[i]);
	for (size_t w = 0; w < c->words; w++)
		mask[w] &= only[w];
}

static void judge_lists(const struct schedule_cluster *c, struct schedule_request *r)
{
	const struct schedule_pending *p = r->step;
	if (p->nodelist_count) {
		int *node_index = schedule_arena_take(c->arena, p->nodelist_count, sizeof *node_index);
		for (size_t i = 0; i < p->nodelist_count; i++)
			node_index[i] = schedule_cluster_by_name(c, p->nodelist[i]);
		judge_keep_only(c, r->mask, node_index, p->nodelist_count);
	}
	for (size_t i = 0; i < p->exclude_count; i++) {
		int node_index = schedule_cluster_by_name(c, p->exclude[i]);
		if (node_index >= 0)
			schedule_bits_drop(r->mask, (size_t)node_index);
	}
	for (size_t i = 0; i < p->other_nodes_count; i++) {
		int node_index = schedule_cluster_by_id(c, p->other_nodes[i]);
		if (node_index >= 0)
			schedule_bits_drop(r->mask, (size_t)node_index);
	}
	if (!p->same_nodes_count)
		return;
	r->forced = schedule_arena_take(c->arena, p->same_nodes_count, sizeof *r->forced);
	r->forced_count = p->same_nodes_count;
	for (size_t i = 0; i < r->forced_count; i++)
		r->forced[i] = schedule_cluster_by_id(c, p->same_nodes[i]);
	judge_keep_only(c, r->mask, r->forced, r->forced_count);
}

/* Set r->data to the nodes that have data of the step. Nodes that are failing or not on are left out, so they are not
 * preferred. */
static void judge_data(const struct schedule_cluster *c, struct schedule_request *r)
{
	const struct schedule_pending *p = r->step;
	if (p->data_nodes_count)
		r->data = schedule_cluster_bits(c);
	for (size_t i = 0; i < p->data_nodes_count; i++) {
		int node_index = schedule_cluster_by_id(c, p->data_nodes[i]);
		if (node_index >= 0 && !c->node[node_index]->failing && c->node[node_index]->power == SCHEDULE_POWER_ON)
			schedule_bits_add(r->data, (size_t)node_index);
	}
}

static void judge_gres(const struct schedule_cluster *c, struct schedule_request *r)
{
	const struct schedule_pending *p = r->step;
	if (!judge_needs(c, &c->gres, SCHEDULE_FIRST_GRES, p->gres, p->gres_count, &r->gres, &r->gres_count))
		judge_refuse(r, SCHEDULE_NODE, "asks for a generic resource that no node has");
}

/* Restrict a step that asks for an administrative reservation to the nodes and the time of the reservation. */
static void judge_reservation(const struct schedule_cluster *c, struct schedule_request *r)
{
	const struct schedule_snapshot *s = c->snapshot;
	uint64_t *only = schedule_cluster_bits(c);
	const struct schedule_outage *now = NULL, *next = NULL;
	for (size_t i = 0; i < s->outage_count; i++) {
		const struct schedule_outage *outage = &s->outages[i];
		if (outage->id != r->step->reservation)
			continue;
		for (size_t j = 0; j < outage->node_count; j++) {
			int node_index = schedule_cluster_by_id(c, outage->node_ids[j]);
			if (node_index >= 0)
				schedule_bits_add(only, (size_t)node_index);
		}
		if (outage->from <= s->now && outage->to > s->now)
			now = outage;
		else if (outage->from > s->now && (!next || outage->from < next->from))
			next = outage;
	}
	for (size_t w = 0; w < c->words; w++)
		r->mask[w] &= only[w];
	if (now)
		return;
	judge_refuse(r, SCHEDULE_RESERVATION,
		     next ? schedule_arena_print(c->arena, "waits for its reservation to begin %s",
						 schedule_explain_at(c->arena, next->from))
			  : "the step's reservation is over, was deleted, or does not admit the step");
}

/* Remove from r->mask nodes that cannot get the setup of the step. A node whose setup is being changed may have it later, and
 * stays. */
static void judge_setup(const struct schedule_cluster *c, struct schedule_request *r)
{
	for (size_t node_index = 0; c->has_setups && node_index < c->nodes; node_index++)
		if (!schedule_bits_has(c->changing, node_index) &&
		    schedule_cluster_setup(c, r->step, node_index) == SCHEDULE_SETUP_WRONG)
			schedule_bits_drop(r->mask, node_index);
}

static void judge_nodes(const struct schedule_cluster *c, struct schedule_request *r)
{
	const struct schedule_pending *p = r->step;
	r->mask = schedule_cluster_bits(c);
	if (r->partition >= 0)
		memcpy(r->mask, c->partition[r->partition], c->words * sizeof *r->mask);
	if (p->reservation)
		judge_reservation(c, r);
	if (p->constraint && *p->constraint && !schedule_feature_match(c, p->constraint, r->mask))
		judge_refuse(r, SCHEDULE_NODE,
			     schedule_arena_print(c->arena, "constraint \"%s\" is not well formed", p->constraint));
	judge_lists(c, r);
	judge_setup(c, r);
	judge_data(c, r);
	r->matching = schedule_bits_count(r->mask, c->words);
	for (size_t w = 0; w < c->words; w++)
		r->mask[w] &= c->usable[w];
	r->usable = schedule_bits_count(r->mask, c->words);
	if (r->usable < (size_t)r->nodes_min || (size_t)r->forced_count > r->usable)
		judge_refuse(r, SCHEDULE_NODE, schedule_explain_node(c->arena, r).message);
}

static void judge_request(const struct schedule_cluster *cluster, struct schedule_request *request)
{
	request->cause.step = -1;
	judge_numbers(request);
	judge_partition(cluster, request);
	judge_time(cluster, request);
	judge_licenses(cluster, request);
	judge_gres(cluster, request);
	request->description = schedule_explain_request(cluster, request);
	judge_nodes(cluster, request);
}

struct schedule_request *schedule_request_of(struct schedule_requests *requests, const struct schedule_pending *step)
{
	struct schedule_reserved *reserved = schedule_reserved_for(requests->reserved_index, step->job, step->step);
	key_write(requests, step, reserved);
	struct schedule_request **bucket = &requests->bucket[key_hash(requests) & requests->mask];
	for (struct schedule_request *known = *bucket; known; known = known->next)
		if (known->key_length == requests->length && !memcmp(known->key, requests->key, requests->length))
			return known;
	struct schedule_arena *arena = requests->cluster->arena;
	struct schedule_request *request = schedule_arena_take(arena, 1, sizeof *request);
	request->key = memcpy(schedule_arena_take(arena, requests->length, 1), requests->key, requests->length);
	request->key_length = requests->length;
	request->next = *bucket;
	request->step = step;
	request->reserved = reserved;
	judge_request(requests->cluster, request);
	return *bucket = request;
}

void schedule_request_need(const struct schedule_cluster *cluster, const struct schedule_request *request, int node_index,
			   int tasks, int64_t *need)
{
	int64_t cpus = (int64_t)tasks * request->cpus_per_task;
	memset(need, 0, cluster->kinds * sizeof *need);
	if (request->exclusive) {
		need[SCHEDULE_CPUS] = cluster->total[(size_t)node_index * cluster->kinds + SCHEDULE_CPUS];
		need[SCHEDULE_MEM] = cluster->total[(size_t)node_index * cluster->kinds + SCHEDULE_MEM];
	} else {
		need[SCHEDULE_CPUS] = cpus;
		need[SCHEDULE_MEM] = request->mem_mb ? request->mem_mb : request->mem_per_cpu_mb * cpus;
	}
	if (request->whole_memory)
		need[SCHEDULE_MEM] = cluster->total[(size_t)node_index * cluster->kinds + SCHEDULE_MEM];
	for (size_t i = 0; i < request->gres_count; i++)
		need[request->gres[i].kind] = request->gres[i].count;
}

void schedule_request_licenses(const struct schedule_cluster *cluster, const struct schedule_request *request, int64_t *need)
{
	memset(need, 0, cluster->kinds * sizeof *need);
	for (size_t i = 0; i < request->license_count; i++)
		need[request->licenses[i].kind] = request->licenses[i].count;
}
