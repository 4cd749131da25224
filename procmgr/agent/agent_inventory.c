/* agent_inventory.c - lists the attempts that the node still runs or still has to report.
 *
 * Called by: agent.c at each registration.
 * Invariants:
 * - The list has every attempt of which a record may still reach the database. The spool is read before the journal, and an
 *   attempt leaves the spool only when its record `end` is in the journal.
 * - The record `used` stays in the journal longer than the attempt: alone, it says only that the attempt was once here.
 * - Each attempt is listed once. */
#include "procmgr/agent/agent_inventory.h"

#include <string.h>

#include "lib/log.h"
#include "procmgr/agent/agent_spool.h"
#include "procmgr/record/attempt_set.h"

struct inventory {
	json_t *names;
	struct attempt_set *listed;
};

static void list_attempt(const struct record_key *key, void *arg)
{
	struct inventory *i = arg;
	char text[RECORD_KEY_SIZE];
	if (attempt_set_has(i->listed, key))
		return;
	attempt_set_add(i->listed, key, INT64_MAX, 0);
	record_key_text(key, text);
	json_array_append_new(i->names, json_string(text));
}

static bool list_record(const struct fields *record, void *arg)
{
	struct record_key key;
	struct err e;
	const char *kind = fields_get(record, "kind");
	bool is_over = kind && strcmp(kind, "used") == 0;
	if (!is_over && record_key_read(record, &key, &e))
		list_attempt(&key, arg);
	return true;
}

void agent_inventory_add(const struct agent_report *report, json_t *node)
{
	struct err e;
	struct inventory spool = {json_array(), attempt_set_new()}, journal = {json_array(), spool.listed};
	bool read = agent_spool_each(list_attempt, &spool);
	if (read && !agent_report_each_unacknowledged(report, list_record, &journal, &e)) {
		log_error("%s", e.message);
		read = false;
	}
	if (read) {
		json_object_set(node, "attempts", spool.names);
		json_object_set(node, "reported", journal.names);
	}
	json_decref(spool.names);
	json_decref(journal.names);
	attempt_set_free(spool.listed);
}
