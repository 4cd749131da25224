/* agent_order.c - orders: asked for, kept in hand, handed to the launcher, said to be done.
 *
 * Called by the agent at each bell and tick; what launches need is fetched by agent_blob.c. What always holds: orders of one attempt are
 * handed over in the order of their numbers, and what is no launch, one at a time: it is done when the launcher says that the keeper has it,
 * or that there is none, and until then the database has it, whoever dies; a launch is handed over once, under the node's lease, when script
 * and environment lie in the cache; of elements that stand ahead no more than may run beside each other, and what had no turn in time, or is
 * to end before, not to be begun; orders in hand are those that the database may still list. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/seal.h"
#include "procmgr/agent/agent_parts.h"

enum { PAGE = 4000, NODES_MOST = 1000, ANSWER_USEC = 30 * 1000000, DONE_USEC = 20000, AHEAD_USEC = 10 * 1000000, RECALL_S = 60 };

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

struct fields *agent_order_control(const char *kind, const struct record_key *key, const char *args, struct err *e)
{
	json_error_t wrong;
	json_t *json = json_loads(args && *args ? args : "{}", 0, &wrong);
	if (!json) {
		err_set(e, "arguments of order \"%s\" are not JSON: %s", kind, wrong.text);
		return NULL;
	}
	json_t *epilog = json_object_get(json, "epilog");
	const char *cause = json_string_value(json_object_get(json, "cause"));
	struct fields *message = fields_new();
	fields_add(message, "op", "control");
	record_key_add(message, key);
	fields_add(message, "action", kind);
	fields_add_int(message, "signal", signal_number(json_object_get(json, "signal")));
	fields_add_int(message, "epilog", !epilog || json_is_true(epilog) || json_integer_value(epilog) != 0);
	fields_add(message, "cause", cause ? cause : "");
	fields_add_int(message, "limit", json_integer_value(json_object_get(json, "time_limit_s")));
	json_decref(json);
	return message;
}

/* Whom a message is for besides the first: steps, or nodes: "18,19". */
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

static struct fields *launch_message(const struct agent_order *o, const struct record_key *key, bool withdrawn)
{
	struct fields *message = fields_new();
	fields_add(message, "op", "launch");
	record_key_add(message, key);
	fields_add(message, "order", o->body);
	fields_add(message, "signature", o->signature);
	if (o->lacks)
		fields_add(message, "lacks", o->lacks);
	if (withdrawn)
		fields_add(message, "withdrawn", "1");
	return message;
}

/* The key of one of its attempts. */
static struct record_key key_of(const struct agent_order *o, const struct agent_start *start)
{
	struct record_key key = o->key;
	key.step_id = start->step_id;
	key.node = start->node;
	return key;
}

/* Hand it to the launcher for these attempts, so many in a message as fit; withdrawn: to be refused. How many messages that takes. */
static int hand_over(struct agent *a, const struct agent_order *o, const struct agent_start *starts, int all, bool withdrawn)
{
	struct err e;
	int messages = 0;
	for (int i = 0, count; i < all; i += count, messages++) {
		struct record_key key = key_of(o, &starts[i]);
		count = all - i < NODES_MOST ? all - i : NODES_MOST;
		struct fields *message =
			o->launch ? launch_message(o, &key, withdrawn) : agent_order_control(o->kind, &key, o->args, &e);
		if (!message) {
			log_error("order %lld: %s", (long long)o->id, e.message);
			break;
		}
		if (!o->launch)
			fields_add_int(message, "id", o->id);
		add_others(message, starts + i, count);
		agent_launcher_send(a, message);
		fields_free(message);
	}
	return messages;
}

