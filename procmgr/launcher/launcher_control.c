/* launcher_control.c - handles the messages of procmgrd: passes on control messages to keepers, truncates the journal.
 *
 * Called by: launcher_agent.c for each message (registered by launcher.c).
 * Invariants:
 * - A keeper gets only messages that this file has checked and written anew. Control messages are not signed, so none of them
 *   makes a keeper skip epilogs.
 * - A message is answered when the keeper's socket has it, or when the attempt has no keeper. Until then the database keeps the
 *   order, so nothing is lost if the launcher dies. An unanswered message may come twice. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/crash.h"
#include "lib/log.h"
#include "procmgr/launcher/launcher_parts.h"

enum { CAUSE_LONGEST = 31 };

static const char *const actions[] = {"go",	"end",	"kill",	  "signal", "suspend", "resume",      "limit",	   "agent",
				      "agents", "grow", "shrink", "node",   "listen",  "credentials", "checkpoint"};

static const char *known_action(const char *action)
{
	for (size_t i = 0; action && i < sizeof actions / sizeof *actions; i++)
		if (strcmp(actions[i], action) == 0)
			return actions[i];
	return NULL;
}

struct launcher_control {
	int64_t truncate_from; /* lowest journal position up to which truncation pays */
	bool end_again;	       /* a keeper's socket was full, so the message to end has to be sent again */
};

struct launcher_control *launcher_control_new(void)
{
	return xcalloc(1, sizeof(struct launcher_control));
}

bool launcher_control_is_end_unsent(const struct launcher *l)
{
	return l->control->end_again;
}

static bool is_cause(const char *text)
{
	return strlen(text) <= CAUSE_LONGEST && strspn(text, "abcdefghijklmnopqrstuvwxyz_") == strlen(text);
}

/* Are these a valid address at which a step manager listens, and a valid key that proves to it which agent connects? */
static bool is_call(const char *host, int64_t port, const char *secret, struct err *e)
{
	enum { HOST_LONGEST = 255, KEY_DIGITS = 64 };
	bool named = host && *host && strlen(host) <= HOST_LONGEST && !strpbrk(host, " \t\n") && port > 0;
	bool has_key = secret && strlen(secret) == KEY_DIGITS && strspn(secret, "0123456789abcdef") == KEY_DIGITS;
	return (named && has_key) || err_set(e, "action \"agent\" has no host, port and key");
}

/* Are these an attempt of a growth and the growth's node: "812.0.1", "n3"? */
static bool is_growth(const char *growth, const char *on, struct err *e)
{
	enum { NODE_LONGEST = 255, GROWTH_LONGEST = 63 };
	bool named = growth && *growth && strlen(growth) <= GROWTH_LONGEST && strspn(growth, "0123456789.") == strlen(growth);
	bool has_node = on && *on && strlen(on) <= NODE_LONGEST && !strpbrk(on, " /\t\n");
	return (named && has_node) || err_set(e, "action \"grow\" or \"shrink\" has no attempt and node");
}

/* Is the text a node's state with a reason of one line? */
static bool is_change(const char *name, const char *state, const char *reason, struct err *e)
{
	enum { NAME_LONGEST = 255, REASON_LONGEST = 255 };
	bool named = name && *name && strlen(name) <= NAME_LONGEST && !strpbrk(name, " \t\n");
	bool has_state = state && *state && is_cause(state);
	bool explained = reason && strlen(reason) <= REASON_LONGEST && !strpbrk(reason, "\t\n");
	return (named && has_state && explained) || err_set(e, "action \"node\" has no name, state and reason");
}

/* Check the members that only some actions of control messages have, and copy them. */
static bool copy_members(const struct fields *message, const char *action, struct fields *control, struct err *e)
{
	const char *host = fields_get(message, "host"), *secret = fields_get(message, "key");
	const char *name = fields_get(message, "name"), *state = fields_get(message, "state"),
		   *reason = fields_get(message, "reason");
	bool calls = strcmp(action, "agent") == 0, changes = strcmp(action, "node") == 0;
	const char *growth = fields_get(message, "growth"), *on = fields_get(message, "on");
	bool grows = strcmp(action, "grow") == 0 || strcmp(action, "shrink") == 0;
	bool has_devices = strcmp(action, "suspend") == 0 || strcmp(action, "resume") == 0 || strcmp(action, "kill") == 0;
	int64_t port, devices;
	if (!fields_int_or(message, "port", 0, 65535, 0, &port, e) ||
	    !fields_int_or(message, "devices", 0, INT64_MAX, 0, &devices, e) || (calls && !is_call(host, port, secret, e)) ||
	    (changes && !is_change(name, state, reason, e)) || (grows && !is_growth(growth, on, e)))
		return false;
	if (calls) {
		fields_add(control, "host", host);
		fields_add_int(control, "port", port);
		fields_add(control, "key", secret);
	}
	if (changes) {
		fields_add(control, "name", name);
		fields_add(control, "state", state);
		fields_add(control, "reason", reason);
	}
	if (grows) {
		fields_add(control, "growth", growth);
		fields_add(control, "on", on);
	}
	if (has_devices && devices > 0)
		fields_add_int(control, "devices", devices);
	return true;
}

