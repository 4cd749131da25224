/* attempt_set.c - a hash table of step attempts, each kept until a time of its own.
 *
 * Called by: the launcher for attempts whose orders it has accepted, so that no attempt is started twice; procmgrd for launches
 * that the journal has answered, and for its inventory.
 * Invariants: an attempt stays in the set at least until its time. */
#include "procmgr/record/attempt_set.h"

#include <stdlib.h>

struct entry {
	struct record_key key;
	int64_t expires; /* time until which the entry is kept; 0 if the entry is free */
};

struct attempt_set {
	struct entry *entries;
	unsigned capacity; /* number of entries, a power of two; at most three quarters are in use */
	int count;
};

enum { CAPACITY_FIRST = 256 };

/* Returns the first index at which to look for an attempt. All attempts of a step have the same hash, so their entries have no
 * gap. */
static unsigned find_first(const struct record_key *key, unsigned capacity)
{
	uint64_t h = (uint64_t)key->job_id * 0x9e3779b97f4a7c15u;
	h = (h ^ (uint32_t)key->step_id ^ (uint64_t)key->node << 32) * 0xbf58476d1ce4e5b9u;
	return (unsigned)(h >> 32) & (capacity - 1);
}

struct attempt_set *attempt_set_new(void)
{
	struct attempt_set *s = xcalloc(1, sizeof *s);
	s->capacity = CAPACITY_FIRST;
	s->entries = xcalloc(s->capacity, sizeof *s->entries);
	return s;
}

void attempt_set_free(struct attempt_set *s)
{
	if (!s)
		return;
	free(s->entries);
	free(s);
}

static struct entry *find_entry(const struct attempt_set *s, const struct record_key *key)
{
	unsigned at = find_first(key, s->capacity);
	while (s->entries[at].expires != 0 && !record_key_equal(&s->entries[at].key, key))
		at = (at + 1) & (s->capacity - 1);
	return &s->entries[at];
}

/* Drop the expired entries of the set, and keep at least as many free entries as used ones. */
static void set_rebuild(struct attempt_set *s, int64_t now)
{
	struct attempt_set fresh = {NULL, CAPACITY_FIRST, 0};
	int live = 0;
	for (unsigned i = 0; i < s->capacity; i++)
		live += s->entries[i].expires > now;
	while ((unsigned)live * 2 > fresh.capacity)
		fresh.capacity *= 2;
	fresh.entries = xcalloc(fresh.capacity, sizeof *fresh.entries);
	for (unsigned i = 0; i < s->capacity; i++)
		if (s->entries[i].expires > now)
			*find_entry(&fresh, &s->entries[i].key) = s->entries[i];
	free(s->entries);
	fresh.count = live;
	*s = fresh;
}

void attempt_set_add(struct attempt_set *s, const struct record_key *key, int64_t expires, int64_t now)
{
	if ((unsigned)s->count >= s->capacity / 4 * 3)
		set_rebuild(s, now);
	struct entry *entry = find_entry(s, key);
	s->count += entry->expires == 0;
	entry->key = *key;
	if (entry->expires < expires)
		entry->expires = expires;
}

bool attempt_set_has(const struct attempt_set *s, const struct record_key *key)
{
	return find_entry(s, key)->expires != 0;
}

int attempt_set_newest(const struct attempt_set *s, const struct record_key *key)
{
	int newest = 0;
	for (unsigned at = find_first(key, s->capacity); s->entries[at].expires != 0; at = (at + 1) & (s->capacity - 1)) {
		const struct record_key *k = &s->entries[at].key;
		if (k->job_id == key->job_id && k->step_id == key->step_id && k->node == key->node && k->attempt > newest)
			newest = k->attempt;
	}
	return newest;
}

int attempt_set_count(const struct attempt_set *s)
{
	return s->count;
}
