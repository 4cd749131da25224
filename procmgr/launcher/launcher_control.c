/* launcher_control.c - what procmgrd may ask for beside launches, passed on to the keepers.
 *
 * Called by the launcher for each message. What always holds: a keeper gets only what was understood here and written anew; a message
 * is answered when its keeper's socket has it or there is no keeper for it any more, and until then is kept by those who sent it, in the
 * end by the database: nothing is kept here, so nothing is lost with us. What dies unanswered comes twice, and may. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/crash.h"
#include "lib/log.h"
#include "procmgr/launcher/launcher_parts.h"

enum { CAUSE_LONGEST = 31 };

static const char *const actions[] = {"go", "end", "kill", "signal", "suspend", "resume", "limit"};

static const char *known_action(const char *action)
{
	for (size_t i = 0; action && i < sizeof actions / sizeof *actions; i++)
		if (strcmp(actions[i], action) == 0)
			return actions[i];
	return NULL;
}

static bool is_word(const char *text)
{
	return strlen(text) <= CAUSE_LONGEST && strspn(text, "abcdefghijklmnopqrstuvwxyz_") == strlen(text);
}

struct fields *launcher_control_check(const struct fields *message, struct err *e)
{
	const char *action = known_action(fields_get(message, "action")), *cause = fields_get(message, "cause");
	int64_t signal, epilog, limit;
	bool understood = action || err_set(e, "unknown action");
	understood = understood && fields_int_or(message, "signal", 0, NSIG - 1, 0, &signal, e) &&
		     fields_int_or(message, "epilog", 0, 1, 1, &epilog, e) &&
		     fields_int_or(message, "limit", 0, INT64_MAX / 1000000, 0, &limit, e);
	if (understood && strcmp(action, "signal") == 0 && signal == 0)
		understood = err_set(e, "which signal is not said");
	if (understood && cause && !is_word(cause))
		understood = err_set(e, "cause is not a word");
	if (!understood)
		return NULL;
	struct fields *control = fields_new();
	fields_add(control, "action", action);
	fields_add_int(control, "signal", signal);
	fields_add_int(control, "epilog", epilog);
	fields_add(control, "cause", cause ? cause : "");
	fields_add_int(control, "limit", limit);
	return control;
}

/* What was meant for an attempt that is not here any more changes nothing; the database keeps it with what came late. */
static void tell_late(struct launcher *l, const struct record_key *key, const char *action, const char *why)
{
	char name[RECORD_KEY_SIZE];
	record_key_text(key, name);
	log_info("%s for %s came late: %s", action, name, why);
	struct fields *record = record_new("late", key);
	fields_add(record, "action", action);
	fields_add(record, "reason", why);
	record_write(l->journal, record);
}

/* False where it has a keeper that cannot take it now. */
static bool control_one(struct launcher *l, const struct record_key *key, const struct fields *checked)
{
	struct err e;
	if (launcher_dry_send(l, key, checked))
		return true;
	enum launcher_sent sent = launcher_spool_send(key, checked, &e);
	if (sent == LAUNCHER_SENT_NEVER)
		tell_late(l, key, fields_get(checked, "action"), e.message);
	return sent != LAUNCHER_SENT_LATER;
}

static void answer(const struct launcher *l, const struct fields *message, bool taken)
{
	struct err e;
	int64_t id;
	if (fields_int(message, "id", 1, INT64_MAX, &id, &e))
		launcher_agent_answer(l, id, taken);
}

static void control(struct launcher *l, const struct fields *message)
{
	struct err e;
	struct record_key key;
	const char *nodes = fields_get(message, "nodes");
	struct fields *checked = record_key_read(message, &key, &e) ? launcher_control_check(message, &e) : NULL;
	bool taken = true; /* what makes no sense will make none later */
	crash_point(CRASH_control_received);
	if (!checked) {
		log_warning("control message ignored: %s", e.message);
	} else {
		launcher_dry_gather(l, true);
		do
			taken = control_one(l, &key, checked) && taken;
		while (launcher_order_next(&nodes, &key.node));
		launcher_dry_gather(l, false);
	}
	crash_point(CRASH_control_sent);
	answer(l, message, taken);
	fields_free(checked);
}

/* Of what is dropped, orders that have not expired stay. */
static bool is_needed(const struct fields *record, void *arg)
{
	const int64_t *now = arg;
	const char *kind = fields_get(record, "kind");
	int64_t expires;
	struct err e;
	return kind && strcmp(kind, "used") == 0 && fields_int(record, "expires", 0, INT64_MAX, &expires, &e) && expires > *now;
}

/* What stays is read and written anew each time, so what goes has to be as much: then the cost for each record stays what it is, however
 * many orders have not expired. Unless it becomes a matter of room. */
static bool pays(const struct launcher *l, int64_t position)
{
	return position >= l->truncate_from || journal_size(l->journal) > (int64_t)l->conf->node_journal_mb * (1024 * 1024 / 2);
}

static void truncate_journal(struct launcher *l, const struct fields *message)
{
	struct err e;
	int64_t position, now = time(NULL);
	bool read = fields_int(message, "position", 0, INT64_MAX, &position, &e);
	if (read && !pays(l, position))
		return;
	if (!read || !journal_truncate(l->journal, position, is_needed, &now, &e))
		log_warning("journal not truncated: %s", e.message);
	else
		l->truncate_from = position + journal_kept(l->journal, position);
}

/* procmgrd has found its cache missing: somebody removed it. */
static void make_cache(const struct launcher *l)
{
	struct err e;
	if (launcher_spool_cache(l, &e))
		log_warning("made the folder \"%s/cache\" again", l->dir);
	else
		log_warning("the cache is missing: %s", e.message);
}

void launcher_control_take(struct launcher *l, const char *text, size_t size)
{
	struct err e;
	struct fields *message = fields_parse(text, size, &e);
	const char *op = message ? fields_get(message, "op") : NULL;
	if (!message)
		log_warning("message ignored: %s", e.message);
	else if (op && strcmp(op, "launch") == 0)
		launcher_order_take(l, message);
	else if (op && strcmp(op, "control") == 0)
		control(l, message);
	else if (op && strcmp(op, "truncate") == 0)
		truncate_journal(l, message);
	else if (op && strcmp(op, "cache") == 0)
		make_cache(l);
	else
		log_warning("message ignored: it names no known operation");
	fields_free(message);
}

static void end_one(struct launcher *l, const struct record_key *key)
{
	struct err e;
	struct fields *message = fields_new();
	fields_add(message, "action", "kill");
	fields_add(message, "cause", "shutdown");
	enum launcher_sent sent = launcher_spool_send(key, message, &e);
	if (sent == LAUNCHER_SENT_NEVER)
		log_warning("%s", e.message);
	l->end_again = l->end_again || sent == LAUNCHER_SENT_LATER;
	fields_free(message);
}

void launcher_control_end_all(struct launcher *l)
{
	l->end_again = false;
	launcher_dry_end_all(l);
	launcher_spool_each(l, end_one);
}
