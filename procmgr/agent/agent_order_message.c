/* agent_order_message.c - makes messages to the launcher from an order, and sends them.
 *
 * Called by: agent_order.c, agent_order_launch.c.
 * Invariants: a message names at most ATTEMPTS_MOST attempts, so it fits the launcher's buffer. */
#include "procmgr/agent/agent_order_message.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/text.h"

enum { ATTEMPTS_MOST = 1000, REASON_SIZE = 256 };

static int signal_number(json_t *value)
{
	if (json_is_integer(value))
		return (int)json_integer_value(value);
	const char *name = json_string_value(value);
	if (!name)
		return 0;
	if (strncasecmp(name, "SIG", 3) == 0)
		name += 3;
	for (int s = 1; s < NSIG; s++)
		if (sigabbrev_np(s) && strcasecmp(sigabbrev_np(s), name) == 0)
			return s;
	return atoi(name);
}

/* Add the state of a node, with its reason as one short line: the launcher accepts no longer one. */
static void add_change(struct fields *message, const json_t *args)
{
	const char *name = json_string_value(json_object_get(args, "name")),
		   *state = json_string_value(json_object_get(args, "state")),
		   *reason = json_string_value(json_object_get(args, "reason"));
	char line[REASON_SIZE];
	snprintf(line, sizeof line, "%s", reason ? reason : "");
	text_clean(line); /* the reason may have been cut within a character */
	for (char *at = line; *at; at++)
		*at = *at == '\n' || *at == '\t' ? ' ' : *at;
	fields_add(message, "name", name ? name : "");
	fields_add(message, "state", state ? state : "");
	fields_add(message, "reason", line);
}

struct fields *agent_order_control(const char *kind, const struct record_key *key, const char *args, const char *secret,
				   struct err *e)
{
	json_error_t wrong;
	json_t *json = json_loads(args && *args ? args : "{}", 0, &wrong);
	if (!json) {
		err_set(e, "the arguments of control message \"%s\" are not JSON: %s", kind, wrong.text);
		return NULL;
	}
	const char *cause = json_string_value(json_object_get(json, "cause")),
		   *host = json_string_value(json_object_get(json, "host")),
		   *growth = json_string_value(json_object_get(json, "growth")),
		   *on = json_string_value(json_object_get(json, "on"));
	const json_t *name = json_object_get(json, "name"), *devices = json_object_get(json, "devices");
	struct fields *message = fields_new();
	fields_add(message, "op", "control");
	record_key_add(message, key);
	fields_add(message, "action", kind);
	fields_add_int(message, "signal", signal_number(json_object_get(json, "signal")));
	fields_add(message, "cause", cause ? cause : "");
	fields_add_int(message, "limit", json_integer_value(json_object_get(json, "time_limit_s")));
	if (host) {
		fields_add(message, "host", host);
		fields_add_int(message, "port", json_integer_value(json_object_get(json, "port")));
		fields_add(message, "key", secret);
	}
	if (growth && on) {
		fields_add(message, "growth", growth);
		fields_add(message, "on", on);
	}
	if (devices)
		fields_add_int(message, "devices", json_integer_value(devices));
	if (name)
		add_change(message, json);
	json_decref(json);
	return message;
}

/* Add the attempts after the first to the message, as a list of steps or of nodes such as "18,19". */
static void add_others(struct fields *message, const struct agent_start *starts, int count)
{
	enum { NUMBER_SIZE = 12 };
	if (count < 2)
		return;
	bool nodes = starts[0].step_id == starts[1].step_id;
	char *text = xmalloc((unsigned long)count * NUMBER_SIZE), *end = text;
	for (int i = 1; i < count; i++)
		end += snprintf(end, NUMBER_SIZE, "%s%d", i > 1 ? "," : "", nodes ? starts[i].node : starts[i].step_id);
	fields_add(message, nodes ? "nodes" : "also", text);
	free(text);
}

static struct fields *launch_message(const struct agent_order *o, const struct record_key *key, bool cancelled)
{
	struct fields *message = fields_new();
	fields_add(message, "op", "launch");
	record_key_add(message, key);
	fields_add(message, "order", o->body);
	fields_add(message, "signature", o->signature);
	if (o->lacks)
		fields_add(message, "lacks", o->lacks);
	if (cancelled)
		fields_add(message, "withdrawn", "1");
	return message;
}

int agent_order_send(struct agent_launcher *l, const struct agent_order *o, const struct agent_start *starts, int count,
		     bool cancelled)
{
	struct err e;
	int messages = 0;
	for (int i = 0, some; i < count; i += some, messages++) {
		struct record_key key = agent_order_key(o, &starts[i]);
		some = count - i < ATTEMPTS_MOST ? count - i : ATTEMPTS_MOST;
		struct fields *message = o->is_launch ? launch_message(o, &key, cancelled)
						      : agent_order_control(o->kind, &key, o->args, o->body, &e);
		if (!message) {
			log_error("control message %lld is dropped: %s", (long long)o->id, e.message);
			break;
		}
		if (!o->is_launch)
			fields_add_int(message, "id", o->id);
		add_others(message, starts + i, some);
		agent_launcher_send(l, message);
		fields_free(message);
	}
	return messages;
}
