/* simulate.c - simulates the history, event by event.
 *
 * Invariants:
 * - a step has one attempt at a time; each transition is one that rota.step_transition allows, and is recorded as an event
 * - memory does not grow with the history: a job's rows are written, and it is freed, when it and all jobs before it have ended */
#include "simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "due.h"
#include "grow.h"
#include "place.h"
#include "submit.h"

const char *const STATES[] = {"completed",     "dependency_failed", "cancelled", "preempted", "deadline", "timeout", "failed",
			      "out_of_memory", "node_fail",	    "pending",	 "starting",  "prolog",	  "running"};
const char *const END_EVENTS[] = {"complete", "dependency_fail", "cancel", "preempt", "deadline", "timeout", "fail",
				  "oom",      "node_fail"};
const char *const END_CAUSES[] = {"exit",	"dependency", "cancelled",     "preempted", "deadline",
				  "time_limit", "exit",	      "out_of_memory", "node"};

/* LOOK: how many items of the queue a pass considers. NODE_DAYS: mean number of days until a node is lost. */
enum { LOOK = 32, WAIT_LIMIT_H = 4, RETRY_S = 2, NODE_DAYS = 120 };

/* An item of the queue: a step, or the next elements of an array (step -1). */
struct item {
	struct item *next;
	struct job *job;
	int request, step;
	int64_t since;
};

struct running {
	struct job *job;
	int attempt;
};

struct sim {
	struct world *w;
	struct draw *d;
	struct load *load;
	PGconn *db;
	struct submit submit;
	struct due_list due;
	struct item *queue, **tail;
	struct running *running;
	int runs, runs_room;
	struct job **live; /* jobs that are not written yet, in the order of ids, from index live_from on */
	int lives, lives_room, live_from;
	int64_t now, last_job, jobs_left, last_event;
};

/* ---- transitions */

static void move(struct sim *s, struct job *j, int step, int64_t at, const char *event, enum state to, const char *actor,
		 const char *cause, const char *detail)
{
	struct step *of = &j->step[step];

	j->event = grow(j->event, j->events, &j->room_events, sizeof *j->event);
	j->event[j->events++] =
		(struct event){++s->last_event, at, step, of->attempts, of->state, to, event, actor, cause, detail};
	of->state = to;
}

static void ready(struct sim *s, struct job *j, int request, int step)
{
	struct item *item = malloc(sizeof *item);

	*item = (struct item){NULL, j, request, step, s->now};
	*s->tail = item;
	s->tail = &item->next;
	j->request[request].queued = step < 0;
	j->pending++;
}

static int step_add(struct job *j, int request, int id, int index)
{
	j->step = grow(j->step, j->steps, &j->room_steps, sizeof *j->step);
	j->step[j->steps] = (struct step){.id = id, .request = request, .index = index, .state = PENDING, .exit_code = -1};
	return j->steps++;
}

static void eligible(struct sim *s, struct job *j, int request)
{
	j->step[j->request[request].first].eligible_at = s->now;
	ready(s, j, request, j->request[request].array ? -1 : j->request[request].first);
}

static void submitted(struct sim *s, struct job *j)
{
	s->live = grow(s->live, s->lives, &s->lives_room, sizeof(struct job *));
	s->live[s->lives++] = j;
	for (int i = 0; i < j->requests; i++) {
		step_add(j, i, i, -1);
		move(s, j, i, s->now, "submit", PENDING, j->user->name, NULL, NULL);
	}
	if (j->cancel_at == NEVER) {
		eligible(s, j, 0);
		return;
	}
	j->step[0].begin_at = s->now + (int64_t)86400 * SECOND;
	due_add(&s->due, j->cancel_at, CANCEL, j, 0);
}

/* ---- attempts */

