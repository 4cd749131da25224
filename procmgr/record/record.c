/* record.c - names of step attempts, and records of the journal about them.
 *
 * Called by: the launcher (records used and refused), keepers (all other kinds), procmgrd to read them.
 * Invariants: the name of an attempt has one spelling, so a folder or cgroup with another spelling is not Rota's. */
#include "procmgr/record/record.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/seal.h"

enum { TRY_USEC = 200000, LOG_TRIES = 300 };

void record_key_text(const struct record_key *key, char text[RECORD_KEY_SIZE])
{
	snprintf(text, RECORD_KEY_SIZE, "%" PRId64 ".%d.%d", key->job_id, key->step_id, key->attempt);
}

void record_tag(const char *dir, const struct record_key *key, char tag[RECORD_TAG_SIZE])
{
	char hash[SEAL_HEX_SIZE], name[RECORD_KEY_SIZE];
	seal_hash_hex(dir, strlen(dir), hash);
	record_key_text(key, name);
	snprintf(tag, RECORD_TAG_SIZE, "%.8s.%s", hash, name);
}

bool record_key_parse(const char *text, struct record_key *key)
{
	char again[RECORD_KEY_SIZE];
	memset(key, 0, sizeof *key);
	if (strlen(text) >= RECORD_KEY_SIZE ||
	    sscanf(text, "%18" SCNd64 ".%9d.%9d", &key->job_id, &key->step_id, &key->attempt) != 3)
		return false;
	record_key_text(key, again);
	return strcmp(text, again) == 0;
}

bool record_key_read(const struct fields *f, struct record_key *key, struct err *e)
{
	int64_t step, attempt, node;
	if (!fields_int(f, "job", 1, INT64_MAX, &key->job_id, e) || !fields_int(f, "step", 0, INT_MAX, &step, e) ||
	    !fields_int(f, "attempt", 0, INT_MAX, &attempt, e) || !fields_int_or(f, "node", 1, INT_MAX, 0, &node, e))
		return false;
	key->step_id = (int)step;
	key->attempt = (int)attempt;
	key->node = (int)node;
	return true;
}

void record_key_add(struct fields *f, const struct record_key *key)
{
	fields_add_int(f, "job", key->job_id);
	fields_add_int(f, "step", key->step_id);
	fields_add_int(f, "attempt", key->attempt);
	if (key->node > 0)
		fields_add_int(f, "node", key->node);
}

bool record_key_equal(const struct record_key *a, const struct record_key *b)
{
	return a->job_id == b->job_id && a->step_id == b->step_id && a->attempt == b->attempt && a->node == b->node;
}

struct fields *record_new(const char *kind, const struct record_key *key)
{
	return record_new_at(kind, key, clock_boot_us());
}

struct fields *record_new_at(const char *kind, const struct record_key *key, int64_t at)
{
	struct fields *record = fields_new();
	fields_add(record, "kind", kind);
	record_key_add(record, key);
	fields_add_int(record, "at", at);
	return record;
}

char *record_group(const char *instance, const char *state, const char *node)
{
	char hash[SEAL_HEX_SIZE];
	seal_hash_hex(state, strlen(state), hash);
	return xasprintf("rota/%s-%.8s/%s", instance, hash, node);
}

bool record_write(struct journal *j, struct fields *record)
{
	struct err e;
	bool written = journal_append(j, record, &e);
	if (!written)
		log_error("%s", e.message);
	fields_free(record);
	return written;
}

static void wait_for_space(const struct err *e, int try)
{
	if (try % LOG_TRIES == 0)
		log_error("%s; waiting until it can be written", e->message);
	usleep(TRY_USEC);
}

void record_flush(struct journal *j)
{
	struct err e;
	for (int try = 0; !journal_put(j, &e); try++)
		wait_for_space(&e, try);
}

void record_must(struct journal *j, struct fields **records, int count)
{
	struct err e;
	for (int try = 0; !journal_append_all(j, records, count, &e); try++)
		wait_for_space(&e, try);
	for (int i = 0; i < count; i++)
		fields_free(records[i]);
}
