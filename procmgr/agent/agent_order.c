/* agent_order.c - passes orders of the database to the launcher, and reports finished orders.
 *
 * Called by: agent.c at each notification and tick, agent_report.c for each record of the journal.
 * Invariants:
 * - Orders of one attempt go to the launcher in the order of their ids. Control messages go one at a time. One is done when the
 *   launcher answers that the keeper has it or that there is no keeper. Until then the database keeps the order.
 * - A launch request is sent once, while the node's lease is valid, when script, environment and credentials are in the cache.
 * - agent_order_launch.c decides for which attempts a launch request is sent. The launcher refuses an attempt that is not to start
 *   any more, so the journal answers each one. */
#include "procmgr/agent/agent_order.h"

#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/agent/agent_blob.h"
#include "procmgr/agent/agent_cache.h"
#include "procmgr/agent/agent_credential.h"
#include "procmgr/agent/agent_lease.h"
#include "procmgr/agent/agent_node.h"
#include "procmgr/agent/agent_order_fetch.h"
#include "procmgr/agent/agent_order_launch.h"
#include "procmgr/agent/agent_order_list.h"
#include "procmgr/agent/agent_order_message.h"

enum { ANSWER_USEC = 30 * 1000000, DONE_USEC = 20000 };

struct agent_orders {
	const struct agent_context *context;
	const struct agent_order_watcher *watcher;
	struct agent_order_list list;
	struct agent_order_reader reader;
	struct agent_order_fetch *fetch;
	bool has_queued;		  /* an order waits for an earlier order of the same attempt */
	int64_t newest_job, newest_order; /* highest numbers of the orders that were read */
	struct agent_order_launches *launches;
	struct agent_blobs *blobs;
	struct agent_credentials *credentials;
};

static void note_newest(struct agent_orders *os, const struct agent_order *o)
{
	int64_t order = o->ids[o->id_count - 1];
	os->newest_order = order > os->newest_order ? order : os->newest_order;
	os->newest_job = o->key.job_id > os->newest_job ? o->key.job_id : os->newest_job;
}

/* Mark an order as done. Reporting it may wait, since the order's row may stay in the database for a while. */
static void set_done(struct agent_orders *os, struct agent_order *o)
{
	o->state = AGENT_ORDER_DONE;
	os->watcher->done(DONE_USEC, os->watcher->arg);
}

/* Add the orders of a row. Returns the number of new orders. */
static int add_row(struct agent_orders *os, const PGresult *result, int row)
{
	struct agent_order one = agent_order_read_ids(result, row);
	if (agent_order_list_find(&os->list, one.id)) {
		agent_order_clear(&one);
		return 0;
	}
	struct agent_order *o = agent_order_list_insert(&os->list, &one);
	agent_order_read(os->context, o, result, row);
	agent_credential_take(os->credentials, o);
	note_newest(os, o);
	agent_order_launch_adopt(os->launches, o);
	if (!o->is_launch && strcmp(o->kind, "withdraw") == 0) {
		agent_order_launch_withdraw(os->launches, o);
		set_done(os, o);
	}
	return o->id_count;
}

static struct db_array *list_known(void *arg)
{
	struct agent_orders *os = arg;
	return agent_order_list_ids(&os->list);
}

static int take_rows(const PGresult *result, void *arg)
{
	int count = 0;
	for (int i = 0; i < PQntuples(result); i++)
		count += add_row(arg, result, i);
	return count;
}

static void handle_received(void *arg)
{
	struct agent_orders *os = arg;
	agent_order_poll(os);
	os->watcher->received(os->watcher->arg);
}

void agent_order_ask(struct agent_orders *os)
{
	agent_order_fetch_ask(os->fetch);
}

/* Is an earlier order of the attempt open? A launch request is open until it is sent, a control message until it is answered. */
static bool is_open_before(struct agent_orders *os, const struct agent_order *before, const struct record_key *key,
			   const char *kind)
{
	bool open = before->state == AGENT_ORDER_WAITING || (before->state == AGENT_ORDER_SENT && !before->is_launch);
	struct agent_start *start = open ? agent_order_find_start(before, key) : NULL;
	if (start && agent_order_is_held(before) && !start->sent && (strcmp(kind, "kill") == 0 || strcmp(kind, "end") == 0))
		agent_order_launch_cancel(os->launches, before, start);
	return start && !start->sent;
}

