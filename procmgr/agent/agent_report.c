/* agent_report.c - the journal, told to the database.
 *
 * Called by the agent when the journal changes, when a report was answered, and at each tick. One report is under way at a time;
 * what comes meanwhile goes together with the next. One about jobs that somebody is at work on is left with the database: whoever comes to
 * these jobs next settles all that was left about them, for what that costs depends little on how much it is. A record that something
 * waits for (an end frees CPUs and releases dependents) goes at once; those that only tell how far a step has come are held back a moment
 * for it (agent_hold.c), so that a short step is told of in one go. What always holds: records of an attempt go in the journal's order, and nothing waits for what is held back but other
 * records of the same attempt; what the database has not acknowledged is told again after whatever went wrong, and with it, if it must
 * be, what it has: that changes nothing, since it counts each record for the attempt that it names; one record that the database refuses
 * does not hold up the others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/agent/agent_parts.h"

enum { RECORDS_MOST = 2000, HELD_MOST = 20000, REFUSED_MOST = 3, DROP_BYTES = 256 * 1024 };
enum { AGAIN_S = 1, REMEMBER_S = 3600, BUSY_MOST = 10 };

/* How long a record may wait for others of its attempt, in microseconds. What only tells how far it has come waits longer the more is
 * under way: on a busy node steps take longer to their end, and one that is told of twice costs nearly twice as much. */
struct patience {
	const char *kind;
	int64_t usec;
	bool longer;
};

static const struct patience patiences[] = {
	{"used", 20000, true}, {"keeper", 20000, true}, {"run", 20000, true},
	{"task", 20000, true}, {"hook", 20000, true},	{"done", 4000, false},
};

static const int64_t never = INT64_MAX;

struct batch {
	struct agent *agent;
	json_t *records, *lives, *ready;
	int64_t now;
	int count; /* records taken, also those that are not told */
	int ends;
};

static bool is_kind(const struct fields *record, const char *kind)
{
	const char *its = fields_get(record, "kind");
	return its && strcmp(its, kind) == 0;
}

static void gather_one(struct batch *b, const struct fields *record)
{
	json_t *json = agent_record_json(record, agent_node_id(b->agent, record), b->now);
	if (json)
		json_array_append_new(b->records, json);
}

/* What is told in short counts as nothing: of that there may be as much as is held. */
static int gather(const struct record_key *key, struct fields *const *records, int count, void *arg)
{
	(void)key;
	struct batch *b = arg;
	int64_t node_id = agent_node_id(b->agent, records[0]);
	b->count += count;
	if (agent_record_ready(b->ready, node_id, records, count, b->now))
		return 0;
	bool whole = agent_record_life(b->lives, node_id, records, count, b->now);
	for (int i = 0; i < count; i++) {
		if (!whole)
			gather_one(b, records[i]);
		b->ends += is_kind(records[i], "end");
		agent_sample_record(b->agent, records[i]);
	}
	return count;
}

static void drop(struct agent *a)
{
	struct fields *message = fields_new();
	fields_add(message, "op", "truncate");
	fields_add_int(message, "position", a->acked_to);
	agent_launcher_send(a, message);
	fields_free(message);
	a->dropped_to = a->acked_to;
}

void agent_report_idle(struct agent *a)
{
	if (a->acked_to > a->dropped_to && !a->stop)
		drop(a);
}

void agent_report_within(struct agent *a, int64_t usec)
{
	int64_t due = clock_boot_us() + usec;
	if (due < a->report_due)
		a->report_due = due;
}

/* By how much what has begun may wait longer than on an idle node. */
static int busy(const struct agent *a)
{
	return a->under_way < 1 ? 1 : a->under_way < BUSY_MOST ? a->under_way : BUSY_MOST;
}

/* One after another, and each by itself, while the database finds fault with what it is told: then nothing is held back. */
static bool holds(const struct agent *a)
{
	return a->report_most == RECORDS_MOST;
}

/* Each record is counted once, however often it is read. */
static void count(struct agent *a, const struct fields *record)
{
	if (a->read_to < a->seen_to)
		return;
	if (is_kind(record, "used")) {
		a->under_way++;
	} else if (is_kind(record, "end")) {
		a->under_way -= a->under_way > 0;
		a->ended++;
	}
}

static int64_t due_of(const struct agent *a, const struct fields *record)
{
	const char *kind = fields_get(record, "kind");
	int64_t usec = 0;
	for (size_t i = 0; kind && holds(a) && i < sizeof patiences / sizeof *patiences; i++)
		if (strcmp(patiences[i].kind, kind) == 0)
			usec = patiences[i].usec * (patiences[i].longer ? busy(a) : 1);
	return clock_boot_us() + usec;
}

