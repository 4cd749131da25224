/* schedule_request.c - the table of distinct requests of a pass.
 *
 * The key of a request is the bytes of everything that decides where and when it fits; what only names the step is not
 * in it. A step that something is kept for is a request of its own. */
#include "jobmgr/schedule/schedule_request.h"

#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_judge.h"
#include "lib/err.h"

struct schedule_requests {
	const struct schedule_cluster *cluster;
	const struct schedule_keeping *keeping;
	struct schedule_request **bucket;
	size_t mask;
	char *key; /* the one being looked up */
	size_t length, capacity;
};

struct schedule_requests *schedule_requests_new(const struct schedule_cluster *cluster, const struct schedule_keeping *keeping)
{
	struct schedule_requests *requests = xcalloc(1, sizeof *requests);
	size_t buckets = 64;
	while (buckets < cluster->snapshot->pending_count)
		buckets *= 2;
	requests->cluster = cluster;
	requests->keeping = keeping;
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

static void key_word(struct schedule_requests *r, const char *word)
{
	key_bytes(r, word ? word : "", word ? strlen(word) + 1 : 1);
}

static void key_words(struct schedule_requests *r, const char *const *word, size_t count)
{
	key_number(r, (int64_t)count);
	for (size_t i = 0; i < count; i++)
		key_word(r, word[i]);
}

static void key_amounts(struct schedule_requests *r, const struct schedule_amount *amount, size_t count)
{
	key_number(r, (int64_t)count);
	for (size_t i = 0; i < count; i++) {
		key_word(r, amount[i].name);
		key_number(r, amount[i].count);
	}
}

static void key_ids(struct schedule_requests *r, const int *id, size_t count)
{
	key_number(r, (int64_t)count);
	key_bytes(r, id, count * sizeof *id);
}

static void key_write(struct schedule_requests *r, const struct schedule_pending *p, const struct schedule_kept *kept)
{
	const int64_t number[] = {p->nodes_min,	    p->nodes_max,  p->ntasks,	      p->ntasks_per_node,
				  p->cpus_per_task, p->mem_mb,	   p->mem_per_cpu_mb, p->exclusive,
				  p->time_limit_s,  p->time_min_s, p->reservation,    (int64_t)(intptr_t)kept};
	r->length = 0;
	key_bytes(r, number, sizeof number);
	key_bytes(r, &p->deadline_at, sizeof p->deadline_at);
	key_word(r, p->partition);
	key_word(r, p->constraint);
	key_amounts(r, p->gres, p->gres_count);
	key_amounts(r, p->licenses, p->license_count);
	key_words(r, p->nodelist, p->nodelist_count);
	key_words(r, p->exclude, p->exclude_count);
	key_ids(r, p->same_nodes, p->same_nodes_count);
	key_ids(r, p->other_nodes, p->other_nodes_count);
	key_ids(r, p->admitted, p->admitted_count);
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

struct schedule_request *schedule_request_of(struct schedule_requests *requests, const struct schedule_pending *step)
{
	struct schedule_kept *kept = schedule_keeping_for(requests->keeping, step->job, step->step);
	key_write(requests, step, kept);
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
	request->kept = kept;
	schedule_judge(requests->cluster, request);
	return *bucket = request;
}

void schedule_request_need(const struct schedule_cluster *cluster, const struct schedule_request *request, int place, int tasks,
			   int64_t *need)
{
	int64_t cpus = (int64_t)tasks * request->cpus_per_task;
	memset(need, 0, cluster->kinds * sizeof *need);
	if (request->exclusive) {
		need[SCHEDULE_CPUS] = cluster->total[(size_t)place * cluster->kinds + SCHEDULE_CPUS];
		need[SCHEDULE_MEM] = cluster->total[(size_t)place * cluster->kinds + SCHEDULE_MEM];
	} else {
		need[SCHEDULE_CPUS] = cpus;
		need[SCHEDULE_MEM] = request->mem_mb ? request->mem_mb : request->mem_per_cpu_mb * cpus;
	}
	if (request->whole_memory)
		need[SCHEDULE_MEM] = cluster->total[(size_t)place * cluster->kinds + SCHEDULE_MEM];
	for (size_t i = 0; i < request->gres_count; i++)
		need[request->gres[i].kind] = request->gres[i].count;
}

void schedule_request_licenses(const struct schedule_cluster *cluster, const struct schedule_request *request, int64_t *need)
{
	memset(need, 0, cluster->kinds * sizeof *need);
	for (size_t i = 0; i < request->license_count; i++)
		need[request->licenses[i].kind] = request->licenses[i].count;
}
