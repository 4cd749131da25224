/* agent_blob.c - fetches scripts and environments that launches need, by hash, into the cache.
 *
 * Called by: agent_order.c.
 * Invariants:
 * - One call is under way at a time.
 * - No order waits for a file that cannot be fetched: agent_order.c is notified and lets the launcher refuse the order.
 * - Where the cache's folder is missing, the launcher is asked to make it, and orders wait at most CACHE_USEC for the folder. */
#include "procmgr/agent/agent_blob.h"

#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/seal.h"
#include "procmgr/agent/agent_cache.h"
#include "procmgr/agent/agent_db.h"
#include "procmgr/agent/agent_launcher.h"

enum { CACHE_USEC = 10 * 1000000 };

struct agent_blobs {
	const struct agent_context *context;
	agent_blob_fetched *fetched;
	void *arg;
	bool is_asking;
	struct agent_blob_list asked;
	bool is_full;	    /* the cache had no space for a fetched file */
	bool is_gone;	    /* the cache's folder is missing, so a fetched file was not stored */
	int64_t gone_since; /* time when the cache's folder was first missing; 0 if it exists */
};

bool agent_blob_list_has(const struct agent_blob_list *list, const char *hash)
{
	for (int i = 0; i < list->count; i++)
		if (strcmp(list->hashes[i], hash) == 0)
			return true;
	return false;
}

void agent_blob_list_add(struct agent_blob_list *list, const char *hash)
{
	if (list->count < AGENT_BLOB_MOST && !agent_blob_list_has(list, hash))
		memcpy(list->hashes[list->count++], hash, sizeof list->hashes[0]);
}

struct agent_blobs *agent_blob_new(const struct agent_context *c, agent_blob_fetched *fetched, void *arg)
{
	struct agent_blobs *b = xcalloc(1, sizeof *b);
	b->context = c;
	b->fetched = fetched;
	b->arg = arg;
	return b;
}

void agent_blob_free(struct agent_blobs *b)
{
	free(b);
}

static void store_blob(struct agent_blobs *b, const PGresult *result, int row)
{
	size_t size;
	struct err e;
	const char *hash = agent_db_text(result, row, "hash");
	unsigned char *bytes = PQunescapeBytea((const unsigned char *)agent_db_text(result, row, "body"), &size);
	if (!bytes)
		die("out of memory");
	if (!agent_cache_put(hash, bytes, size, &e)) {
		bool matches = agent_cache_matches(hash, bytes, size), exists = agent_cache_exists();
		log_error("%s", e.message);
		b->is_full |= matches && exists;
		b->is_gone |= matches && !exists;
	}
	PQfreemem(bytes);
}

/* Ask the launcher to make the cache's folder. Returns false if the folder is still missing after CACHE_USEC. */
static bool await_cache(struct agent_blobs *b)
{
	int64_t now = clock_boot_us();
	if (b->gone_since == 0)
		b->gone_since = now;
	if (now - b->gone_since > CACHE_USEC) {
		b->gone_since = 0; /* the wait for the folder starts anew for later orders */
		return false;
	}
	struct fields *message = fields_new();
	fields_add(message, "op", "cache");
	agent_launcher_send(b->context->launcher, message);
	fields_free(message);
	return true;
}

static void handle_blobs(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent_blobs *b = arg;
	b->is_asking = b->is_full = b->is_gone = false;
	if (!result) {
		log_warning("could not read scripts and environments from the database: %s", e->message);
		b->gone_since = 0;
		return;
	}
	for (int i = 0; i < PQntuples(result); i++)
		store_blob(b, result, i);
	if (!b->is_gone)
		b->gone_since = 0;
	if (!(b->is_gone && await_cache(b))) {
		struct agent_blob_list asked = b->asked; /* copied, because the callback `fetched` may request more files */
		b->fetched(&asked, b->is_full || b->is_gone, b->arg);
	}
}

void agent_blob_fetch(struct agent_blobs *b, const struct agent_blob_list *wanted)
{
	if (wanted->count == 0 || b->is_asking || !db_is_up(b->context->db))
		return;
	struct db_array *hashes = db_array_new();
	b->asked = *wanted;
	for (int i = 0; i < wanted->count; i++) {
		unsigned char raw[32];
		if (seal_unhex(wanted->hashes[i], raw, sizeof raw))
			db_array_bytes(hashes, raw, sizeof raw);
	}
	const struct db_param params[] = {{db_array_literal(hashes), -1}};
	b->is_asking = true;
	db_call(b->context->db, API_node_blob, params, 1, handle_blobs, b);
	db_array_free(hashes);
}