/* Where the order of this number stands, or would. */
static int place_of(const struct agent *a, int64_t id)
{
	int low = 0, high = a->order_count;
	while (low < high) {
		int middle = (low + high) / 2;
		if (a->orders[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void clear(struct agent_order *o)
{
	free(o->ids);
	free(o->starts);
	free(o->body);
	free(o->signature);
	free(o->kind);
	free(o->args);
}

void agent_order_free(struct agent *a)
{
	for (int i = 0; i < a->order_count; i++)
		clear(&a->orders[i]);
	free(a->orders);
	a->orders = NULL;
	a->order_count = a->order_room = 0;
}

/* Put an order at its place. */
static struct agent_order *insert(struct agent *a, int at, const struct agent_order *o)
{
	if (a->order_count == a->order_room) {
		a->order_room = a->order_room ? 2 * a->order_room : 64;
		a->orders = xrealloc(a->orders, (unsigned long)a->order_room * sizeof *a->orders);
	}
	memmove(&a->orders[at + 1], &a->orders[at], (size_t)(a->order_count - at) * sizeof *a->orders);
	a->order_count++;
	a->orders[at] = *o;
	return &a->orders[at];
}

/* How many orders of the database the row stands for. */
static int take(struct agent *a, const PGresult *result, int row)
{
	struct agent_order one = agent_order_named(result, row);
	int at = place_of(a, one.id);
	if (at < a->order_count && a->orders[at].id == one.id) {
		free(one.ids);
		return 0;
	}
	struct agent_order *o = insert(a, at, &one);
	agent_order_read(a, o, result, row);
	return o->id_count;
}

static void orders(struct db *db, PGresult *result, const struct err *e, void *arg);

static void call(struct agent *a)
{
	struct db_array *nodes = agent_node_array(a), *known = db_array_new();
	for (int i = 0; i < a->order_count; i++)
		for (int k = 0; k < a->orders[i].id_count; k++)
			db_array_int(known, a->orders[i].ids[k]);
	char most[12];
	snprintf(most, sizeof most, "%d", PAGE);
	const struct db_param params[] = {{db_array_literal(nodes), -1}, {db_array_literal(known), -1}, {most, -1}};
	a->orders_asked = true;
	db_call(a->db, API_node_orders, params, 3, orders, a);
	db_array_free(nodes);
	db_array_free(known);
}

static void orders(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent *a = arg;
	a->orders_asked = false;
	if (!result) {
		log_warning("orders could not be read: %s", e->message);
		return;
	}
	int count = 0;
	for (int i = 0; i < PQntuples(result); i++)
		count += take(a, result, i);
	if (count >= PAGE) {
		call(a);
	} else {
		a->orders_known = true;
		if (a->orders_again)
			agent_order_ask(a);
	}
	agent_order_work(a);
	agent_report_turn(a);
}

void agent_order_ask(struct agent *a)
{
	a->orders_again = a->orders_asked;
	if (a->node_count > 0 && !a->orders_asked && !a->stop)
		call(a);
}

/* The attempt's entry in a launch; NULL: it is for others. */
static struct agent_start *start_of(const struct agent_order *o, const struct record_key *key)
{
	int low = 0, high = o->start_count;
	const struct agent_start wanted = {.step_id = key->step_id, .node = key->node};
	if (o->key.job_id != key->job_id || o->key.attempt != key->attempt)
		return NULL;
	while (low < high) {
		int middle = (low + high) / 2;
		if (agent_order_by_place(&o->starts[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < o->start_count && agent_order_by_place(&o->starts[low], &wanted) == 0 ? &o->starts[low] : NULL;
}

/* What stands ahead and is to end never begins. */
static void withdraw(struct agent *a, const struct agent_order *launch, struct agent_start *start)
{
	hand_over(a, launch, start, 1, true);
	start->handed = true;
}

/* Does something that this attempt was ordered before wait: a launch to be handed over, or anything else to be answered? */
static bool is_waiting(struct agent *a, const struct agent_order *before, const struct record_key *key, const char *kind)
{
	bool open = before->state == AGENT_ORDER_WAITS || (before->state == AGENT_ORDER_HANDED && !before->launch);
	struct agent_start *start = open ? start_of(before, key) : NULL;
	if (start && before->last > 0 && !start->handed && (strcmp(kind, "kill") == 0 || strcmp(kind, "end") == 0))
		withdraw(a, before, start);
	return start && !start->handed;
}

/* What is said to several nodes is said to all or none: they were ordered to begin together. */
static bool is_behind(struct agent *a, int at)
{
	const struct agent_order *o = &a->orders[at];
	for (int i = 0; i < at; i++) {
		for (int k = 0; k < o->start_count; k++) {
			struct record_key key = key_of(o, &o->starts[k]);
			if (is_waiting(a, &a->orders[i], &key, o->kind))
				return true;
		}
	}
	return false;
}

/* The row of an order that is done may stay a while. */
static void done(struct agent *a, struct agent_order *o)
{
	o->state = AGENT_ORDER_DONE;
	agent_report_within(a, DONE_USEC);
}

static void answered(struct agent_order *o, struct agent_start *start)
{
	o->unanswered -= !start->answered;
	start->answered = true;
}

/* What the journal had answered before we were there. */
static void recall(const struct agent *a, struct agent_order *o)
{
	for (int i = 0; i < o->start_count; i++) {
		struct record_key key = key_of(o, &o->starts[i]);
		if (used_has(a->answered, &key))
			answered(o, &o->starts[i]);
	}
}

/* All that it is for; of elements that stand ahead, those whose turn it is. */
static void begin(struct agent *a, struct agent_order *o)
{
	struct agent_start *turn = xmalloc((unsigned long)o->start_count * sizeof *turn);
	bool ahead = o->last > 0, late = ahead && clock_boot_us() - o->taken_at > AHEAD_USEC, waits = ahead && !late;
	int count = 0, left = 0, room = waits ? agent_ahead_room(a, o) : o->start_count;
	for (int i = 0; i < o->start_count; i++) {
		struct record_key key = key_of(o, &o->starts[i]);
		/* What was handed over and is not answered, when all of it is late, is either used or never will be. */
		o->starts[i].handed |= o->starts[i].answered || (waits && agent_ahead_has(a, &key));
		if (o->starts[i].handed)
			continue;
		if (count == room) {
			left++;
			continue;
		}
		if (!late)
			agent_ahead_began(a, &key);
		o->starts[i].handed = true;
		turn[count++] = o->starts[i];
	}
	hand_over(a, o, turn, count, late);
	free(turn);
	a->standing += left;
	if (left == 0) {
		o->state = AGENT_ORDER_HANDED;
		o->handed_at = clock_boot_us();
	}
}

/* A signal that waits already need not be sent twice: what its handler does comes after both. So no flood of them delays an ending. */
static bool is_repeated(const struct agent *a, int at)
{
	const struct agent_order *o = &a->orders[at];
	for (int i = 0; i < at && strcmp(o->kind, "signal") == 0; i++) {
		const struct agent_order *before = &a->orders[i];
		bool waits = before->state == AGENT_ORDER_WAITS && !before->launch;
		if (waits && record_key_equal(&before->key, &o->key) && before->start_count == o->start_count &&
		    strcmp(before->kind, o->kind) == 0 && strcmp(before->args, o->args) == 0)
			return true;
	}
	return false;
}

static void work_control(struct agent *a, int at)
{
	struct agent_order *o = &a->orders[at];
	if (is_behind(a, at)) {
		a->queued = true;
		if (is_repeated(a, at))
			done(a, o);
		return;
	}
	o->state = AGENT_ORDER_HANDED;
	o->handed_at = clock_boot_us();
	o->unanswered = hand_over(a, o, o->starts, o->start_count, false);
	if (o->unanswered == 0) /* it cannot be said */
		done(a, o);
}

static void work_launch(struct agent *a, struct agent_order *o, struct agent_blobs *wanted)
{
	bool script = !*o->script || agent_cache_has(o->script),
	     environment = !*o->environment || agent_cache_has(o->environment);
	recall(a, o);
	if (o->unanswered == 0) {
		done(a, o);
	} else if (!agent_lease_has(a)) {
		return; /* it may have been given up */
	} else if (o->lacks || (script && environment)) {
		begin(a, o);
	} else {
		if (!script)
			agent_blob_want(wanted, o->script);
		if (!environment)
			agent_blob_want(wanted, o->environment);
	}
}

/* An answer that found no room in the journal, or in our socket, never comes: handed over again, a launch is refused again, or as used
 * before; what is said twice to a keeper changes nothing, but for signals. */
static bool is_unanswered(const struct agent *a, const struct agent_order *o)
{
	return o->state == AGENT_ORDER_HANDED && a->node_count > 0 && clock_boot_us() - o->handed_at > ANSWER_USEC;
}

static void again(struct agent_order *o)
{
	o->state = AGENT_ORDER_WAITS;
	for (int i = 0; i < o->start_count; i++)
		o->starts[i].handed = o->starts[i].answered;
}

void agent_order_work(struct agent *a)
{
	struct agent_blobs wanted = {.agent = a, .count = 0};
	a->standing = 0;
	a->queued = false;
	for (int i = 0; i < a->order_count && !a->stop; i++) {
		struct agent_order *o = &a->orders[i];
		if (is_unanswered(a, o))
			again(o);
		if (o->state != AGENT_ORDER_WAITS)
			continue;
		if (o->launch)
			work_launch(a, o, &wanted);
		else
			work_control(a, i);
	}
	agent_report_watch(a);
	agent_blob_ask(a, &wanted);
}

void agent_order_answered(struct agent *a, const struct fields *record)
{
	struct record_key key;
	struct err e;
	const char *kind = fields_get(record, "kind");
	if (!kind || (strcmp(kind, "used") != 0 && strcmp(kind, "refused") != 0) || !record_key_read(record, &key, &e))
		return;
	int64_t now = clock_boot_us() / 1000000;
	for (int i = 0; i < a->order_count; i++) {
		struct agent_order *o = &a->orders[i];
		bool handed = o->launch && (o->state == AGENT_ORDER_HANDED || (o->state == AGENT_ORDER_WAITS && o->last > 0));
		struct agent_start *start = handed ? start_of(o, &key) : NULL;
		if (start)
			answered(o, start);
		if (start && o->state == AGENT_ORDER_WAITS) /* it may be dropped before all of it was handed over, and be listed again */
			used_add(a->answered, &key, now + RECALL_S, now);
		if (start && o->sample_s > 0 && strcmp(kind, "used") == 0)
			agent_sample_expect(a, o, &key);
		if (start && o->unanswered == 0)
			o->state = AGENT_ORDER_DONE;
	}
}

/* What its keeper could not take is handed over again with the next tick, before anything else that is for the same attempt. */
static void hold_up(struct agent_order *o)
{
	char name[RECORD_KEY_SIZE];
	record_key_text(&o->key, name);
	if (!o->held_up)
		log_warning("%s for %s waits: its keeper does not read what it is sent", o->kind, name);
	o->held_up = true;
	o->state = AGENT_ORDER_WAITS;
}

void agent_order_taken(struct agent *a, int64_t id, bool taken)
{
	int at = place_of(a, id);
	struct agent_order *o = at < a->order_count && a->orders[at].id == id ? &a->orders[at] : NULL;
	if (!o || o->launch || o->state != AGENT_ORDER_HANDED)
		return;
	if (!taken) {
		hold_up(o);
	} else if (--o->unanswered == 0) {
		done(a, o);
		if (a->queued)
			agent_order_work(a);
	}
}

void agent_order_lost(struct agent *a)
{
	for (int i = 0; i < a->order_count; i++)
		if (a->orders[i].state == AGENT_ORDER_SAID)
			a->orders[i].state = AGENT_ORDER_DONE;
}

/* Of the orders in hand, leave out those in a state. */
static void leave_out(struct agent *a, enum agent_order_state state)
{
	int kept = 0;
	for (int i = 0; i < a->order_count; i++) {
		if (a->orders[i].state == state)
			clear(&a->orders[i]);
		else
			a->orders[kept++] = a->orders[i];
	}
	a->order_count = kept;
}

void agent_order_drop(struct agent *a)
{
	leave_out(a, AGENT_ORDER_WAITS);
}

void agent_order_forget(struct agent *a)
{
	leave_out(a, AGENT_ORDER_SAID);
}

json_t *agent_order_done(struct agent *a)
{
	json_t *ids = json_array();
	for (int i = 0; i < a->order_count; i++) {
		if (a->orders[i].state != AGENT_ORDER_DONE)
			continue;
		for (int k = 0; k < a->orders[i].id_count; k++)
			json_array_append_new(ids, json_integer(a->orders[i].ids[k]));
		a->orders[i].state = AGENT_ORDER_SAID;
	}
	return ids;
}
