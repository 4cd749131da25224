/* translate_transfer_steps.c - makes the steps that make the transfers of a job, and their edges in the graph.
 *
 * Called by: translate.c, after the edges of the script's steps are known.
 * Invariants:
 * - With a scratch folder that all nodes share, each transfer is a step of its own, so data is copied in while the job waits, and
 *   out when its nodes are free. A line before the first step is of the whole job, a line below a #ROTA step line of that step
 *   alone.
 * - Where each node has a scratch folder of its own, there are no such steps: nodes make the transfers, before and after the
 *   tasks.
 * - The steps made here are the last ones of t->steps. The edges of a step stay adjacent, in the order of steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/translate_parts.h"

enum { MOVER_MEM_MB = 512, MOVER_RETRIES = 3 };

/* Properties of a step of the script in the graph, before transfers are added. */
struct place {
	bool handler;		    /* the step runs only after the failure of another step, or after such a step */
	bool needed;		    /* another step, which is not a `handler`, starts only if this step succeeds */
	int first_edge, edge_count; /* the step's edges before transfers are added */
	bool deps_any;		    /* the step waits for one of the conditions of --after, not for all (separator "?") */
};

struct rebuild {
	struct translation *t;
	struct place *places;
	int steps; /* number of steps of the script */
	struct translate_edge *edges;
	int count, capacity;
};

/* Mark the first and the last steps of the script, and the steps that handle failures. */
static void place_steps(const struct rebuild *r)
{
	struct translation *t = r->t;
	for (int i = 0; i < r->steps; i++) {
		t->steps[i].is_first = t->steps[i].is_last = true;
		r->places[i] = (struct place){.first_edge = t->steps[i].first_edge,
					      .edge_count = t->steps[i].edge_count,
					      .deps_any = t->steps[i].deps_any};
	}
	for (bool changed = true; changed;) { /* repeat until a round marks no new handler */
		changed = false;
		for (int i = 0; i < t->edge_count; i++) {
			const struct translate_edge *edge = &t->edges[i];
			if (edge->peer < 0 || edge->kind == TRANSLATE_WITH || edge->kind == TRANSLATE_OTHER_NODES)
				continue; /* the two steps may run at the same time */
			t->steps[edge->step].is_first = t->steps[edge->peer].is_last = false;
			if (edge->kind != TRANSLATE_AFTER || r->places[edge->step].handler)
				continue;
			r->places[edge->step].handler = edge->condition == TRANSLATE_FAIL || r->places[edge->peer].handler;
			changed |= r->places[edge->step].handler;
		}
	}
	for (int i = 0; i < t->edge_count; i++) {
		const struct translate_edge *edge = &t->edges[i];
		if (edge->peer >= 0 && edge->kind == TRANSLATE_AFTER && edge->condition == TRANSLATE_OK &&
		    !r->places[edge->step].handler && !t->steps[edge->step].deps_any)
			r->places[edge->peer].needed = true;
	}
}

/* Set all options of a step that makes a transfer, most of them to none. --partition, --begin, --hold and some others have the
 * settings of the job. */
static void mover_set_options(struct translation *t, struct translate_step *s, const struct translate_transfer *x)
{
	static const enum option_id inherited[] = {OPTION_ID_PARTITION,	  OPTION_ID_BEGIN,	  OPTION_ID_HOLD,
						   OPTION_ID_WORKDIR,	  OPTION_ID_UMASK,	  OPTION_ID_REQUEUE,
						   OPTION_ID_AFTER,	  OPTION_ID_DEPENDENCY,	  OPTION_ID_OPEN_MODE,
						   OPTION_ID_MEM_PER_CPU, OPTION_ID_GPUS_PER_NODE};
	struct translate_setting *own = s->own.of;
	for (int id = 0; id < OPTION_SETTINGS; id++)
		if (option_row((enum option_id)id)->level == OPTION_STEP)
			own[id] = (struct translate_setting){.value = json_null(), .line = x->line};
	for (size_t i = 0; i < sizeof inherited / sizeof *inherited; i++)
		own[inherited[i]].value = NULL;
	own[OPTION_ID_NODES].value = json_pack("[i, i]", 1, 1);
	own[OPTION_ID_NTASKS].value = json_integer(1);
	own[OPTION_ID_CPUS_PER_TASK].value = json_integer(1);
	own[OPTION_ID_MEM].value = x->mem ? json_incref(x->mem) : json_integer(MOVER_MEM_MB);
	own[OPTION_ID_RETRY].value = json_integer(MOVER_RETRIES);
	own[OPTION_ID_SHELL].value = json_string("mover");
	own[OPTION_ID_OUTPUT].value = json_string("rota-%j.%S%R.out");
	if (x->time)
		own[OPTION_ID_TIME].value = json_incref(x->time);
	if (t->request->mover_partition && *t->request->mover_partition)
		own[OPTION_ID_PARTITION].value = json_string(t->request->mover_partition);
}

