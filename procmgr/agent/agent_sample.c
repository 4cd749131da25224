/* agent_sample.c - samples the resource usage of running steps in rounds, and reports the rounds to the database.
 *
 * Called by: agent.c for accepted launches, registrations and notifications; agent_report.c for each record.
 * Invariants:
 * - One timer serves all attempts. Attempts that are due at about the same time are in one round, and rounds are reported
 *   together.
 * - A round is kept until the database has it. By its `clock`, the database recognizes a round that it already has. Of more than
 *   ROUNDS_MOST rounds, the oldest are dropped.
 * - While a user runs `rota top`, there are extra rounds: at most one a second, with at most a twentieth of a CPU, and none while
 *   other rounds wait to be reported. */
#include "procmgr/agent/agent_sample.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/agent/agent_db.h"
#include "procmgr/agent/agent_measure.h"
#include "procmgr/agent/agent_node.h"
#include "procmgr/agent/agent_plugin.h"
#include "procmgr/agent/agent_spool.h"

enum {
	ROUNDS_MOST = 240,
	ROUNDS_AT_ONCE = 20,
	SLACK_USEC = 2000000,
	AGAIN_S = 5,
	WATCH_PERIOD_USEC = 1000000,
	WATCH_USEC = 10000000,
	WATCH_COST_FACTOR = 20
};

struct agent_samples {
	const struct agent_context *context;
	struct agent_sampled *list;
	int count, capacity;
	bool asked; /* the database was asked for attempts that an earlier procmgrd launched */
	struct event *timer, *again_timer, *watch_timer;
	int64_t timer_due;			 /* time for which `timer` is set */
	int64_t watched_until, next_watch_round; /* end of the extra rounds, and earliest time of the next extra round */
	char *group;				 /* path of the node's cgroup */
	struct figures_mounts mounts;
	json_t *rounds; /* rounds that the database does not have yet */
	size_t sending; /* number of sampling rounds that the database call under way reports: the oldest ones */
	json_t *round;	/* a round that waits for the figures of `plugin` */
	struct agent_plugin *plugin;
};

static struct agent_sampled *find_attempt(const struct agent_samples *s, const struct record_key *key)
{
	for (int i = s->count - 1; i >= 0; i--)
		if (record_key_equal(&s->list[i].key, key))
			return &s->list[i];
	return NULL;
}

static void remove_attempt(struct agent_samples *s, struct agent_sampled *one)
{
	free(one->pids);
	*one = s->list[--s->count];
	if (s->count == 0)
		event_del(s->timer);
}

static struct agent_sampled *add_attempt(struct agent_samples *s, const struct agent_sampled *one)
{
	if (s->count == s->capacity) {
		s->capacity = s->capacity ? 2 * s->capacity : 64;
		s->list = xrealloc(s->list, (unsigned long)s->capacity * sizeof *s->list);
	}
	s->list[s->count] = *one;
	return &s->list[s->count++];
}

/* Set the timer for the attempt that is due first. */
static void set_timer(struct agent_samples *s)
{
	int64_t first = INT64_MAX;
	for (int i = 0; i < s->count; i++)
		if (s->list[i].running && s->list[i].due < first)
			first = s->list[i].due;
	if (first == INT64_MAX)
		return;
	s->timer_due = first;
	int64_t wait = first - clock_boot_us();
	wait = wait > 0 ? wait : 0;
	event_add(s->timer, &(struct timeval){wait / 1000000, wait % 1000000});
}

static void start_sampling(struct agent_samples *s, struct agent_sampled *one)
{
	one->running = true;
	one->due = clock_boot_us() + one->period_s * 1000000LL;
	if (one->due < s->timer_due || !event_pending(s->timer, EV_TIMEOUT, NULL))
		set_timer(s);
}

static db_answer handle_answer;

