/* agent_report.c - reports the records of the journal to the database.
 *
 * Called by: agent.c at each tick, and events of this file: the journal grows, the database answers a report, a delay is over.
 * Invariants:
 * - One report is under way at a time. Records that come meanwhile are in the next report.
 * - Records of an attempt are reported in the journal's order. A record that other steps wait for, such as an end that frees
 *   CPUs, is reported at once, with the buffered records of its attempt. Only records of other kinds are delayed.
 * - Records that the database has not acknowledged are reported again. A record that the database gets twice changes nothing.
 * - A single record that the database rejects does not stop the others: after three tries that record is left out. */
#include "procmgr/agent/agent_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/journal.h"
#include "lib/log.h"
#include "procmgr/agent/agent_buffer.h"
#include "procmgr/agent/agent_db.h"
#include "procmgr/agent/agent_keep.h"
#include "procmgr/agent/agent_launcher.h"
#include "procmgr/agent/agent_node.h"
#include "procmgr/agent/agent_record.h"

enum { RECORDS_MOST = 2000, BUFFERED_MOST = 20000, REJECTED_MOST = 3, TRUNCATE_BYTES = 256 * 1024 };
enum { AGAIN_S = 1, LOAD_MOST = 10 };

/* How long a record may wait for later records of its attempt. A progress record waits longer the more attempts are under way:
 * on a busy node steps take longer to end, and a step that takes two reports costs the database nearly twice as much. */
struct batch_delay {
	const char *kind;
	int64_t usec;
	bool grows_with_load;
};

static const struct batch_delay batch_delays[] = {
	{"used", 20000, true}, {"keeper", 20000, true}, {"run", 20000, true},
	{"task", 20000, true}, {"hook", 20000, true},	{"done", 4000, false},
};

static const int64_t never = INT64_MAX;

struct agent_report {
	const struct agent_context *context;
	struct agent_orders *orders;
	struct agent_samples *samples;
	struct agent_energy *energy;
	struct journal *journal;
	struct event *watch, *timer; /* `watch` is NULL if inotify does not watch the journal */
	struct agent_buffer *buffer;
	int64_t read_to;      /* every earlier journal record is in the buffer, or in a report that was sent */
	int64_t acked_to;     /* every earlier journal record is in the database */
	int64_t truncated_to; /* the launcher was asked to drop every earlier journal record */
	int64_t found_to; /* earlier journal records were there when procmgrd started, and may have been reported to another server */
	int64_t registered_us, registered_server_us; /* when the nodes were registered, by clock_boot_us() and by the database */
	struct agent_keep keep;
	int64_t passed_to;  /* every earlier journal record was passed to agent_order.c; may be beyond read_to */
	int64_t counted_to; /* every earlier journal record is counted in `under_way` and `ended` */
	int under_way;	    /* number of attempts that have started since procmgrd started, and have not ended */
	int ended;	    /* number of attempts that have ended since the last report was made */

	bool is_reporting; /* a report to the database is under way */
	/* Most records in a report: RECORDS_MOST, or 1 after the database rejected a report. Each accepted report doubles the
	 * number. */
	int most;
	int rejected;	       /* times in a row that the database rejected a single record */
	int64_t due;	       /* when a report has to be sent even without records; `never`: it need not */
	int64_t not_before;    /* earliest time of the next report, after an error */
	int64_t collect_until; /* no report before that time while attempts are under way */
	/* When the last report was made. Unless that report was full, it has all records that were due at that time. */
	int64_t made_at;
	int64_t sent_at; /* when the database call under way was sent: a report, or the application of deferred reports */
	int ends;	 /* number of `end` records in the last report */
};

/* A report to the database that is being made. */
struct batch {
	struct agent_report *report;
	json_t *records, *coalesced, *ready;
	int64_t now;
	int count; /* records taken from the buffer, also those that are not sent to the database */
	int ends;
};

static bool is_kind(const struct fields *record, const char *kind)
{
	const char *its = fields_get(record, "kind");
	return its && strcmp(its, kind) == 0;
}

static void add_record(struct batch *b, const struct fields *record)
{
	json_t *json = agent_record_json(record, agent_node_id(b->report->context->nodes, record));
	if (json)
		json_array_append_new(b->records, json);
}