/* Decide how the attempt ends, unless a node of it is lost before; returns how long it runs, in microseconds. */
static int64_t fate(struct sim *s, const struct job *j, struct attempt *t)
{
	const struct request *r = &j->request[j->step[t->step].request];
	int64_t limit = r->limit_s * SECOND, runs = (int64_t)((double)r->run_us * draw_between(s->d, 0.8, 1.2));
	double part = draw_between(s->d, 0.02, 1), how = draw_part(s->d);

	t->end = COMPLETED;
	if (draw_chance(s->d, j->user->bad)) {
		t->end = how < 0.6			       ? FAILED
			 : how < 0.75			       ? TIMEOUT
			 : how < 0.87			       ? OUT_OF_MEMORY
			 : how < 0.97 || strcmp(j->qos, "low") ? CANCELLED
							       : PREEMPTED;
		runs = t->end == TIMEOUT ? limit : (int64_t)((double)runs * part);
	}
	if (runs >= limit) {
		t->end = TIMEOUT;
		runs = limit;
	}
	t->cause = END_CAUSES[t->end];
	t->signal = t->end == TIMEOUT || t->end == CANCELLED || t->end == PREEMPTED ? 15 : 0;
	t->exit_code = t->end == OUT_OF_MEMORY ? 137 : 0;
	if (t->end == FAILED && part < 0.2) {
		t->signal = 11;
		t->cause = "signal";
	} else if (t->end == FAILED) {
		t->exit_code = part < 0.3 ? 127 : part < 0.45 ? 2 : 1;
	}
	return runs + 1000;
}

static void start(struct sim *s, struct job *j, int step)
{
	struct step *of = &j->step[step];
	const struct request *r = &j->request[of->request];
	struct attempt t = {.step = step,
			    .number = ++of->attempts,
			    .ordered_at = s->now,
			    .placed = j->placings - r->nodes,
			    .nodes = r->nodes,
			    .lost = -1};
	int64_t runs = fate(s, j, &t);

	t.started_at = s->now + (int64_t)draw_between(s->d, 4000, 40000) * r->nodes;
	t.place = s->runs;
	s->running = grow(s->running, s->runs, &s->runs_room, sizeof *s->running);
	s->running[s->runs++] = (struct running){j, j->attempts};
	j->attempt = grow(j->attempt, j->attempts, &j->room_attempts, sizeof *j->attempt);
	j->attempt[j->attempts] = t;
	of->ordered_at = s->now;
	of->started_at = t.started_at;
	move(s, j, step, s->now, "start", STARTING, "schedule", NULL, NULL);
	if (r->nodes > 1)
		move(s, j, step, (s->now + t.started_at) / 2, "prolog", PROLOG, "node", NULL, NULL);
	/* The start and the end of an attempt of up to 20 s on one node are reported together, so no event says that it runs. */
	if (r->nodes > 1 || runs > 20 * SECOND)
		move(s, j, step, t.started_at, "run", RUNNING, "node", NULL, NULL);
	due_add(&s->due, t.started_at + runs, END, j, j->attempts++);
}

static void array_go_on(struct sim *s, struct job *j, int request);

/* The step of a request has ended: the next step of the job becomes eligible, or no later step can ever start. */
static void request_end(struct sim *s, struct job *j, int request)
{
	const struct step *of = &j->step[j->request[request].first];

	j->requests_left--;
	if (of->state == COMPLETED && request + 1 < j->requests)
		eligible(s, j, request + 1);
	for (int i = request + 1; of->state != COMPLETED && i < j->requests; i++) {
		struct step *never = &j->step[j->request[i].first];

		if (asprintf(&never->message, "can no longer be met: ok of %lld.%s", (long long)j->id, j->request[i - 1].name) <
		    0)
			abort();
		never->cause = "dependency";
		never->ended_at = s->now;
		move(s, j, j->request[i].first, s->now, "dependency_fail", DEPENDENCY_FAILED, "node", "dependency",
		     never->message);
		j->requests_left--;
	}
	j->over = j->requests_left == 0;
}

static void head_end(struct sim *s, struct job *j, int request)
{
	struct step *head = &j->step[j->request[request].first];
	const struct step *worst = NULL;

	for (int i = 0; i < j->steps; i++) {
		const struct step *e = &j->step[i];

		if (e->index < 0 || e->request != request)
			continue;
		worst = worst && worst->state >= e->state ? worst : e;
		head->exit_code = e->exit_code > head->exit_code ? e->exit_code : head->exit_code;
	}
	head->signal = worst->signal;
	head->cause = worst->cause;
	head->ended_at = s->now;
	move(s, j, j->request[request].first, s->now, END_EVENTS[worst->state], worst->state, "node", worst->cause, NULL);
	request_end(s, j, request);
}

static void step_end(struct sim *s, struct job *j, int step, const struct attempt *t)
{
	struct step *of = &j->step[step];
	struct request *r = &j->request[of->request];
	int request = of->request;

	of->cause = t->cause;
	of->exit_code = t->end == NODE_FAIL ? -1 : t->exit_code;
	of->signal = t->signal;
	of->ended_at = t->ended_at;
	move(s, j, step, t->ended_at, END_EVENTS[t->end], t->end, t->end == NODE_FAIL ? "nodemgr" : "node", t->cause, NULL);
	if (of->index < 0) {
		request_end(s, j, request);
		return;
	}
	r->live--;
	if (++r->over == r->array)
		head_end(s, j, request);
	else
		array_go_on(s, j, request);
}