/* Must the control message wait? A message to several nodes waits until it can be sent to all, since the nodes start together. */
static bool has_to_wait(struct agent_orders *os, int at)
{
	const struct agent_order *o = &os->list.item[at];
	for (int i = 0; i < at; i++) {
		for (int k = 0; k < o->start_count; k++) {
			struct record_key key = agent_order_key(o, &o->starts[k]);
			if (is_open_before(os, &os->list.item[i], &key, o->kind))
				return true;
		}
	}
	return false;
}

static void poll_control(struct agent_orders *os, int at)
{
	struct agent_order *o = &os->list.item[at];
	if (has_to_wait(os, at)) {
		os->has_queued = true;
		if (agent_order_list_repeats_signal(&os->list, at))
			set_done(os, o);
		return;
	}
	agent_order_set_sent(o);
	o->unanswered = agent_order_send(os->context->launcher, o, o->starts, o->start_count, false);
	if (o->unanswered == 0) /* the control message is invalid and can never be sent */
		set_done(os, o);
}

static void poll_launch(struct agent_orders *os, struct agent_order *o, struct agent_blob_list *wanted)
{
	bool has_script = !*o->script || agent_cache_has(o->script);
	bool has_environment = !*o->environment || agent_cache_has(o->environment);
	agent_order_launch_recall(os->launches, o);
	if (o->unanswered == 0) {
		set_done(os, o);
	} else if (!agent_lease_is_valid(os->context->lease)) {
		return; /* the lease has run out, so the database may have ended the attempt */
	} else if (o->lacks || (has_script && has_environment)) {
		if (o->after.attempt > 0 || o->lacks || agent_credential_is_ready(os->credentials, o))
			agent_order_launch_send(os->launches, o);
	} else {
		if (!has_script)
			agent_blob_list_add(wanted, o->script);
		if (!has_environment)
			agent_blob_list_add(wanted, o->environment);
	}
}

/* Is the answer to an order overdue? An answer is lost if the journal or the socket had no space, and the order is sent again.
 * The launcher refuses a repeated launch request. A repeated control message changes nothing, except for a signal. */
static bool is_overdue(const struct agent_orders *os, const struct agent_order *o)
{
	return o->state == AGENT_ORDER_SENT && agent_node_count(os->context->nodes) > 0 &&
	       clock_boot_us() - o->sent_at > ANSWER_USEC;
}

static void send_again(struct agent_order *o)
{
	o->state = AGENT_ORDER_WAITING;
	for (int i = 0; i < o->start_count; i++)
		o->starts[i].sent = o->starts[i].answered;
}

void agent_order_poll(struct agent_orders *os)
{
	struct agent_blob_list wanted = {.count = 0};
	agent_order_launch_count_anew(os->launches);
	os->has_queued = false;
	for (int i = 0; i < os->list.count && !os->context->stopping; i++) {
		struct agent_order *o = &os->list.item[i];
		if (is_overdue(os, o))
			send_again(o);
		if (o->state != AGENT_ORDER_WAITING)
			continue;
		if (o->is_launch)
			poll_launch(os, o, &wanted);
		else
			poll_control(os, i);
	}
	os->watcher->polled(os->watcher->arg);
	agent_blob_fetch(os->blobs, &wanted);
}

/* Mark the launch requests whose script or environment is missing after a fetch, so that the launcher refuses them. The database
 * lacks such a file or has it with another hash, or the node's cache cannot store it. */
static void handle_fetched(const struct agent_blob_list *asked, bool has_no_space, void *arg)
{
	struct agent_orders *os = arg;
	for (int i = 0; i < os->list.count; i++) {
		struct agent_order *o = &os->list.item[i];
		if (agent_blob_list_has(asked, o->script) && !agent_cache_has(o->script))
			o->lacks = has_no_space ? "room" : "script";
		else if (agent_blob_list_has(asked, o->environment) && !agent_cache_has(o->environment))
			o->lacks = has_no_space ? "room" : "environment";
	}
	agent_order_poll(os);
}

static void handle_credentials(void *arg)
{
	agent_order_poll(arg);
}

static bool is_answer(const struct fields *record)
{
	const char *kind = fields_get(record, "kind");
	return kind && (strcmp(kind, "used") == 0 || strcmp(kind, "refused") == 0);
}