/* Add the records of an attempt to the report. An attempt that is only ready does not count towards the limit of records. */
static int add_attempt(const struct record_key *key, struct fields *const *records, int count, void *arg)
{
	(void)key;
	struct batch *b = arg;
	int64_t node_id = agent_node_id(b->report->context->nodes, records[0]);
	b->count += count;
	if (agent_record_add_ready(b->ready, node_id, records, count))
		return 0;
	for (int i = 0; i < count; i++)
		agent_energy_add(b->report->energy, records[i]);
	bool coalesced = agent_record_add_coalesced(b->coalesced, node_id, records, count);
	for (int i = 0; i < count; i++) {
		if (!coalesced)
			add_record(b, records[i]);
		b->ends += is_kind(records[i], "end");
		agent_sample_record(b->report->samples, records[i]);
	}
	return count;
}

/* Have the launcher drop the acknowledged records that are kept no longer, if they take at least `bytes` bytes. */
static void truncate_from(struct agent_report *r, int64_t bytes)
{
	int64_t position = agent_keep_until(&r->keep, r->acked_to, clock_boot_us());
	if (position - r->truncated_to < bytes || r->context->stopping)
		return;
	struct fields *message = fields_new();
	fields_add(message, "op", "truncate");
	fields_add_int(message, "position", position);
	agent_launcher_send(r->context->launcher, message);
	fields_free(message);
	r->truncated_to = position;
}

void agent_report_truncate(struct agent_report *r)
{
	truncate_from(r, 1);
}

void agent_report_within(struct agent_report *r, int64_t usec)
{
	int64_t due = clock_boot_us() + usec;
	if (due < r->due)
		r->due = due;
}

/* Returns the factor by which a progress record may wait longer than on an idle node. */
static int load_factor(const struct agent_report *r)
{
	return r->under_way < 1 ? 1 : r->under_way < LOAD_MOST ? r->under_way : LOAD_MOST;
}

/* May a report have several records? After a rejected report, records are sent one by one and without delay. */
static bool is_batching(const struct agent_report *r)
{
	return r->most == RECORDS_MOST;
}

/* Count an attempt that starts or ends. Each journal record counts once, however often it is read. */
static void count_record(struct agent_report *r, const struct fields *record)
{
	if (r->read_to < r->counted_to)
		return;
	if (is_kind(record, "used")) {
		r->under_way++;
	} else if (is_kind(record, "end")) {
		r->under_way -= r->under_way > 0;
		r->ended++;
	}
}

static int64_t record_due(const struct agent_report *r, const struct fields *record)
{
	const char *kind = fields_get(record, "kind");
	int64_t usec = 0;
	for (size_t i = 0; kind && is_batching(r) && i < sizeof batch_delays / sizeof *batch_delays; i++)
		if (strcmp(batch_delays[i].kind, kind) == 0)
			usec = batch_delays[i].usec * (batch_delays[i].grows_with_load ? load_factor(r) : 1);
	return clock_boot_us() + usec;
}

/* Add a journal record to the buffer. During this callback of journal_read, r->read_to is the position of the record. */
static bool buffer_record(const struct fields *record, void *arg)
{
	struct agent_report *r = arg;
	struct record_key key;
	struct err e;
	if (agent_buffer_count(r->buffer) >= (is_batching(r) ? BUFFERED_MOST : r->most))
		return false;
	count_record(r, record);
	agent_order_record(r->orders, record);
	if (record_key_read(record, &key, &e))
		agent_buffer_add(r->buffer, &key, record, r->read_to, record_due(r, record));
	return true;
}

static bool pass_record(const struct fields *record, void *arg)
{
	struct agent_report *r = arg;
	agent_order_record(r->orders, record);
	return true;
}

/* Start pre-dispatched elements in place of attempts whose records cannot be buffered: the database is away, or has not answered
 * for long. The records are passed on once more when they are buffered, which changes nothing. */
static void pass_records(struct agent_report *r)
{
	struct err e;
	if (agent_order_waiting_count(r->orders) == 0)
		return;
	r->passed_to = r->passed_to > r->read_to ? r->passed_to : r->read_to;
	if (!journal_read(r->journal, &r->passed_to, pass_record, r, &e))
		log_error("%s", e.message);
	agent_order_poll(r->orders);
}

static void read_journal(struct agent_report *r)
{
	struct err e;
	if (!journal_read(r->journal, &r->read_to, buffer_record, r, &e))
		log_error("%s", e.message);
	r->counted_to = r->read_to > r->counted_to ? r->read_to : r->counted_to;
	if (agent_buffer_count(r->buffer) >= BUFFERED_MOST)
		pass_records(r);
	else if (agent_order_waiting_count(r->orders) > 0)
		agent_order_poll(r->orders);
}