/* While it is read, a->read_to is the position of the record. */
static bool take(const struct fields *record, void *arg)
{
	struct agent *a = arg;
	struct record_key key;
	struct err e;
	if (agent_hold_count(a->hold) >= (holds(a) ? HELD_MOST : a->report_most))
		return false;
	count(a, record);
	agent_order_answered(a, record);
	if (!record_key_read(record, &key, &e))
		return true;
	agent_ahead_record(a, &key, record);
	agent_hold_add(a->hold, &key, record, a->read_to, due_of(a, record));
	return true;
}

static void read_new(struct agent *a)
{
	struct err e;
	if (!journal_read(a->journal, &a->read_to, take, a, &e))
		log_error("%s", e.message);
	a->seen_to = a->read_to > a->seen_to ? a->read_to : a->seen_to;
	if (a->standing > 0)
		agent_order_work(a);
}

/* Whether a report is due; otherwise the timer is set for when it will be. */
static bool is_due(struct agent *a)
{
	read_new(a);
	int64_t held = agent_hold_due(a->hold), due = held < a->report_due ? held : a->report_due;
	if (a->stop || due == never)
		return a->stop;
	/* Where there is much to say, it waits for what is under way; where ends come one by one, what is still to come is worth the wait of
	 * what is free only if it is more than that. What was due when the last report was made did not fit into it: that waits for nothing. */
	bool gathers =
		a->under_way > (a->report_ends > 1 ? 0 : a->ended) && a->gather_until > a->report_from && held > a->report_at;
	int64_t from = gathers ? a->gather_until : a->report_from;
	int64_t wait = (due > from ? due : from) - clock_boot_us();
	if (wait <= 0)
		return true;
	event_add(a->report_timer, &(struct timeval){wait / 1000000, wait % 1000000});
	return false;
}

/* From here on everything that is not acknowledged is to be told again. */
static void forget(struct agent *a)
{
	agent_hold_clear(a->hold);
	a->read_to = a->acked_to;
	agent_report_within(a, 0);
	agent_order_lost(a);
}

bool agent_report_refuses(const struct err *e)
{
	static const char *const classes[] = {"22", "23", "42", "P0", "RT", "XX"};
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (strncmp(e->code, classes[i], 2) == 0)
			return true;
	return false;
}

/* While a report is under way mostly nobody has to hear that the journal grows: all of it is read when that is answered. But what stands ahead
 * begins when something has ended. */
void agent_report_watch(struct agent *a)
{
	if (!a->watch)
		return;
	if (a->reporting && a->standing == 0)
		event_del(a->watch);
	else
		event_add(a->watch, NULL);
}

static void set_reporting(struct agent *a, bool reporting)
{
	a->reporting = reporting;
	agent_report_watch(a);
}

static void failed(struct agent *a, const struct err *e)
{
	log_warning("report not taken: %s", e->message);
	if (!agent_report_refuses(e) || a->report_most > 1) {
		a->report_most = agent_report_refuses(e) ? 1 : a->report_most;
	} else if (++a->report_refused >= REFUSED_MOST) {
		log_error("the record before position %lld of the journal is left out", (long long)a->read_to);
		a->acked_to = a->read_to;
		a->report_refused = 0;
	}
	forget(a);
	a->report_from = clock_boot_us() + AGAIN_S * 1000000;
	is_due(a);
}

static db_answer answered;

/* Somebody had locked the report's jobs: whoever has the lock next settles what all have left about them. */
static void settle(struct agent *a, const char *left)
{
	set_reporting(a, true);
	db_call(a->db, API_node_settle, (struct db_param[]){{left, -1}}, 1, answered, a);
}

static void answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent *a = arg;
	int64_t now = clock_boot_us(), took = now - a->report_at, most = a->conf->node_batch_ms * 1000LL;
	set_reporting(a, false);
	if (!result) {
		failed(a, e);
		return;
	}
	if (!PQgetisnull(result, 0, 1)) {
		settle(a, PQgetvalue(result, 0, 1));
		return;
	}
	/* The next one gathers for as long as this one took, and where it told of many ends for so much longer: while there is much to
	 * say, it is said in few reports. */
	int64_t gather = took * (a->report_ends > 1 ? a->report_ends : 1);
	a->gather_until = now + (gather < most ? gather : most);
	a->acked_to = agent_hold_from(a->hold, a->read_to);
	a->report_refused = 0;
	a->report_most = a->report_most * 2 < RECORDS_MOST ? a->report_most * 2 : RECORDS_MOST;
	agent_order_forget(a);
	if (a->acked_to - a->dropped_to >= DROP_BYTES)
		drop(a);
	agent_report_turn(a);
}