static void send_rounds(struct agent_samples *s)
{
	const struct agent_context *c = s->context;
	size_t count = json_array_size(s->rounds);
	if (s->sending > 0 || count == 0 || agent_node_count(c->nodes) == 0 || !db_is_up(c->db))
		return;
	s->sending = count < ROUNDS_AT_ONCE ? count : ROUNDS_AT_ONCE;
	json_t *rounds = json_array();
	for (size_t i = 0; i < s->sending; i++)
		json_array_append(rounds, json_array_get(s->rounds, i));
	json_t *report = json_pack("{s:I, s:I, s:o}", "node", (json_int_t)agent_node_own_id(c->nodes), "boot_us",
				   (json_int_t)c->clock->boot_us, "rounds", rounds);
	char *text = json_dumps(report, JSON_COMPACT);
	if (!text)
		die("samples cannot be written as JSON");
	const struct db_param params[] = {{text, -1}};
	db_call(c->db, API_node_sample, params, 1, handle_answer, s);
	free(text);
	json_decref(report);
}

static void handle_answer(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent_samples *s = arg;
	bool finished = result || agent_db_is_permanent(e);
	if (!result)
		log_warning("the database did not accept samples: %s", e->message);
	for (size_t i = 0; finished && i < s->sending; i++)
		json_array_remove(s->rounds, 0);
	s->sending = 0;
	if (finished)
		send_rounds(s);
	else
		event_add(s->again_timer, &(struct timeval){AGAIN_S, 0});
}

static void send_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	send_rounds(arg);
}

static void add_round(struct agent_samples *s, json_t *round)
{
	/* Rounds in the call that is under way stay, since the answer removes them by number. */
	if (json_array_size(s->rounds) >= ROUNDS_MOST)
		json_array_remove(s->rounds, s->sending);
	json_array_append_new(s->rounds, round);
	send_rounds(s);
}

static void add_figures(json_t *figures, void *arg)
{
	struct agent_samples *s = arg;
	json_t *round = s->round;
	s->plugin = NULL;
	s->round = NULL;
	if (figures)
		json_object_set_new(round, "figures", figures);
	add_round(s, round);
}

/* Finish a round. If an attempt holds devices, the round waits for the figures of the site's program. */
static void finish_round(struct agent_samples *s, const struct agent_measurement *m)
{
	const struct agent_context *c = s->context;
	json_t *round = json_pack("{s:I, s:O}", "clock", (json_int_t)m->now, "steps", m->steps);
	bool needs_figures = m->has_devices && *c->conf->node_sample_command && !s->plugin;
	if (needs_figures)
		s->plugin = agent_plugin_start(c, add_figures, s);
	if (needs_figures && s->plugin)
		s->round = round;
	else
		add_round(s, round);
}

static struct agent_measurement begin_measurement(struct agent_samples *s)
{
	return (struct agent_measurement){.group = s->group,
					  .mounts = &s->mounts,
					  .list = s->list,
					  .count = s->count,
					  .now = clock_boot_us(),
					  .steps = json_array()};
}

static void run_round(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent_samples *s = arg;
	struct agent_measurement m = begin_measurement(s);
	for (int i = s->count - 1; i >= 0; i--) {
		struct agent_sampled *one = &s->list[i];
		int64_t period = one->period_s * 1000000LL, slack = period / 4 < SLACK_USEC ? period / 4 : SLACK_USEC;
		if (!one->running || one->due > m.now + slack)
			continue;
		one->due = m.now + period;
		if (!agent_measure_step(&m, one) && !agent_spool_has(&one->key)) {
			remove_attempt(s, one);
			m.count = s->count;
		}
	}
	if (json_array_size(m.steps) > 0)
		finish_round(s, &m);
	agent_measure_end(&m);
	set_timer(s);
}

static void run_watch_round(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent_samples *s = arg;
	if (clock_boot_us() >= s->watched_until)
		return;
	struct agent_measurement m = begin_measurement(s);
	for (int i = 0; json_array_size(s->rounds) == 0 && i < s->count; i++)
		if (s->list[i].running)
			agent_measure_step(&m, &s->list[i]);
	if (json_array_size(m.steps) > 0)
		add_round(s, json_pack("{s:I, s:b, s:O}", "clock", (json_int_t)m.now, "look", 1, "steps", m.steps));
	agent_measure_end(&m);
	int64_t cost = (clock_boot_us() - m.now) * WATCH_COST_FACTOR, pause = cost > WATCH_PERIOD_USEC ? cost : WATCH_PERIOD_USEC;
	s->next_watch_round = m.now + pause;
	event_add(s->watch_timer, &(struct timeval){pause / 1000000, pause % 1000000});
}