/* Is a report due? If not, set the timer to the time when the next report is due. */
static bool is_due(struct agent_report *r)
{
	read_journal(r);
	int64_t buffered = agent_buffer_due(r->buffer), due = buffered < r->due ? buffered : r->due;
	if (r->context->stopping || due == never)
		return r->context->stopping;
	/* If reports have many ends, wait for attempts that are under way. If ends come one by one, wait only if more attempts
	 * are under way than have ended. A record that did not fit into the last report does not wait again. */
	bool collects = r->under_way > (r->ends > 1 ? 0 : r->ended) && r->collect_until > r->not_before && buffered > r->made_at;
	int64_t from = collects ? r->collect_until : r->not_before;
	int64_t wait = (due > from ? due : from) - clock_boot_us();
	if (wait <= 0)
		return true;
	event_add(r->timer, &(struct timeval){wait / 1000000, wait % 1000000});
	return false;
}

/* Report all records again that the database has not acknowledged. */
static void start_over(struct agent_report *r)
{
	agent_buffer_clear(r->buffer);
	r->read_to = r->acked_to;
	agent_report_within(r, 0);
	agent_order_report_failed(r->orders);
}

/* While a report is under way, the journal is watched only for pre-dispatched elements, which start when an attempt ends. All
 * other records are read when the database answers the report. */
void agent_report_watch(struct agent_report *r)
{
	if (!r->watch)
		return;
	if (r->is_reporting && agent_order_waiting_count(r->orders) == 0)
		event_del(r->watch);
	else
		event_add(r->watch, NULL);
}

static void set_reporting(struct agent_report *r, bool is_reporting)
{
	r->is_reporting = is_reporting;
	agent_report_watch(r);
}

static void handle_failure(struct agent_report *r, const struct err *e)
{
	bool permanent = agent_db_is_permanent(e);
	log_warning("the database did not accept a report: %s", e->message);
	if (permanent && r->most > 1) {
		r->most = 1;
	} else if (permanent && ++r->rejected >= REJECTED_MOST) {
		log_error("left out the record before position %lld of the journal: the "
			  "database rejected it %d times",
			  (long long)r->read_to, REJECTED_MOST);
		r->acked_to = r->read_to;
		r->rejected = 0;
	}
	start_over(r);
	r->not_before = clock_boot_us() + AGAIN_S * 1000000;
	is_due(r);
}

static db_answer handle_answer;

/* Apply all deferred reports about the jobs of the last report. The database only stored that report, because the jobs were
 * locked. */
static void apply_deferred(struct agent_report *r, const char *jobs)
{
	set_reporting(r, true);
	r->sent_at = clock_boot_us();
	db_call(r->context->db, API_node_apply, (struct db_param[]){{jobs, -1}}, 1, handle_answer, r);
}

static void handle_answer(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent_report *r = arg;
	int64_t now = clock_boot_us(), took = now - r->made_at, most = r->context->conf->node_batch_ms * 1000LL;
	set_reporting(r, false);
	if (!result) {
		handle_failure(r, e);
		return;
	}
	agent_clock_compare(r->context->clock, r->sent_at, now, strtoll(agent_db_text(result, 0, "server_us"), NULL, 10));
	if (!PQgetisnull(result, 0, 1)) {
		apply_deferred(r, PQgetvalue(result, 0, 1));
		return;
	}
	/* Collect records for the next report for as long as this report took, times the number of its ends. Under load, few
	 * large reports are cheaper than many small ones. */
	int64_t collect = took * (r->ends > 1 ? r->ends : 1);
	r->collect_until = now + (collect < most ? collect : most);
	r->acked_to = agent_buffer_first_position(r->buffer, r->read_to);
	r->rejected = 0;
	r->most = r->most * 2 < RECORDS_MOST ? r->most * 2 : RECORDS_MOST;
	agent_order_report_accepted(r->orders);
	truncate_from(r, TRUNCATE_BYTES);
	agent_report_poll(r);
}

static void send_report(struct agent_report *r, const struct batch *b, json_t *done)
{
	json_t *report = json_pack("{s:I, s:O, s:O}", "boot_us", (json_int_t)r->context->clock->boot_us, "records", b->records,
				   "orders_done", done);
	if (json_array_size(b->ready) > 0)
		json_object_set(report, "ready", b->ready);
	if (r->acked_to < r->found_to)
		json_object_set_new(report, "registered",
				    json_pack("{s:I, s:I}", "us", (json_int_t)r->registered_us, "server_us",
					      (json_int_t)r->registered_server_us));
	char *text = json_dumps(report, JSON_COMPACT), *coalesced = json_dumps(b->coalesced, JSON_COMPACT);
	if (!text || !coalesced)
		die("a report cannot be written as JSON");
	const struct db_param params[] = {{text, -1}, {coalesced, -1}, {is_batching(r) ? "false" : "true", -1}};
	set_reporting(r, true);
	r->made_at = r->sent_at = b->now;
	db_call(r->context->db, API_node_report, params, 3, handle_answer, r);
	free(coalesced);
	free(text);
	json_decref(report);
}