static void send_report(struct agent *a, const struct batch *b, json_t *done)
{
	json_t *report = json_pack("{s:O, s:O}", "records", b->records, "orders_done", done);
	if (json_array_size(b->ready) > 0)
		json_object_set(report, "ready", b->ready);
	char *text = json_dumps(report, JSON_COMPACT), *lives = json_dumps(b->lives, JSON_COMPACT);
	if (!text || !lives)
		die("a report cannot be written as JSON");
	const struct db_param params[] = {{text, -1}, {lives, -1}, {holds(a) ? "false" : "true", -1}};
	set_reporting(a, true);
	a->report_at = b->now;
	db_call(a->db, API_node_report, params, 3, answered, a);
	free(lives);
	free(text);
	json_decref(report);
}

/* Tell what is due; false where there was nothing to tell of it, and more may be due. */
static bool tell(struct agent *a)
{
	struct batch b = {a, json_array(), json_array(), json_array(), clock_boot_us(), 0, 0};
	agent_hold_take(a->hold, a->stop || !holds(a) ? never : b.now, RECORDS_MOST, gather, &b);
	a->report_due = never;
	a->report_ends = b.ends;
	a->ended = 0;
	json_t *done = agent_order_done(a);
	bool told = json_array_size(b.records) + json_array_size(b.lives) + json_array_size(b.ready) + json_array_size(done) > 0;
	if (told)
		send_report(a, &b, done);
	else
		a->acked_to = agent_hold_from(a->hold, a->read_to);
	json_decref(b.records);
	json_decref(b.lives);
	json_decref(b.ready);
	json_decref(done);
	return told || b.count == 0;
}

void agent_report_turn(struct agent *a)
{
	if (a->node_count == 0 || !a->orders_known || a->reporting)
		return;
	while (is_due(a) && !tell(a))
		continue;
	if (a->stop && !a->reporting)
		event_base_loopbreak(a->base);
}

void agent_report_lost(struct agent *a)
{
	set_reporting(a, false);
	forget(a);
}

static void due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	agent_report_turn(arg);
}

static void changed(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	struct agent *a = arg;
	char events[4096];
	while (read(fd, events, sizeof events) > 0)
		continue;
	if (a->reporting && a->standing > 0 && holds(a)) /* else nobody would know what was told */
		read_new(a);
	agent_report_turn(a);
}

/* Launches that the journal has answered already must not be handed over again. */
static bool remember(const struct fields *record, void *arg)
{
	struct agent *a = arg;
	struct record_key key;
	struct err e;
	const char *kind = fields_get(record, "kind");
	bool answer = kind && (strcmp(kind, "used") == 0 || strcmp(kind, "refused") == 0);
	int64_t now = clock_boot_us() / 1000000;
	if (answer && record_key_read(record, &key, &e))
		used_add(a->answered, &key, now + REMEMBER_S, now);
	if (kind && record_key_read(record, &key, &e))
		agent_ahead_record(a, &key, record);
	return true;
}

bool agent_report_open(struct agent *a, struct err *e)
{
	int64_t position = 0;
	a->report_most = RECORDS_MOST;
	a->answered = used_new();
	a->hold = agent_hold_new();
	agent_ahead_open(a);
	a->report_timer = evtimer_new(a->base, due, a);
	a->journal = journal_open("journal", JOURNAL_READ, e);
	if (!a->journal || !journal_read(a->journal, &position, remember, a, e))
		return false;
	a->seen_to = position; /* how much of that is still under way is not known: nothing is held back for it */
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0 || inotify_add_watch(fd, ".", IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0) {
		log_warning("the journal is looked at once a second only: %m");
		if (fd >= 0)
			close(fd);
		return true;
	}
	a->watch = event_new(a->base, fd, EV_READ | EV_PERSIST, changed, a);
	event_add(a->watch, NULL);
	return true;
}

void agent_report_close(struct agent *a)
{
	if (a->watch) {
		close(event_get_fd(a->watch));
		event_free(a->watch);
	}
	if (a->report_timer)
		event_free(a->report_timer);
	journal_close(a->journal);
	used_free(a->answered);
	agent_hold_free(a->hold);
	agent_ahead_close(a);
}
