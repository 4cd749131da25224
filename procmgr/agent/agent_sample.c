/* agent_sample.c - what running steps use, looked at now and then and told to the database.
 *
 * Called by the agent's orders (which steps, and how often), its report (what runs, what is over) and its registration (what ran before we
 * did). What always holds: one timer serves all steps, and is set only while one runs that is to be sampled; steps that are due at about
 * the same time are looked at together and told of together, in one call; a round is kept until the database has it, and its clock tells
 * the database whether it has it already; of several rounds the oldest go first where there are too many. While somebody looks (`rota top`),
 * there are rounds of all that is sampled besides: one a second at the most, which take a twentieth of a processor at the most, and none
 * while others wait to be told. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/agent/agent_look.h"
#include "procmgr/agent/agent_parts.h"

enum {
	ROUNDS_MOST = 240,
	ROUNDS_AT_ONCE = 20,
	SLACK_USEC = 2000000,
	AGAIN_S = 5,
	LOOK_USEC = 1000000,
	LOOKS_USEC = 10000000,
	LOOK_SHARE = 20
};

struct agent_samples {
	struct look_step *list;
	int count, room;
	bool asked; /* what had been started before us */
	struct event *timer, *again;
	int64_t wakes_at; /* what the timer was set for */
	struct event *look;
	int64_t looked_until, next_look; /* somebody looks; not before */
	char *group;			 /* the node's control group */
	struct figures_mounts mounts;
	json_t *rounds;	 /* not in the database yet */
	size_t sending;	 /* so many of them are on their way */
	json_t *waiting; /* for the site's program */
	struct agent_plugin *plugin;
};

static struct look_step *find(const struct agent_samples *s, const struct record_key *key)
{
	for (int i = s->count - 1; i >= 0; i--)
		if (record_key_equal(&s->list[i].key, key))
			return &s->list[i];
	return NULL;
}

static void drop(struct agent_samples *s, struct look_step *one)
{
	free(one->pids);
	*one = s->list[--s->count];
	if (s->count == 0)
		event_del(s->timer);
}

static struct look_step *add(struct agent_samples *s, const struct record_key *key, int period_s, int first_task, int tasks,
			     bool units)
{
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->list = xrealloc(s->list, (unsigned long)s->room * sizeof *s->list);
	}
	s->list[s->count] =
		(struct look_step){.key = *key, .period_s = period_s, .first_task = first_task, .tasks = tasks, .units = units};
	return &s->list[s->count++];
}

/* Set the timer for whoever is due first. */
static void set_timer(struct agent_samples *s)
{
	int64_t first = INT64_MAX;
	for (int i = 0; i < s->count; i++)
		if (s->list[i].running && s->list[i].due < first)
			first = s->list[i].due;
	if (first == INT64_MAX)
		return;
	s->wakes_at = first;
	int64_t wait = first - clock_boot_us();
	wait = wait > 0 ? wait : 0;
	event_add(s->timer, &(struct timeval){wait / 1000000, wait % 1000000});
}

/* A timer that is set stays, but where this one is due before whoever it is set for. */
static void begin(struct agent_samples *s, struct look_step *one)
{
	one->running = true;
	one->due = clock_boot_us() + one->period_s * 1000000LL;
	if (one->due < s->wakes_at || !event_pending(s->timer, EV_TIMEOUT, NULL))
		set_timer(s);
}

static bool has_folder(const struct look_step *one)
{
	char key[RECORD_KEY_SIZE];
	record_key_text(&one->key, key);
	char *path = xasprintf("spool/%s", key);
	bool there = access(path, F_OK) == 0;
	free(path);
	return there;
}

static void told(struct db *db, PGresult *result, const struct err *e, void *arg);