/* Report the records that are due. Returns false if none of the records taken was for the database, and more may be due. */
static bool make_report(struct agent_report *r)
{
	struct batch b = {r, json_array(), json_array(), json_array(), clock_boot_us(), 0, 0};
	agent_buffer_take(r->buffer, r->context->stopping || !is_batching(r) ? never : b.now, RECORDS_MOST, add_attempt, &b);
	r->due = never;
	r->ends = b.ends;
	r->ended = 0;
	json_t *done = agent_order_report(r->orders);
	bool any =
		json_array_size(b.records) + json_array_size(b.coalesced) + json_array_size(b.ready) + json_array_size(done) > 0;
	if (any)
		send_report(r, &b, done);
	else
		r->acked_to = agent_buffer_first_position(r->buffer, r->read_to);
	json_decref(b.records);
	json_decref(b.coalesced);
	json_decref(b.ready);
	json_decref(done);
	return any || b.count == 0;
}

void agent_report_poll(struct agent_report *r)
{
	bool is_away = agent_node_count(r->context->nodes) == 0 || !agent_order_has_all(r->orders);
	if (is_away)
		pass_records(r);
	if (is_away || r->is_reporting)
		return;
	while (is_due(r) && !make_report(r))
		continue;
	if (r->context->stopping && !r->is_reporting)
		event_base_loopbreak(r->context->base);
}

void agent_report_finish(struct agent_report *r)
{
	event_del(r->timer);
	agent_report_poll(r);
}

void agent_report_registered(struct agent_report *r, int64_t sent_us, int64_t server_us)
{
	r->registered_us = sent_us;
	r->registered_server_us = server_us;
}

void agent_report_disconnected(struct agent_report *r)
{
	set_reporting(r, false);
	start_over(r);
}

bool agent_report_is_idle(const struct agent_report *r)
{
	return r->watch && !r->is_reporting;
}

static void handle_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	agent_report_poll(arg);
}

static void handle_growth(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	struct agent_report *r = arg;
	char events[4096];
	while (read(fd, events, sizeof events) > 0)
		continue;
	/* Do not buffer records while they are sent one by one: read_to then marks the record that the database rejected. */
	if (r->is_reporting && agent_order_waiting_count(r->orders) > 0 && is_batching(r))
		read_journal(r);
	agent_report_poll(r);
}

static bool recall_record(const struct fields *record, void *arg)
{
	struct agent_report *r = arg;
	if (fields_get(record, "kind"))
		agent_order_recall(r->orders, record);
	return true;
}

static void watch_journal(struct agent_report *r)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0 || inotify_add_watch(fd, ".", IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0) {
		log_warning("could not watch the journal, so it is read once a second: %m");
		if (fd >= 0)
			close(fd);
		return;
	}
	r->watch = event_new(r->context->base, fd, EV_READ | EV_PERSIST, handle_growth, r);
	event_add(r->watch, NULL);
}

struct agent_report *agent_report_new(const struct agent_context *c, struct agent_orders *orders, struct agent_samples *samples,
				      struct agent_energy *energy)
{
	struct agent_report *r = xcalloc(1, sizeof *r);
	r->context = c;
	r->orders = orders;
	r->samples = samples;
	r->energy = energy;
	r->most = RECORDS_MOST;
	r->keep = agent_keep_in(c->conf->node_journal_mb);
	r->buffer = agent_buffer_new();
	r->timer = evtimer_new(c->base, handle_timer, r);
	return r;
}

bool agent_report_open(struct agent_report *r, struct err *e)
{
	int64_t position = 0;
	r->journal = journal_open("journal", JOURNAL_READ, e);
	if (!r->journal || !journal_read(r->journal, &position, recall_record, r, e))
		return false;
	/* at the start it is not known which attempts are under way, so no report waits for their ends */
	r->counted_to = r->found_to = position;
	watch_journal(r);
	return true;
}

void agent_report_free(struct agent_report *r)
{
	if (!r)
		return;
	if (r->watch) {
		close(event_get_fd(r->watch));
		event_free(r->watch);
	}
	event_free(r->timer);
	journal_close(r->journal);
	agent_buffer_free(r->buffer);
	free(r);
}

bool agent_report_each_unacknowledged(const struct agent_report *r, bool (*each)(const struct fields *record, void *arg),
				      void *arg, struct err *e)
{
	int64_t position = r->acked_to;
	return journal_read(r->journal, &position, each, arg, e);
}
