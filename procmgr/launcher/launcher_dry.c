/* launcher_dry.c - keeps the attempts of a launcher that runs nothing (launcher.dry_run) while they wait for a control message.
 *
 * Called by: launcher_order.c instead of a fork, launcher_control.c for messages, launcher.c when the launcher ends.
 * Invariants:
 * - Every attempt of a dry run was accepted, and its record `used` is in the journal.
 * - Attempts that wait when the launcher ends are ended too, since no keeper continues them. */
#include <stdlib.h>

#include "lib/log.h"
#include "procmgr/keeper/keeper.h"
#include "procmgr/launcher/launcher_parts.h"

enum { ROWS = 8192 };

struct waiting {
	struct waiting *next;
	struct record_key key;
	struct keeper_dry *attempt;
};

struct launcher_dry {
	struct waiting *rows[ROWS];
};

struct launcher_dry *launcher_dry_new(void)
{
	log_warning("dry run: nothing is run, and every step is reported as completed at once");
	return xcalloc(1, sizeof(struct launcher_dry));
}

/* Returns the entry of the attempt, or the place for a new entry. */
static struct waiting **find_entry(struct launcher_dry *dry, const struct record_key *key)
{
	uint64_t hash = ((uint64_t)key->job_id * 31 + (uint64_t)key->step_id * 7 + (uint64_t)key->node) * 0x9e3779b97f4a7c15u;
	struct waiting **w = &dry->rows[hash >> 32 & (ROWS - 1)];
	while (*w && !record_key_equal(&(*w)->key, key))
		w = &(*w)->next;
	return w;
}

void launcher_dry_start(struct launcher *l, const struct order *o, const struct record_key *key)
{
	struct keeper_dry *attempt = keeper_dry_start(o, key, l->journal);
	if (!attempt)
		return;
	struct waiting **entry = find_entry(l->dry, key), *w = xmalloc(sizeof *w);
	*w = (struct waiting){NULL, *key, attempt};
	*entry = w;
}

bool launcher_dry_send(struct launcher *l, const struct record_key *key, const struct fields *message)
{
	struct waiting **entry = l->dry ? find_entry(l->dry, key) : NULL, *w = entry ? *entry : NULL;
	if (!w)
		return false;
	if (keeper_dry_control(w->attempt, message)) {
		*entry = w->next;
		free(w);
	}
	return true;
}

void launcher_dry_gather(struct launcher *l, bool more)
{
	if (l->dry && more)
		journal_gather(l->journal);
	else if (l->dry)
		record_flush(l->journal);
}

void launcher_dry_end_all(struct launcher *l)
{
	struct fields *message = fields_new();
	fields_add(message, "action", "kill");
	fields_add(message, "cause", "shutdown");
	for (int row = 0; l->dry && row < ROWS; row++)
		while (l->dry->rows[row]) {
			struct record_key key = l->dry->rows[row]->key;
			launcher_dry_send(l, &key, message);
		}
	fields_free(message);
}