/* Add the step that makes transfer `x`. */
static void mover_add(struct translation *t, struct translate_transfer *x)
{
	static const char *const prefixes[] = {"stage-in", "stage-out", "stage-drop"};
	char name[32];
	int same = 1;
	for (int i = 0; i < x->number - 1; i++)
		same += t->transfers[i].direction == x->direction;
	snprintf(name, sizeof name, "%s-%d", prefixes[x->direction], same);
	for (int i = 0; i < t->step_count; i++)
		if (strcmp(t->steps[i].name, name) == 0) {
			translate_refuse(t, t->steps[i].line, "", "\"%s\" is the name of a step that transfers data", name);
			translate_hint(t, "give this step another name");
		}
	if (t->step_count >= t->limits->steps)
		translate_refuse(t, x->line, "", "with the steps for transfers, the script has more than %d steps",
				 t->limits->steps);
	struct translate_step *s = translation_add_step(t, name, x->line);
	x->made_by = t->step_count - 1;
	t->generated++;
	mover_set_options(t, s, x);
}

/* Add a copy of an edge to the rebuilt ones, with `step` as the step that waits. The copy has a peer_name of its own. */
static void rebuild_add(struct rebuild *r, int step, const struct translate_edge *edge)
{
	struct translation *t = r->t;
	if (r->count >= t->limits->edges) {
		translate_refuse(t, edge->line, edge->option, "the script has more than %d dependencies", t->limits->edges);
		return;
	}
	if (r->count == r->capacity) {
		r->capacity = r->capacity ? 2 * r->capacity : 64;
		r->edges = xrealloc(r->edges, (size_t)r->capacity * sizeof *r->edges);
	}
	r->edges[r->count] = *edge;
	r->edges[r->count].step = step;
	r->edges[r->count++].peer_name = edge->peer_name ? xstrdup(edge->peer_name) : NULL;
}

static void rebuild_add_after(struct rebuild *r, int step, int peer, enum translate_condition condition, int line)
{
	rebuild_add(r, step,
		    &(struct translate_edge){
			    .kind = TRANSLATE_AFTER, .condition = condition, .peer = peer, .option = "", .line = line});
}

/* Does a step of the script need the data of a transfer before it starts? */
static bool rebuild_needs(const struct translation *t, const struct translate_transfer *x, int step)
{
	return x->direction == TRANSLATE_STAGE_IN && translate_transfer_is_about(t, x, step);
}

/* Returns the index of the first step of the script that a transfer concerns; r->steps: none. */
static int rebuild_like(const struct rebuild *r, const struct translate_transfer *x)
{
	int like = 0;
	while (like < r->steps && !translate_transfer_is_about(r->t, x, like))
		like++;
	return like;
}

/* Do two steps wait by the same conditions for the same other jobs, and for nothing else? Conditions on elements do not
 * qualify. */