struct fields *launcher_control_check(const struct fields *message, struct err *e)
{
	const char *asked = fields_get(message, "action"), *action = known_action(asked), *cause = fields_get(message, "cause");
	int64_t signal, limit;
	bool understood = action || err_set(e, "unknown action \"%.32s\"", asked ? asked : "");
	understood = understood && fields_int_or(message, "signal", 0, NSIG - 1, 0, &signal, e) &&
		     fields_int_or(message, "limit", 0, INT64_MAX / 1000000, 0, &limit, e);
	if (understood && strcmp(action, "signal") == 0 && signal == 0)
		understood = err_set(e, "action \"signal\" has no signal number");
	if (understood && cause && !is_cause(cause))
		understood = err_set(e, "the cause is not a lower-case word of at most 31 letters");
	if (!understood)
		return NULL;
	struct fields *control = fields_new();
	fields_add(control, "action", action);
	fields_add_int(control, "signal", signal);
	fields_add(control, "cause", cause ? cause : "");
	fields_add_int(control, "limit", limit);
	if (copy_members(message, action, control, e))
		return control;
	fields_free(control);
	return NULL;
}

/* Write a record `late`, by which the database learns that a control message came after the attempt had ended. */
static void write_late(struct launcher *l, const struct record_key *key, const char *action, const char *why)
{
	char name[RECORD_KEY_SIZE];
	record_key_text(key, name);
	log_info("control message \"%s\" for attempt %s came late: %s", action, name, why);
	struct fields *record = record_new("late", key);
	fields_add(record, "action", action);
	fields_add(record, "reason", why);
	record_write(l->journal, record);
}

/* Send a checked control message to an attempt. Returns false if the keeper's socket is full. */
static bool send_control(struct launcher *l, const struct record_key *key, const struct fields *checked)
{
	struct err e;
	if (launcher_dry_send(l, key, checked))
		return true;
	enum launcher_sent sent = launcher_spool_send(key, checked, &e);
	/* An attempt that has ended has no credentials, so the keeper has nothing to report. */
	if (sent == LAUNCHER_SENT_NEVER && strcmp(fields_get(checked, "action"), "credentials") != 0)
		write_late(l, key, fields_get(checked, "action"), e.message);
	return sent != LAUNCHER_SENT_LATER;
}

static void answer_agent(const struct launcher *l, const struct fields *message, bool taken)
{
	struct err e;
	int64_t id;
	if (fields_int(message, "id", 1, INT64_MAX, &id, &e))
		launcher_agent_answer(l, id, taken);
}

static void handle_control(struct launcher *l, const struct fields *message)
{
	struct err e;
	struct record_key key;
	const char *nodes = fields_get(message, "nodes");
	struct fields *checked = record_key_read(message, &key, &e) ? launcher_control_check(message, &e) : NULL;
	bool taken = true; /* an invalid message counts as taken, since it stays invalid */
	crash_point(CRASH_control_received);
	if (!checked) {
		log_warning("control message ignored: %s", e.message);
	} else {
		launcher_dry_gather(l, true);
		do
			taken = send_control(l, &key, checked) && taken;
		while (launcher_order_next(&nodes, &key.node));
		launcher_dry_gather(l, false);
	}
	crash_point(CRASH_control_sent);
	answer_agent(l, message, taken);
	fields_free(checked);
}

/* Is the record needed after truncation? Records of accepted and of cancelled launch requests stay until these expire. */
static bool is_needed(const struct fields *record, void *arg)
{
	const int64_t *now = arg;
	int64_t expires;
	struct err e;
	return fields_int(record, "expires", 0, INT64_MAX, &expires, &e) && expires > *now;
}

/* Is truncation due? Truncation copies the records that stay, so it waits until at least as many bytes can be dropped. The cost
 * of a record then does not grow with the number of accepted orders. A half full journal is truncated anyway. */
static bool is_truncation_due(const struct launcher *l, int64_t position)
{
	return position >= l->control->truncate_from ||
	       journal_size(l->journal) > (int64_t)l->conf->node_journal_mb * (1024 * 1024 / 2);
}

static void truncate_journal(struct launcher *l, const struct fields *message)
{
	struct err e;
	int64_t position, now = time(NULL);
	bool read = fields_int(message, "position", 0, INT64_MAX, &position, &e);
	if (read && !is_truncation_due(l, position))
		return;
	if (!read || !journal_truncate(l->journal, position, is_needed, &now, &e))
		log_warning("could not truncate the journal: %s", e.message);
	else
		l->control->truncate_from = position + journal_kept(l->journal, position);
}

/* Make procmgrd's cache folder, which procmgrd has reported as missing. */
static void make_cache_again(const struct launcher *l)
{
	struct err e;
	if (launcher_spool_cache(l, &e))
		log_warning("folder \"%s/cache\" was missing; it is made again", l->dir);
	else
		log_warning("folder \"cache\" is missing and could not be made: %s", e.message);
}

void launcher_control_take(struct launcher *l, const char *text, size_t size)
{
	struct err e;
	struct fields *message = fields_parse(text, size, &e);
	const char *op = message ? fields_get(message, "op") : NULL;
	if (!message)
		log_warning("message of procmgrd ignored: %s", e.message);
	else if (op && strcmp(op, "launch") == 0)
		launcher_order_take(l, message);
	else if (op && strcmp(op, "control") == 0)
		handle_control(l, message);
	else if (op && strcmp(op, "truncate") == 0)
		truncate_journal(l, message);
	else if (op && strcmp(op, "cache") == 0)
		make_cache_again(l);
	else
		log_warning("message of procmgrd ignored: unknown operation");
	fields_free(message);
}

static void end_attempt(struct launcher *l, const struct record_key *key)
{
	struct err e;
	struct fields *message = fields_new();
	fields_add(message, "action", "kill");
	fields_add(message, "cause", "shutdown");
	enum launcher_sent sent = launcher_spool_send(key, message, &e);
	if (sent == LAUNCHER_SENT_NEVER)
		log_warning("%s", e.message);
	l->control->end_again = l->control->end_again || sent == LAUNCHER_SENT_LATER;
	fields_free(message);
}

void launcher_control_end_all(struct launcher *l)
{
	l->control->end_again = false;
	launcher_dry_end_all(l);
	launcher_spool_each(l, end_attempt);
}