static void array_go_on(struct sim *s, struct job *j, int request)
{
	const struct request *r = &j->request[request];

	if (!r->queued && r->next < r->array && (!r->max_running || r->live < r->max_running))
		ready(s, j, request, -1);
}

static void attempt_end(struct sim *s, struct job *j, int number, int lost)
{
	struct attempt *t = &j->attempt[number];
	struct step *of = &j->step[t->step];
	const struct request *r = &j->request[of->request];
	double ran_s, busy;

	place_give_back(s->w, j, t);
	s->running[t->place] = s->running[--s->runs];
	s->running[t->place].job->attempt[s->running[t->place].attempt].place = t->place;
	t->place = -1;
	t->ended_at = s->now;
	t->lost = lost;
	if (lost >= 0) {
		t->end = NODE_FAIL;
		t->cause = "node";
		t->signal = 0;
		if (t->started_at > s->now)
			t->started_at = NEVER;
	}
	ran_s = t->started_at == NEVER ? 0 : (double)(t->ended_at - t->started_at) / SECOND;
	busy = ran_s * r->cpus * r->nodes * j->user->used * draw_between(s->d, 0.7, 1);
	t->system_s = busy * draw_between(s->d, 0.005, 0.1);
	t->user_s = busy - t->system_s;
	t->rss_kb = (long)((double)r->mem_mb * 1024 * (t->end == OUT_OF_MEMORY ? 1 : draw_between(s->d, 0.05, 0.95)));
	if (t->end == NODE_FAIL ? j->requeue : t->end == FAILED && of->retries < r->retry) {
		of->requeues += t->end == NODE_FAIL;
		of->retries += t->end == FAILED;
		of->begin_at = s->now + (int64_t)RETRY_S * SECOND;
		move(s, j, t->step, s->now, "requeue", PENDING, t->end == NODE_FAIL ? "nodemgr" : "node", t->cause, NULL);
		due_add(&s->due, of->begin_at, READY, j, t->step);
	} else {
		step_end(s, j, t->step, t);
	}
}

/* ---- the queue */

static bool start_next(struct sim *s, struct item *item)
{
	struct job *j = item->job;
	struct request *r = &j->request[item->request];
	int step = item->step;

	if (!place_take(s->w, j, r))
		return false;
	if (step < 0) {
		struct step *head = &j->step[r->first];
		int64_t eligible_at = head->eligible_at;

		if (r->next == 0) {
			head->started_at = s->now;
			move(s, j, r->first, s->now, "expand", RUNNING, "schedule", NULL, NULL);
		}
		step = step_add(j, item->request, r->step_id + 1 + r->next, r->next);
		j->step[step].eligible_at = eligible_at;
		r->next++;
		r->live++;
	}
	start(s, j, step);
	return true;
}

/* Start what can be started of the item; true if it leaves the queue: no part of it is left that may start now. */
static bool item_start(struct sim *s, struct item *item)
{
	const struct request *r = &item->job->request[item->request];

	if (item->step >= 0)
		return start_next(s, item);
	while (r->next < r->array && (!r->max_running || r->live < r->max_running))
		if (!start_next(s, item))
			return false;
	return true;
}

static void pass(struct sim *s)
{
	struct item **at = &s->queue;
	int cpus = s->w->cpus + 1;

	for (int looks = 0; *at && looks < LOOK; looks++) {
		struct item *item = *at;
		const struct request *r = &item->job->request[item->request];

		if (r->nodes == 1 && r->cpus >= cpus) {
			at = &item->next;
			continue;
		}
		if (item_start(s, item)) {
			if (item->step < 0)
				item->job->request[item->request].queued = false;
			item->job->pending--;
			*at = item->next;
			if (!item->next)
				s->tail = at;
			free(item);
			continue;
		}
		/* No item passes one that has waited longer than WAIT_LIMIT_H hours. */
		if (s->now - item->since > (int64_t)WAIT_LIMIT_H * 3600 * SECOND)
			break;
		if (r->nodes == 1 && !r->gpus && r->mem_mb <= (long)r->cpus * 1000)
			cpus = r->cpus < cpus ? r->cpus : cpus;
		at = &item->next;
	}
}

/* ---- loss and return of nodes */

