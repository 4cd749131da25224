/* substep_usage.c - measures what running sub-steps use now (substep_usage.h).
 *
 * Called by: substep_request.c, substep_client.c, and substep_engine.c for answers of agents.
 * Invariants:
 * - Nothing is measured unless a client asks. Measurements are at least a second apart, and take at most a twentieth of the time.
 * - CPUs used are an average over the time since the last measurement. If that is older than STALE_USEC, two measurements are
 *   made, FIRST_USEC apart.
 * - If the usage of one part of a sub-step is not known, that of the sub-step is not known.
 * - An agent that does not answer delays nobody for more than ANSWER_USEC. */
#include "procmgr/stepmgr/substep_usage.h"

#include <limits.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "procmgr/stepmgr/substep_part.h"
#include "procmgr/stepmgr/substep_parts.h"
#include "procmgr/stepmgr/substep_proc.h"

enum { USEC = 1000000, FIRST_USEC = 250000, STALE_USEC = 10 * USEC, ANSWER_USEC = 2 * USEC, PAUSE_FACTOR = 20, DEPTH_MOST = 256 };

static const int64_t RSS_KB_MOST = INT64_C(1) << 40; /* larger answers are cut to this, so that no sum overflows */

struct asker {
	TAILQ_ENTRY(asker) next;
	struct substep_connection *connection;
	json_int_t id;
};

enum usage_state {
	USAGE_IDLE,	/* nobody asks */
	USAGE_MEASURES, /* the next measurement is at measure_at */
	USAGE_COLLECTS, /* this node is measured, and some agents have not answered */
};

struct substep_usage {
	struct substep_engine *m;
	enum usage_state state;
	int round;	     /* number of the present or last round of answers */
	int64_t began_at;    /* start of the round */
	int64_t measured_at; /* end of the last measurement, by clock_boot_us(); 0: none yet */
	int64_t took;	     /* microseconds that the last measurement took */
	int64_t measure_at;  /* when the next measurement is due */
	struct event *timer;
	TAILQ_HEAD(, asker) askers;
};

struct substep_usage *substep_usage_new(struct substep_engine *m)
{
	struct substep_usage *u = xcalloc(1, sizeof *u);
	u->m = m;
	TAILQ_INIT(&u->askers);
	return u;
}

void substep_usage_free(struct substep_usage *u)
{
	if (u->timer)
		event_free(u->timer);
	free(u);
}

/* --- the processes of this node ------------------------------------------------------------------------------------------------ */

struct root {
	pid_t pid; /* process of a task */
	struct substep *substep;
};

