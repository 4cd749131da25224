/* agent_lease.c - the node's lease as procmgrd keeps it, and the proof of what still runs here.
 *
 * Called by the agent at each registration and renewal. What always holds: the lease counts from before the question was sent, so it
 * ends here no later than in the database; launches are handed over only under it; at registration everything that the node may still
 * say or do about an attempt is named: the spool is read before the journal, and an attempt leaves the spool only when its `end` is
 * in the journal. */
#include <stdlib.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/agent/agent_parts.h"

void agent_lease_open(struct agent *a)
{
	a->leased = lease_read(&a->lease);
}

bool agent_lease_has(const struct agent *a)
{
	return a->leased && clock_boot_us() < a->lease.until;
}

void agent_lease_granted(struct agent *a, int64_t sent)
{
	struct err e;
	a->lease = lease_extended(a->leased ? &a->lease : NULL, sent, a->conf->node_lease, a->conf->node_lease_margin);
	a->leased = true;
	if (!lease_write(&a->lease, &e))
		log_error("keepers do not hear of the lease: %s", e.message);
}

struct proof {
	json_t *names;
	struct used *known; /* named already */
};

static void name(struct proof *p, const struct record_key *key)
{
	char text[RECORD_KEY_SIZE];
	if (used_has(p->known, key))
		return;
	used_add(p->known, key, INT64_MAX, 0);
	record_key_text(key, text);
	json_array_append_new(p->names, json_string(text));
}

static bool name_record(const struct fields *record, void *arg)
{
	struct record_key key;
	struct err e;
	if (record_key_read(record, &key, &e))
		name(arg, &key);
	return true;
}

static void name_kept(const struct record_key *key, void *arg)
{
	name(arg, key);
}

void agent_lease_prove(struct agent *a, json_t *facts)
{
	struct err e;
	int64_t position = a->acked_to;
	json_t *node = json_array_get(json_object_get(facts, "nodes"), 0);
	struct proof spool = {json_array(), used_new()}, told = {json_array(), spool.known};
	json_object_set_new(node, "margin_s", json_integer(a->conf->node_lease_margin));
	/* What cannot be read proves nothing, neither way. */
	bool read = agent_ahead_spool(name_kept, &spool);
	if (read && !journal_read(a->journal, &position, name_record, &told, &e)) {
		log_error("%s", e.message);
		read = false;
	}
	if (read) {
		json_object_set(node, "attempts", spool.names);
		json_object_set(node, "told", told.names);
	}
	json_decref(spool.names);
	json_decref(told.names);
	used_free(spool.known);
}