void agent_sample_watch(struct agent_samples *s)
{
	int64_t now = clock_boot_us(), wait = s->next_watch_round > now ? s->next_watch_round - now : 0;
	s->watched_until = now + WATCH_USEC;
	if (!event_pending(s->watch_timer, EV_TIMEOUT, NULL))
		event_add(s->watch_timer, &(struct timeval){wait / 1000000, wait % 1000000});
}

struct agent_samples *agent_sample_new(const struct agent_context *c)
{
	struct agent_samples *s = xcalloc(1, sizeof *s);
	s->context = c;
	s->timer = evtimer_new(c->base, run_round, s);
	s->again_timer = evtimer_new(c->base, send_again, s);
	s->watch_timer = evtimer_new(c->base, run_watch_round, s);
	s->group = record_group(c->conf->instance_name, c->conf->node_state, c->node);
	s->rounds = json_array();
	figures_mounts_read(&s->mounts, "/proc/self/mounts");
	return s;
}

void agent_sample_free(struct agent_samples *s)
{
	if (!s)
		return;
	agent_plugin_free(s->plugin);
	while (s->count > 0)
		remove_attempt(s, &s->list[0]);
	event_free(s->timer);
	event_free(s->again_timer);
	event_free(s->watch_timer);
	free(s->list);
	free(s->group);
	figures_mounts_free(&s->mounts);
	json_decref(s->rounds);
	json_decref(s->round);
	free(s);
}

/* Does the launcher run no processes that could be sampled? */
static bool runs_nothing(const struct agent_samples *s)
{
	return s->context->conf->launcher_dry_run || s->context->conf->launcher_virtual > 0;
}

void agent_sample_expect(struct agent_samples *s, const struct agent_order *o, const struct record_key *key)
{
	if (!runs_nothing(s) && !find_attempt(s, key))
		add_attempt(s, &(struct agent_sampled){.key = *key,
						       .period_s = o->sample_s,
						       .first_task = o->first_task,
						       .tasks = o->tasks,
						       .has_devices = o->has_devices});
}

void agent_sample_record(struct agent_samples *s, const struct fields *record)
{
	struct record_key key;
	struct err e;
	const char *kind = fields_get(record, "kind");
	bool runs = kind && strcmp(kind, "run") == 0, ends = kind && (strcmp(kind, "done") == 0 || strcmp(kind, "end") == 0);
	if ((!runs && !ends) || s->count == 0 || !record_key_read(record, &key, &e))
		return;
	struct agent_sampled *one = find_attempt(s, &key);
	if (one && ends)
		remove_attempt(s, one);
	else if (one && !one->running)
		start_sampling(s, one);
}

static struct agent_sampled read_sampled(const PGresult *result, int row)
{
	return (struct agent_sampled){
		.key = {strtoll(agent_db_text(result, row, "job_id"), NULL, 10), atoi(agent_db_text(result, row, "step_id")),
			atoi(agent_db_text(result, row, "attempt")), 0},
		.period_s = atoi(agent_db_text(result, row, "sample_s")),
		.first_task = atoi(agent_db_text(result, row, "first_task")),
		.tasks = atoi(agent_db_text(result, row, "tasks")),
		.has_devices = *agent_db_text(result, row, "units") == 't',
	};
}

/* Sample the attempts that an earlier procmgrd launched and of which this procmgrd has no order. */
static void handle_sampled(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent_samples *s = arg;
	if (!result) {
		s->asked = false;
		log_warning("could not read from the database which attempts to sample: %s", e->message);
		return;
	}
	for (int i = 0; i < PQntuples(result); i++) {
		struct agent_sampled one = read_sampled(result, i);
		if (!find_attempt(s, &one.key) && agent_spool_has(&one.key))
			start_sampling(s, add_attempt(s, &one));
	}
}

void agent_sample_registered(struct agent_samples *s)
{
	const struct agent_context *c = s->context;
	if (runs_nothing(s))
		return;
	send_rounds(s);
	if (s->asked)
		return;
	s->asked = true;
	char *node = xasprintf("%lld", (long long)agent_node_own_id(c->nodes));
	const struct db_param params[] = {{node, -1}};
	db_call(c->db, API_node_sampled, params, 1, handle_sampled, s);
	free(node);
}