static int compare_roots(const void *a, const void *b)
{
	const struct root *x = a, *y = b;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Returns the processes of tasks that run on this node, with their sub-steps, sorted by pid, malloc'ed. */
static struct root *roots_of(const struct substep_engine *m, size_t *count)
{
	struct root *roots = NULL;
	struct substep *s;
	*count = 0;
	TAILQ_FOREACH (s, &m->running, next) {
		roots = xrealloc(roots, (*count + (size_t)s->ntasks) * sizeof *roots);
		for (int rank = 0; rank < s->ntasks; rank++)
			if (s->tasks[rank].pid > 0)
				roots[(*count)++] = (struct root){s->tasks[rank].pid, s};
	}
	if (*count > 0)
		qsort(roots, *count, sizeof *roots, compare_roots);
	return roots;
}

static struct substep *root_find(const struct root *roots, size_t count, pid_t pid)
{
	struct root key = {.pid = pid}, *found = bsearch(&key, roots, count, sizeof *roots, compare_roots);
	return found ? found->substep : NULL;
}

/* Returns the sub-step to which a process belongs: one of its tasks leads the session of the process or of an ancestor. NULL:
 * none. */
static struct substep *owner_of(const struct substep_proc *p, const struct substep_proc *list, size_t procs,
				const struct root *roots, size_t count)
{
	struct substep *owner = NULL;
	for (int depth = 0; p && !owner && depth < DEPTH_MOST; depth++) {
		owner = root_find(roots, count, p->session);
		p = substep_proc_find(list, procs, p->parent);
	}
	return owner;
}

/* Set the CPUs that a sub-step uses, from the CPU time `cpu_usec` measured at the time `now` and the measurement before. */
static void set_rate(struct substep *s, int64_t now, int64_t cpu_usec)
{
	bool is_known = s->usage.run == s->run;
	int64_t from = is_known ? s->usage.at : s->started_at, before = is_known ? s->usage.cpu_usec : 0;
	/* A process that its parent has not waited for takes its CPU time with it, so the sum can fall. */
	if (now > from)
		s->usage.cpus_used = cpu_usec > before ? (double)(cpu_usec - before) / (double)(now - from) : 0;
	s->usage.cpu_usec = cpu_usec;
	s->usage.at = now;
	s->usage.run = s->run;
}

static void usage_measure(struct substep_usage *u)
{
	int64_t now = clock_boot_us();
	size_t count, procs = 0;
	struct root *roots = roots_of(u->m, &count);
	struct substep_proc *list = count > 0 ? substep_proc_read(&procs) : NULL;
	struct substep *s;
	TAILQ_FOREACH (s, &u->m->running, next)
		s->usage.sum_usec = s->usage.rss_kb = 0;
	for (size_t i = 0; i < procs; i++) {
		s = owner_of(&list[i], list, procs, roots, count);
		if (!s)
			continue;
		s->usage.sum_usec += list[i].cpu_usec;
		s->usage.rss_kb += list[i].rss_kb;
	}
	TAILQ_FOREACH (s, &u->m->running, next)
		set_rate(s, now, s->usage.sum_usec);
	free(list);
	free(roots);
	u->measured_at = clock_boot_us();
	u->took = u->measured_at - now;
}

/* --- answers ------------------------------------------------------------------------------------------------------------------- */

/* Has the agent of the part's node still to answer in this round? All agents are asked at the begin of a round. */
static bool part_is_awaited(const struct substep_usage *u, const struct substep *s, const struct substep_part *part)
{
	return !part->has_ended && part->usage_round != u->round && s->started_at <= u->began_at &&
	       substep_nodes_is_connected(u->m->nodes, part->node);
}

static bool has_all_parts(const struct substep_usage *u)
{
	const struct substep *s;
	TAILQ_FOREACH (s, &u->m->running, next)
		for (int i = 0; i < s->part_count; i++)
			if (part_is_awaited(u, s, &s->parts[i]))
				return false;
	return true;
}

/* Returns the usage of a sub-step on all nodes as JSON; NULL: the usage of a part is not known. */
static json_t *usage_describe(const struct substep_usage *u, const struct substep *s)
{
	bool is_here = s->ranks.count > 0;
	double cpus_used = is_here ? s->usage.cpus_used : 0;
	int64_t rss_kb = is_here ? s->usage.rss_kb : 0;
	if (is_here && s->usage.run != s->run)
		return NULL;
	for (int i = 0; i < s->part_count; i++) {
		const struct substep_part *part = &s->parts[i];
		if (part->has_ended)
			continue;
		if (part->usage_round != u->round || part->rss_kb < 0)
			return NULL;
		cpus_used += part->cpus_used;
		rss_kb += part->rss_kb;
	}
	return json_pack("{s:i, s:f, s:I}", "substep", s->number, "cpus_used", cpus_used, "rss_kb", (json_int_t)rss_kb);
}

static void answer_all(struct substep_usage *u)
{
	json_t *list = json_array();
	const struct substep *s;
	struct asker *a;
	TAILQ_FOREACH (s, &u->m->running, next) {
		json_t *one = usage_describe(u, s);
		if (one)
			json_array_append_new(list, one);
	}
	while ((a = TAILQ_FIRST(&u->askers))) {
		TAILQ_REMOVE(&u->askers, a, next);
		substep_connection_send(a->connection,
					json_pack("{s:s, s:I, s:O}", "event", "answer", "id", a->id, "substeps", list));
		free(a);
	}
	json_decref(list);
	u->state = USAGE_IDLE;
}

static void add_timer(struct substep_usage *u, int64_t at)
{
	int64_t left = at - clock_boot_us();
	struct timeval after = {.tv_sec = left > 0 ? left / USEC : 0, .tv_usec = left > 0 ? left % USEC : 0};
	evtimer_add(u->timer, &after);
}

/* Go on with a round: measure this node when a measurement is due, and answer the clients when all agents have answered. */
static void usage_advance(struct substep_usage *u)
{
	int64_t now = clock_boot_us();
	if (u->state == USAGE_MEASURES && now >= u->measure_at) {
		usage_measure(u);
		u->state = USAGE_COLLECTS;
	}
	if (u->state == USAGE_MEASURES)
		add_timer(u, u->measure_at);
	else if (has_all_parts(u) || now - u->began_at >= ANSWER_USEC)
		answer_all(u);
	else
		add_timer(u, u->began_at + ANSWER_USEC);
}

static void timer_due(evutil_socket_t fd, short what, void *arg)
{
	struct substep_usage *u = arg;
	(void)fd;
	(void)what;
	if (u->state != USAGE_IDLE)
		usage_advance(u);
}

static void ask_agents(const struct substep_usage *u)
{
	for (int node = 0; node < substep_nodes_count(u->m->nodes); node++) {
		const struct substep *s;
		bool has_part = false;
		TAILQ_FOREACH (s, &u->m->running, next) {
			const struct substep_part *part = substep_part_on(s, node);
			has_part = has_part || (part && !part->has_ended);
		}
		if (has_part)
			substep_nodes_ask_usage(u->m->nodes, node);
	}
}

static void begin_round(struct substep_usage *u)
{
	int64_t now = clock_boot_us(), pause = PAUSE_FACTOR * u->took;
	u->round++;
	u->began_at = now;
	u->state = USAGE_MEASURES;
	ask_agents(u);
	if (u->measured_at == 0 || now - u->measured_at > STALE_USEC + pause) {
		usage_measure(u);
		u->measure_at = now + FIRST_USEC;
	} else if (now - u->measured_at < (pause > USEC ? pause : USEC)) {
		u->state = USAGE_COLLECTS; /* a new measurement so soon would change little: answer with the last one */
	} else {
		u->measure_at = now;
	}
}

void substep_usage_ask(struct substep_engine *m, struct substep_connection *c, json_int_t id)
{
	struct substep_usage *u = m->usage;
	struct asker *a = xcalloc(1, sizeof *a);
	a->connection = c;
	a->id = id;
	TAILQ_INSERT_TAIL(&u->askers, a, next);
	if (u->state != USAGE_IDLE)
		return;
	if (TAILQ_EMPTY(&m->running)) {
		answer_all(u);
		return;
	}
	if (!u->timer)
		u->timer = evtimer_new(m->base, timer_due, u);
	begin_round(u);
	usage_advance(u);
}

void substep_usage_forget(struct substep_engine *m, struct substep_connection *c)
{
	struct asker *a, *next;
	for (a = TAILQ_FIRST(&m->usage->askers); a; a = next) {
		next = TAILQ_NEXT(a, next);
		if (a->connection != c)
			continue;
		TAILQ_REMOVE(&m->usage->askers, a, next);
		free(a);
	}
}

static int compare_numbers(const void *a, const void *b)
{
	const struct substep_part *x = *(struct substep_part *const *)a, *y = *(struct substep_part *const *)b;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns the parts that run on a node, sorted by the agent's numbers. */
static struct substep_part **parts_on(const struct substep_engine *m, int node, size_t *count)
{
	struct substep_part **parts = NULL;
	struct substep *s;
	*count = 0;
	TAILQ_FOREACH (s, &m->running, next) {
		struct substep_part *part = substep_part_on(s, node);
		if (!part || part->has_ended)
			continue;
		parts = xrealloc(parts, (*count + 1) * sizeof *parts);
		parts[(*count)++] = part;
	}
	if (*count > 0)
		qsort(parts, *count, sizeof *parts, compare_numbers);
	return parts;
}

static void take_row(struct substep_part **parts, size_t count, const json_t *row)
{
	json_int_t number = json_integer_value(json_object_get(row, "substep")),
		   rss_kb = json_integer_value(json_object_get(row, "rss_kb"));
	double cpus_used = json_number_value(json_object_get(row, "cpus_used"));
	struct substep_part wanted = {.number = number > 0 && number <= INT_MAX ? (int)number : -1}, *key = &wanted;
	struct substep_part **found = count > 0 ? bsearch(&key, parts, count, sizeof *parts, compare_numbers) : NULL;
	if (!found || rss_kb < 0 || rss_kb > RSS_KB_MOST || !(cpus_used >= 0 && cpus_used <= SUBSTEP_TASKS_MOST))
		return;
	(*found)->cpus_used = cpus_used;
	(*found)->rss_kb = rss_kb;
}

void substep_usage_take(struct substep_engine *m, int node, const json_t *answer)
{
	struct substep_usage *u = m->usage;
	const json_t *row;
	size_t i, count;
	if (u->state == USAGE_IDLE)
		return;
	struct substep_part **parts = parts_on(m, node, &count);
	for (i = 0; i < count; i++) {
		parts[i]->usage_round = u->round;
		parts[i]->rss_kb = -1; /* -1 stands until the answer of the agent names the part */
	}
	json_array_foreach (json_object_get(answer, "substeps"), i, row)
		take_row(parts, count, row);
	free(parts);
	usage_advance(u);
}