static void node_event(struct sim *s, int node, const char *from, const char *to, const char *reason)
{
	load_run(s->db,
		 "insert into rota.node_event (node_id, node, at, from_state, to_state, actor, reason)"
		 " values (%d, '%s', timestamptz '2000-01-01 00:00:00+00' + %lld * interval '1 microsecond', '%s', '%s', '%s', "
		 "%s)",
		 s->w->node[node].id, s->w->node[node].name, (long long)s->now, from, to,
		 strcmp(to, "up") ? "nodemgr" : s->w->node[node].name, reason);
}

static void node_down(struct sim *s, int node)
{
	for (int i = 0; i < s->runs;) {
		struct running one = s->running[i];
		const struct attempt *t = &one.job->attempt[one.attempt];
		int lost = -1;

		for (int p = 0; p < t->nodes; p++)
			if (one.job->placed[t->placed + p].node == node)
				lost = p;
		if (lost >= 0)
			attempt_end(s, one.job, one.attempt, lost);
		else
			i++;
	}
	s->w->node[node].up = false;
	node_event(s, node, "up", "down", "'its lease has run out'");
	due_add(&s->due, s->now + (int64_t)draw_between(s->d, 600, 40000) * SECOND, NODE_UP, NULL, node);
}

static void node_up(struct sim *s, int node, const char *from)
{
	s->w->node[node].up = true;
	node_event(s, node, from, "up", "null");
	due_add(&s->due, s->now + (int64_t)draw_exponential(s->d, NODE_DAYS * 86400.0) * SECOND, NODE_DOWN, NULL, node);
}

/* ---- the whole history */

static void job_free(struct job *j)
{
	for (int i = 0; i < j->steps; i++)
		free(j->step[i].message);
	free(j->step);
	free(j->attempt);
	free(j->event);
	free(j->placed);
	free(j);
}

static void write_over(struct sim *s)
{
	while (s->live_from < s->lives && s->live[s->live_from]->over && s->live[s->live_from]->pending == 0) {
		load_job(s->load, s->live[s->live_from]);
		job_free(s->live[s->live_from++]);
	}
	if (s->live_from > 100000) {
		s->lives -= s->live_from;
		memmove(s->live, s->live + s->live_from, (size_t)s->lives * sizeof(struct job *));
		s->live_from = 0;
	}
}

static void submit_due(struct sim *s)
{
	submitted(s, submit_job(&s->submit, ++s->last_job, s->now));
	if (--s->jobs_left > 0)
		due_add(&s->due, submit_next(&s->submit, s->now), SUBMIT, NULL, 0);
}

static void befall(struct sim *s, const struct due *one)
{
	struct job *j = one->job;

	if (j)
		j->pending--;
	switch (one->what) {
	case SUBMIT:
		submit_due(s);
		break;
	case END:
		if (j->attempt[one->number].place >= 0)
			attempt_end(s, j, one->number, -1);
		break;
	case READY:
		ready(s, j, j->step[one->number].request, one->number);
		break;
	case CANCEL:
		j->step[0].cause = "cancelled";
		j->step[0].ended_at = s->now;
		if (asprintf(&j->step[0].message, "cancelled by %s", j->user->name) < 0)
			abort();
		move(s, j, 0, s->now, "cancel", CANCELLED, j->user->name, "cancelled", j->step[0].message);
		request_end(s, j, 0);
		break;
	case NODE_DOWN:
		node_down(s, one->number);
		break;
	case NODE_UP:
		node_up(s, one->number, "down");
		break;
	}
}

struct outcome simulate(struct world *w, struct draw *d, const struct plan *plan, struct load *l, PGconn *db)
{
	struct sim s = {.w = w,
			.d = d,
			.load = l,
			.db = db,
			.now = plan->from,
			.jobs_left = plan->jobs,
			.last_job = plan->first_job - 1,
			.last_event = plan->first_event - 1};

	s.tail = &s.queue;
	submit_begin(&s.submit, w, d, plan->from, plan->days, plan->jobs);
	for (int i = 0; i < w->nodes; i++)
		node_up(&s, i, "unknown");
	due_add(&s.due, submit_next(&s.submit, s.now), SUBMIT, NULL, 0);
	while (s.jobs_left > 0 || s.live_from < s.lives) {
		struct due one = due_take(&s.due);

		s.now = one.at;
		befall(&s, &one);
		pass(&s);
		write_over(&s);
	}
	free(s.due.heap);
	free(s.running);
	free(s.live);
	return (struct outcome){s.last_job, s.last_event, s.now};
}