static void send_rounds(struct agent *a)
{
	struct agent_samples *s = a->samples;
	size_t count = json_array_size(s->rounds);
	if (s->sending > 0 || count == 0 || a->node_count == 0 || !db_is_up(a->db))
		return;
	s->sending = count < ROUNDS_AT_ONCE ? count : ROUNDS_AT_ONCE;
	json_t *rounds = json_array();
	for (size_t i = 0; i < s->sending; i++) {
		json_t *round = json_copy(json_array_get(s->rounds, i));
		json_object_set_new(round, "age_us",
				    json_integer(clock_boot_us() - json_integer_value(json_object_get(round, "clock"))));
		json_array_append_new(rounds, round);
	}
	json_t *report = json_pack("{s:I, s:o}", "node", (json_int_t)a->node_ids[0], "rounds", rounds);
	char *text = json_dumps(report, JSON_COMPACT);
	if (!text)
		die("samples cannot be written as JSON");
	const struct db_param params[] = {{text, -1}};
	db_call(a->db, API_node_sample, params, 1, told, a);
	free(text);
	json_decref(report);
}

static void told(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent *a = arg;
	struct agent_samples *s = a->samples;
	bool over = result || agent_report_refuses(e);
	if (!result)
		log_warning("samples not taken: %s", e->message);
	for (size_t i = 0; over && i < s->sending; i++)
		json_array_remove(s->rounds, 0);
	s->sending = 0;
	if (over)
		send_rounds(a);
	else
		event_add(s->again, &(struct timeval){AGAIN_S, 0});
}

static void again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	send_rounds(arg);
}

static void put_round(struct agent *a, json_t *round)
{
	struct agent_samples *s = a->samples;
	if (json_array_size(s->rounds) >= ROUNDS_MOST)
		json_array_remove(s->rounds, s->sending); /* what is on its way is counted from the front */
	json_array_append_new(s->rounds, round);
	send_rounds(a);
}

static void figures_came(json_t *figures, void *arg)
{
	struct agent *a = arg;
	json_t *round = a->samples->waiting;
	a->samples->plugin = NULL;
	a->samples->waiting = NULL;
	if (figures)
		json_object_set_new(round, "figures", figures);
	put_round(a, round);
}

static void tell(struct agent *a, struct look *l)
{
	struct agent_samples *s = a->samples;
	json_t *round = json_pack("{s:I, s:O}", "clock", (json_int_t)l->now, "steps", l->steps);
	if (l->units && *a->conf->node_sample_command && !s->plugin)
		s->plugin = agent_plugin_start(a, figures_came, a);
	else
		l->units = false;
	if (l->units && s->plugin)
		s->waiting = round;
	else
		put_round(a, round);
}

static struct look look_begin(struct agent_samples *s)
{
	return (struct look){.group = s->group,
			     .mounts = &s->mounts,
			     .list = s->list,
			     .count = s->count,
			     .now = clock_boot_us(),
			     .steps = json_array()};
}

static void tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent *a = arg;
	struct agent_samples *s = a->samples;
	struct look l = look_begin(s);
	for (int i = s->count - 1; i >= 0; i--) {
		struct look_step *one = &s->list[i];
		int64_t period = one->period_s * 1000000LL, slack = period / 4 < SLACK_USEC ? period / 4 : SLACK_USEC;
		if (!one->running || one->due > l.now + slack)
			continue;
		one->due = l.now + period;
		if (!agent_look_at(&l, one) && !has_folder(one)) {
			drop(s, one);
			l.count = s->count;
		}
	}
	if (json_array_size(l.steps) > 0)
		tell(a, &l);
	agent_look_end(&l);
	set_timer(s);
}

/* A round for whoever looks. */
static void look_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent *a = arg;
	struct agent_samples *s = a->samples;
	if (clock_boot_us() >= s->looked_until)
		return;
	struct look l = look_begin(s);
	for (int i = 0; json_array_size(s->rounds) == 0 && i < s->count; i++)
		if (s->list[i].running)
			agent_look_at(&l, &s->list[i]);
	if (json_array_size(l.steps) > 0)
		put_round(a, json_pack("{s:I, s:b, s:O}", "clock", (json_int_t)l.now, "look", 1, "steps", l.steps));
	agent_look_end(&l);
	int64_t took = clock_boot_us() - l.now, rest = took * LOOK_SHARE > LOOK_USEC ? took * LOOK_SHARE : LOOK_USEC;
	s->next_look = l.now + rest;
	event_add(s->look, &(struct timeval){rest / 1000000, rest % 1000000});
}