static bool rebuild_waits_alike(const struct rebuild *r, int a, int b)
{
	const struct place *one = &r->places[a], *two = &r->places[b];
	bool alike = one->deps_any == two->deps_any && one->edge_count == two->edge_count;
	for (int i = 0; alike && i < one->edge_count; i++) {
		const struct translate_edge *x = &r->t->edges[one->first_edge + i], *y = &r->t->edges[two->first_edge + i];
		bool named = x->peer_name && y->peer_name;
		alike = x->kind == TRANSLATE_AFTER && y->kind == TRANSLATE_AFTER && x->peer < 0 && y->peer < 0 &&
			x->condition == y->condition && x->condition != TRANSLATE_CORR && x->peer_job == y->peer_job &&
			(named ? strcmp(x->peer_name, y->peer_name) == 0 : x->peer_name == y->peer_name);
	}
	return alike;
}

/* A step that waits for any of several other jobs (?): can all stage-ins that it needs wait for these jobs in its place? */
static bool rebuild_may_move(const struct rebuild *r, int step)
{
	const struct translation *t = r->t;
	bool may = t->steps[step].is_first;
	for (int i = 0; may && i < t->transfer_count; i++)
		if (rebuild_needs(t, &t->transfers[i], step))
			may = rebuild_waits_alike(r, step, rebuild_like(r, &t->transfers[i]));
	return may;
}

/* Rebuild the edges of a step of the script, which now also waits for the stage-ins that it needs. If it waits for any of
 * several other jobs, the stage-ins wait for these in its place. */
static void rebuild_step(struct rebuild *r, int step)
{
	struct translation *t = r->t;
	struct translate_step *s = &t->steps[step];
	const struct place *place = &r->places[step];
	bool needs = false;
	for (int i = 0; i < t->transfer_count; i++)
		needs |= rebuild_needs(t, &t->transfers[i], step);
	bool moved = needs && s->deps_any;
	if (moved && !rebuild_may_move(r, step)) {
		translate_refuse(t, s->line, "", "\"%s\" waits for any of several steps or jobs (?), and for a stage-in",
				 s->name);
		translate_hint(t, "let an extra step wait for any of them");
	}
	s->first_edge = r->count;
	for (int i = 0; i < place->edge_count; i++)
		if (!moved || t->edges[place->first_edge + i].kind != TRANSLATE_AFTER)
			rebuild_add(r, step, &t->edges[place->first_edge + i]);
	for (int i = 0; i < t->transfer_count; i++)
		if (rebuild_needs(t, &t->transfers[i], step))
			rebuild_add_after(r, step, t->transfers[i].made_by, TRANSLATE_OK, t->transfers[i].line);
	s->deps_any = s->deps_any && !moved;
	s->edge_count = r->count - s->first_edge;
}

/* Let a stage-in wait for the other jobs that the first step which needs it waits for. */
static void rebuild_stage_in(struct rebuild *r, const struct translate_transfer *x)
{
	struct translation *t = r->t;
	int like = rebuild_like(r, x);
	for (int i = 0; like < r->steps && i < r->places[like].edge_count; i++) {
		const struct translate_edge *edge = &t->edges[r->places[like].first_edge + i];
		if (edge->peer < 0 && edge->kind == TRANSLATE_AFTER && edge->condition != TRANSLATE_CORR)
			rebuild_add(r, x->made_by, edge);
	}
	t->steps[x->made_by].deps_any = like < r->steps && r->places[like].deps_any;
}

/* Let a step that follows the job wait for the steps of the script: until all have ended well, except handlers, which may end
 * in any way. `whatever`: until all have ended in any way. Then it waits for each step: one that can never start ends at once,
 * while steps before it still run. */
static void rebuild_after_all(struct rebuild *r, int step, bool whatever, int line)
{
	for (int i = 0; i < r->steps; i++) {
		bool any = whatever || r->places[i].handler;
		if (any || !r->places[i].needed)
			rebuild_add_after(r, step, i, any ? TRANSLATE_ANY : TRANSLATE_OK, line);
	}
}

/* Let the step that drops the scratch folder wait for all steps that may need the folder. policy TRANSLATE_KEEP: the data is
 * kept after a failure, so the step runs only if nothing fails. */
