/* used.c - step attempts with a time until which each is remembered: a hash table.
 *
 * The launcher keeps in it which orders were believed (filled from the journal at start, asked before each launch); procmgrd,
 * which orders the journal of an earlier procmgrd answers. What always holds: an entry stays at least until its time. */
#include "procmgr/record/used.h"

#include <stdlib.h>

struct entry {
	struct record_key key;
	int64_t expires; /* 0: a free place */
};

struct used {
	struct entry *entries;
	unsigned room; /* a power of two, three quarters of it in use at the most */
	int count;
};

enum { ROOM_FIRST = 256 };

/* All attempts of a step begin their search at one place, so they stand in one row without a gap. */
static unsigned place_of(const struct record_key *key, unsigned room)
{
	uint64_t h = (uint64_t)key->job_id * 0x9e3779b97f4a7c15u;
	h = (h ^ (uint32_t)key->step_id ^ (uint64_t)key->node << 32) * 0xbf58476d1ce4e5b9u;
	return (unsigned)(h >> 32) & (room - 1);
}

struct used *used_new(void)
{
	struct used *u = xcalloc(1, sizeof *u);
	u->room = ROOM_FIRST;
	u->entries = xcalloc(u->room, sizeof *u->entries);
	return u;
}

void used_free(struct used *u)
{
	if (!u)
		return;
	free(u->entries);
	free(u);
}

static struct entry *find(const struct used *u, const struct record_key *key)
{
	unsigned at = place_of(key, u->room);
	while (u->entries[at].expires != 0 && !record_key_equal(&u->entries[at].key, key))
		at = (at + 1) & (u->room - 1);
	return &u->entries[at];
}

/* Leave out what has expired, with at least as much room again as the rest takes. */
static void rebuild(struct used *u, int64_t now)
{
	struct used fresh = {NULL, ROOM_FIRST, 0};
	int live = 0;
	for (unsigned i = 0; i < u->room; i++)
		live += u->entries[i].expires > now;
	while ((unsigned)live * 2 > fresh.room)
		fresh.room *= 2;
	fresh.entries = xcalloc(fresh.room, sizeof *fresh.entries);
	for (unsigned i = 0; i < u->room; i++)
		if (u->entries[i].expires > now)
			*find(&fresh, &u->entries[i].key) = u->entries[i];
	free(u->entries);
	fresh.count = live;
	*u = fresh;
}

void used_add(struct used *u, const struct record_key *key, int64_t expires, int64_t now)
{
	if ((unsigned)u->count >= u->room / 4 * 3)
		rebuild(u, now);
	struct entry *entry = find(u, key);
	u->count += entry->expires == 0;
	entry->key = *key;
	if (entry->expires < expires)
		entry->expires = expires;
}

bool used_has(const struct used *u, const struct record_key *key)
{
	return find(u, key)->expires != 0;
}

int used_newest(const struct used *u, const struct record_key *key)
{
	int newest = 0;
	for (unsigned at = place_of(key, u->room); u->entries[at].expires != 0; at = (at + 1) & (u->room - 1)) {
		const struct record_key *k = &u->entries[at].key;
		if (k->job_id == key->job_id && k->step_id == key->step_id && k->node == key->node && k->attempt > newest)
			newest = k->attempt;
	}
	return newest;
}

int used_count(const struct used *u)
{
	return u->count;
}