void agent_sample_looked(struct agent *a)
{
	struct agent_samples *s = a->samples;
	int64_t now = clock_boot_us(), wait = s->next_look > now ? s->next_look - now : 0;
	s->looked_until = now + LOOKS_USEC;
	if (!event_pending(s->look, EV_TIMEOUT, NULL))
		event_add(s->look, &(struct timeval){wait / 1000000, wait % 1000000});
}

void agent_sample_open(struct agent *a)
{
	struct agent_samples *s = a->samples = xcalloc(1, sizeof *s);
	s->timer = evtimer_new(a->base, tick, a);
	s->again = evtimer_new(a->base, again, a);
	s->look = evtimer_new(a->base, look_tick, a);
	s->group = record_group(a->conf->instance_name, a->conf->node_state, a->node);
	s->rounds = json_array();
	figures_mounts_read(&s->mounts, "/proc/self/mounts");
}

void agent_sample_close(struct agent *a)
{
	struct agent_samples *s = a->samples;
	if (!s)
		return;
	agent_plugin_free(s->plugin);
	event_free(s->timer);
	event_free(s->again);
	event_free(s->look);
	while (s->count > 0)
		drop(s, &s->list[0]);
	free(s->list);
	free(s->group);
	figures_mounts_free(&s->mounts);
	json_decref(s->rounds);
	json_decref(s->waiting);
	free(s);
	a->samples = NULL;
}

void agent_sample_expect(struct agent *a, const struct agent_order *o, const struct record_key *key)
{
	if (!a->conf->launcher_dry_run && a->conf->launcher_virtual == 0 && !find(a->samples, key))
		add(a->samples, key, o->sample_s, o->first_task, o->tasks, o->units);
}

void agent_sample_record(struct agent *a, const struct fields *record)
{
	struct record_key key;
	struct err e;
	const char *kind = fields_get(record, "kind");
	bool runs = kind && strcmp(kind, "run") == 0, over = kind && (strcmp(kind, "done") == 0 || strcmp(kind, "end") == 0);
	if ((!runs && !over) || a->samples->count == 0 || !record_key_read(record, &key, &e))
		return;
	struct look_step *one = find(a->samples, &key);
	if (one && over)
		drop(a->samples, one);
	else if (one && !one->running)
		begin(a->samples, one);
}

/* Attempts that were started before us, which no order tells of any more. */
static void restarted(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent *a = arg;
	if (!result) {
		a->samples->asked = false;
		log_warning("what is to be sampled could not be read: %s", e->message);
		return;
	}
	for (int i = 0; i < PQntuples(result); i++) {
		struct record_key key = {strtoll(agent_cell(result, i, "job_id"), NULL, 10),
					 atoi(agent_cell(result, i, "step_id")), atoi(agent_cell(result, i, "attempt")), 0};
		if (find(a->samples, &key))
			continue;
		struct look_step *one =
			add(a->samples, &key, atoi(agent_cell(result, i, "sample_s")), atoi(agent_cell(result, i, "first_task")),
			    atoi(agent_cell(result, i, "tasks")), *agent_cell(result, i, "units") == 't');
		if (has_folder(one))
			begin(a->samples, one);
		else
			drop(a->samples, one);
	}
}

void agent_sample_registered(struct agent *a)
{
	if (a->conf->launcher_dry_run || a->conf->launcher_virtual > 0)
		return;
	send_rounds(a);
	if (a->samples->asked)
		return;
	a->samples->asked = true;
	char *node = xasprintf("%lld", (long long)a->node_ids[0]);
	const struct db_param params[] = {{node, -1}};
	db_call(a->db, API_node_sampled, params, 1, restarted, a);
	free(node);
}