static void rebuild_drop(struct rebuild *r, int step, int policy)
{
	const struct translation *t = r->t;
	bool keep = policy == TRANSLATE_KEEP;
	rebuild_after_all(r, step, !keep, 0);
	for (int i = 0; i < t->transfer_count; i++)
		if (t->transfers[i].direction == TRANSLATE_STAGE_OUT)
			rebuild_add_after(r, step, t->transfers[i].made_by, keep ? TRANSLATE_OK : TRANSLATE_ANY, 0);
}

static void rebuild_mover(struct rebuild *r, const struct translate_transfer *x)
{
	struct translate_step *s = &r->t->steps[x->made_by];
	s->first_edge = r->count;
	if (x->direction == TRANSLATE_STAGE_IN)
		rebuild_stage_in(r, x);
	else if (x->for_job > 0)
		; /* a transfer that repeats one of another job waits for nothing */
	else if (x->direction == TRANSLATE_STAGE_DROP)
		rebuild_drop(r, x->made_by, x->on_fail);
	else if (x->step >= 0)
		rebuild_add_after(r, x->made_by, x->step, x->on_fail == TRANSLATE_OUT ? TRANSLATE_ANY : TRANSLATE_OK, x->line);
	else
		rebuild_after_all(r, x->made_by, x->on_fail == TRANSLATE_OUT, x->line);
	s->edge_count = r->count - s->first_edge;
}

/* Add a transfer that drops the scratch folder, if other transfers use the folder. A line with --on-fail=keep keeps its data
 * after a failure. */
static void add_drop(struct translation *t)
{
	bool used = false, keep = false;
	for (int i = 0; i < t->transfer_count; i++) {
		keep |= t->transfers[i].on_fail == TRANSLATE_KEEP;
		used |= translate_transfer_in_scratch(t->transfers[i].source) ||
			translate_transfer_in_scratch(t->transfers[i].destination);
	}
	if (!used)
		return;
	struct translate_transfer *x = translate_transfer_add(t);
	x->direction = TRANSLATE_STAGE_DROP;
	x->on_fail = keep ? TRANSLATE_KEEP : TRANSLATE_DROP;
	x->line = t->transfers[0].line;
	x->source = xstrdup("$ROTA_SCRATCH");
	x->destination = xstrdup("");
}

/* Refuse a step of a job group whose nodes make transfers. These are made in a prolog and epilog: only one step of the group
 * has these on a node, and the others do not wait long for it. */
static void refuse_group(struct translation *t, int step)
{
	const struct translate_step *s = &t->steps[step];
	const char *group = json_string_value(translate_value(t, s, OPTION_ID_GROUP));
	if (!s->moves || !t->request->scratch || t->request->scratch_is_shared || !group || !*group)
		return;
	translate_refuse(t, s->line, "--group", "\"%s\" is in a job group, and its nodes transfer data", s->name);
	translate_hint(t, "each node has a folder of its own here; leave out --group, or let the script copy");
}

void translate_transfers(struct translation *t)
{
	struct rebuild r = {.t = t, .steps = t->step_count};
	if (t->transfer_count == 0)
		return;
	r.places = xcalloc((size_t)t->step_count, sizeof *r.places);
	place_steps(&r);
	add_drop(t);
	if (t->request->scratch_is_shared) {
		for (int i = 0; i < t->transfer_count; i++)
			mover_add(t, &t->transfers[i]);
		for (int i = 0; i < r.steps; i++)
			rebuild_step(&r, i);
		for (int i = 0; i < t->transfer_count; i++)
			rebuild_mover(&r, &t->transfers[i]);
		for (int i = 0; i < t->edge_count; i++)
			free(t->edges[i].peer_name);
		free(t->edges);
		t->edges = r.edges;
		t->edge_count = r.count;
		t->edge_capacity = r.capacity;
	}
	for (int i = 0; i < t->transfer_count; i++)
		for (int j = 0; j < r.steps; j++)
			t->steps[j].moves |= translate_transfer_is_of(t, &t->transfers[i], j);
	for (int i = 0; i < r.steps; i++)
		refuse_group(t, i);
	free(r.places);
}