static void take_answer(struct agent_orders *os, const struct record_key *key, bool accepted)
{
	for (int i = 0; i < os->list.count; i++) {
		struct agent_order *o = &os->list.item[i];
		if (!agent_order_launch_answer(os->launches, o, key))
			continue;
		if (o->sample_s > 0 && accepted)
			os->watcher->accepted(o, key, os->watcher->arg);
		if (o->unanswered == 0)
			o->state = AGENT_ORDER_DONE;
	}
}

void agent_order_record(struct agent_orders *os, const struct fields *record)
{
	struct record_key key;
	struct err e;
	if (!record_key_read(record, &key, &e))
		return;
	agent_credential_record(os->credentials, &key, record);
	if (is_answer(record))
		take_answer(os, &key, strcmp(fields_get(record, "kind"), "used") == 0);
	agent_order_launch_record(os->launches, &key, record);
}

void agent_order_recall(struct agent_orders *os, const struct fields *record)
{
	struct record_key key;
	struct err e;
	if (record_key_read(record, &key, &e))
		agent_order_launch_record(os->launches, &key, record);
}

/* Let the next tick send the control message again, before any other order of the same attempt. */
static void delay_order(struct agent_order *o)
{
	char name[RECORD_KEY_SIZE];
	record_key_text(&o->key, name);
	if (!o->is_delay_logged)
		log_warning("control message \"%s\" for attempt %s is delayed: the keeper's socket is full", o->kind, name);
	o->is_delay_logged = true;
	o->state = AGENT_ORDER_WAITING;
}

void agent_order_answered(struct agent_orders *os, int64_t id, bool taken)
{
	struct agent_order *o = agent_order_list_find(&os->list, id);
	if (!o || o->is_launch || o->state != AGENT_ORDER_SENT)
		return;
	if (!taken) {
		delay_order(o);
	} else if (--o->unanswered == 0) {
		set_done(os, o);
		if (os->has_queued)
			agent_order_poll(os);
	}
}

void agent_order_drop_waiting(struct agent_orders *os)
{
	for (int i = 0; i < os->list.count; i++)
		if (os->list.item[i].state == AGENT_ORDER_WAITING && os->list.item[i].is_launch)
			agent_credential_drop(os->credentials, &os->list.item[i]);
	agent_order_list_remove(&os->list, AGENT_ORDER_WAITING);
	/* A call under way may answer with a control message alone, whose launch request has just been dropped. */
	agent_order_fetch_dropped(os->fetch);
}

void agent_order_newest(const struct agent_orders *os, int64_t *job, int64_t *order)
{
	*job = os->newest_job;
	*order = os->newest_order;
}

void agent_order_disconnected(struct agent_orders *os)
{
	agent_order_fetch_disconnected(os->fetch);
}

json_t *agent_order_report(struct agent_orders *os)
{
	return agent_order_list_report(&os->list);
}

void agent_order_report_failed(struct agent_orders *os)
{
	agent_order_list_report_failed(&os->list);
}

void agent_order_report_accepted(struct agent_orders *os)
{
	agent_order_list_remove(&os->list, AGENT_ORDER_REPORTED);
}

int agent_order_count(const struct agent_orders *os)
{
	return os->list.count;
}

struct agent_credentials *agent_order_credentials(const struct agent_orders *os)
{
	return os->credentials;
}

bool agent_order_has_all(const struct agent_orders *os)
{
	return agent_order_fetch_has_all(os->fetch);
}

int agent_order_waiting_count(const struct agent_orders *os)
{
	return agent_order_launch_waiting_count(os->launches);
}

struct agent_orders *agent_order_new(const struct agent_context *c, const struct agent_order_watcher *watcher)
{
	struct agent_orders *os = xcalloc(1, sizeof *os);
	os->context = c;
	os->watcher = watcher;
	os->reader = (struct agent_order_reader){list_known, take_rows, handle_received, os};
	os->fetch = agent_order_fetch_new(c, &os->reader);
	os->launches = agent_order_launch_new(c, &os->list);
	os->blobs = agent_blob_new(c, handle_fetched, os);
	os->credentials = agent_credential_new(c, handle_credentials, os);
	return os;
}

void agent_order_free(struct agent_orders *os)
{
	if (!os)
		return;
	agent_order_fetch_free(os->fetch);
	agent_order_list_clear(&os->list);
	agent_order_launch_free(os->launches);
	agent_blob_free(os->blobs);
	agent_credential_free(os->credentials);
	free(os);
}
