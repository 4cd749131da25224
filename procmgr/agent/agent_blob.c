/* agent_blob.c - scripts and environments that launches need, fetched by hash into the cache.
 *
 * Called by agent_order.c. What always holds: one call is under way at a time; what lies in the cache is what its name says; of what
 * cannot be had the orders that need it are told, so nobody waits for it. Where the cache itself is gone they wait until the launcher has
 * made it again, for ten seconds at most. */
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/seal.h"
#include "procmgr/agent/agent_parts.h"

enum { CACHE_USEC = 10 * 1000000 };

static bool is_asked(const struct agent_blobs *asked, const char *hash)
{
	for (int i = 0; i < asked->count; i++)
		if (strcmp(asked->hashes[i], hash) == 0)
			return true;
	return false;
}

void agent_blob_want(struct agent_blobs *asked, const char *hash)
{
	if (asked->count < AGENT_BLOBS_AT_ONCE && !is_asked(asked, hash))
		memcpy(asked->hashes[asked->count++], hash, sizeof asked->hashes[0]);
}

/* Put one row into the cache. */
static void keep_blob(struct agent_blobs *asked, const PGresult *result, int row)
{
	size_t size;
	struct err e;
	unsigned char *bytes = PQunescapeBytea((const unsigned char *)agent_cell(result, row, "body"), &size);
	if (!bytes)
		die("out of memory");
	if (!agent_cache_put(agent_cell(result, row, "hash"), bytes, size, &e)) {
		bool fits = agent_cache_fits(agent_cell(result, row, "hash"), bytes, size), there = agent_cache_is_there();
		log_error("%s", e.message);
		asked->full |= fits && there;
		asked->gone |= fits && !there;
	}
	PQfreemem(bytes);
}

/* Somebody has removed the cache: only the launcher can make it again. Until it has, the orders wait; false: it does not. */
static bool await_cache(struct agent *a)
{
	int64_t now = clock_boot_us();
	if (a->cache_gone_at == 0)
		a->cache_gone_at = now;
	if (now - a->cache_gone_at > CACHE_USEC) {
		a->cache_gone_at = 0; /* for the orders after these */
		return false;
	}
	struct fields *message = fields_new();
	fields_add(message, "op", "cache");
	agent_launcher_send(a, message);
	fields_free(message);
	return true;
}

/* What the database does not have, or has otherwise than its hash says, or the cache cannot take, is not waited for: the launcher is
 * told and refuses. */
static void give_up(struct agent *a, const struct agent_blobs *asked)
{
	for (int i = 0; i < a->order_count; i++) {
		struct agent_order *o = &a->orders[i];
		if (is_asked(asked, o->script) && !agent_cache_has(o->script))
			o->lacks = asked->full ? "room" : "script";
		else if (is_asked(asked, o->environment) && !agent_cache_has(o->environment))
			o->lacks = asked->full ? "room" : "environment";
	}
}

static void blobs(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent_blobs *asked = arg;
	struct agent *a = asked->agent;
	a->blobs_asked = false;
	if (!result)
		log_warning("scripts could not be read: %s", e->message);
	for (int i = 0; result && i < PQntuples(result); i++)
		keep_blob(asked, result, i);
	if (!asked->gone)
		a->cache_gone_at = 0;
	if (result && !(asked->gone && await_cache(a))) {
		asked->full |= asked->gone;
		give_up(a, asked);
		agent_order_work(a);
	}
	free(asked);
}

void agent_blob_ask(struct agent *a, const struct agent_blobs *wanted)
{
	if (wanted->count == 0 || a->blobs_asked || !db_is_up(a->db))
		return;
	struct agent_blobs *asked = xmalloc(sizeof *asked);
	struct db_array *hashes = db_array_new();
	*asked = *wanted;
	for (int i = 0; i < asked->count; i++) {
		unsigned char raw[32];
		if (seal_unhex(asked->hashes[i], raw, sizeof raw))
			db_array_bytes(hashes, raw, sizeof raw);
	}
	const struct db_param params[] = {{db_array_literal(hashes), -1}};
	a->blobs_asked = true;
	db_call(a->db, API_node_blob, params, 1, blobs, asked);
	db_array_free(hashes);
}
