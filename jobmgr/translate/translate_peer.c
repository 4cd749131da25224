/* translate_peer.c - makes the edges between steps from --after, --dependency, --with, --same-nodes and --other-nodes; if no step
 * names peers, each step waits for the step before it.
 *
 * Called by: translate.c, after the script is read.
 * Invariants:
 * - After this stage, the edges of a step are adjacent, in the order of steps.
 * - No step has two edges of one kind to one peer. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/translate_parts.h"
#include "lib/nearest.h"

struct peers {
	struct translation *t;
	int *by_name; /* indices of steps, sorted by name */
	bool full;    /* the limit of edges was reached and reported as a problem */
};

/* An option whose list of peers is being read, for one step. */
struct peer_list {
	struct peers *p;
	struct translate_step *s;
	enum translate_kind kind;
	const char *option; /* name of the option, a static string */
	int line;
	bool own; /* the option is on the step's own line, so it may name other steps of the script */
};

static const char *const kinds[] = {"after", "with", "same_nodes", "other_nodes"};
static const char *const kind_options[] = {"--after", "--with", "--same-nodes", "--other-nodes"};
static const char *const conditions[] = {"ok", "any", "fail", "start", "corr", "teardown", "singleton"};

const char *translate_kind_name(enum translate_kind kind)
{
	return kinds[kind];
}

const char *translate_condition_name(enum translate_condition condition)
{
	return conditions[condition];
}

static int peer_compare_names(const void *a, const void *b, void *of)
{
	const struct translation *t = of;
	int x = *(const int *)a, y = *(const int *)b, order = strcmp(t->steps[x].name, t->steps[y].name);
	return order ? order : (x > y) - (x < y);
}

static void peer_index_names(struct peers *p)
{
	struct translation *t = p->t;
	p->by_name = xcalloc((size_t)t->step_count, sizeof *p->by_name);
	for (int i = 0; i < t->step_count; i++)
		p->by_name[i] = i;
	qsort_r(p->by_name, (size_t)t->step_count, sizeof *p->by_name, peer_compare_names, t);
	for (int i = 1; i < t->step_count; i++) {
		const struct translate_step *s = &t->steps[p->by_name[i]], *before = &t->steps[p->by_name[i - 1]];
		if (strcmp(s->name, before->name) != 0 || s->name[0] == '?')
			continue;
		translate_refuse(t, s->line, "", "there is a step \"%s\" on line %d already", s->name, before->line);
		translate_hint(t, "give each step a name of its own");
	}
}

static int peer_find_step(const struct peers *p, const char *name)
{
	int low = 0, high = p->t->step_count - 1;
	while (low <= high) {
		int middle = low + (high - low) / 2, order = strcmp(name, p->t->steps[p->by_name[middle]].name);
		if (order == 0)
			return p->by_name[middle];
		if (order < 0)
			high = middle - 1;
		else
			low = middle + 1;
	}
	return -1;
}

static void peer_add_edge(struct peer_list *l, const struct translate_edge *edge)
{
	struct translation *t = l->p->t;
	if (t->edge_count >= t->limits->edges) {
		if (!l->p->full)
			translate_refuse(t, l->line, l->option, "the script has more than %d dependencies", t->limits->edges);
		l->p->full = true;
		return;
	}
	if (t->edge_count == t->edge_capacity) {
		t->edge_capacity = t->edge_capacity ? 2 * t->edge_capacity : 64;
		t->edges = xrealloc(t->edges, (size_t)t->edge_capacity * sizeof *t->edges);
	}
	t->edges[t->edge_count] = *edge;
	t->edges[t->edge_count].step = (int)(l->s - t->steps);
	t->edges[t->edge_count].option = l->option;
	t->edges[t->edge_count++].line = l->line;
}

static void peer_refuse_unknown(struct peer_list *l, const char *name)
{
	struct translation *t = l->p->t;
	struct nearest nearest = NEAREST(name);
	if (!translate_refuse(t, l->line, l->option, "unknown step \"%s\"", OPTION_QUOTE(name)))
		return;
	for (int i = 0; i < t->step_count; i++)
		nearest_try(&nearest, t->steps[i].name);
	if (nearest.best)
		translate_hint(t, "did you mean \"%s\"?", nearest.best);
	else
		translate_hint(t, "peers are steps of this script, or jobs by their number: 812, 812.solve");
}

/* Add an edge from the step to a peer that is a step of this script. */
static void peer_add_step(struct peer_list *l, const char *name, enum translate_condition condition)
{
	struct translation *t = l->p->t;
	int peer = peer_find_step(l->p, name);
	if (peer < 0)
		peer_refuse_unknown(l, name);
	else if (!l->own)
		translate_refuse(t, l->line, l->option, "this line is for all steps, so step \"%s\" would wait for itself", name);
	else if (&t->steps[peer] == l->s)
		translate_refuse(t, l->line, l->option, "cycle: %s -> %s", name, name);
	else
		peer_add_edge(l, &(struct translate_edge){.kind = l->kind, .condition = condition, .peer = peer});
}

/* Add an edge from the step to a peer that is given as STEP, JOB or JOB.STEP. */
static void peer_add(struct peer_list *l, const char *name, enum translate_condition condition)
{
	struct translate_edge edge = {.kind = l->kind, .condition = condition, .peer = -1};
	const char *rest = name;
	if (condition == TRANSLATE_TEARDOWN && name[strspn(name, "0123456789")]) {
		translate_refuse(l->p->t, l->line, l->option, "\"%s\" is not the number of a job, whose data could be torn down",
				 OPTION_QUOTE(name));
		return;
	}
	if (*name < '0' || *name > '9') {
		peer_add_step(l, name, condition);
		return;
	}
	if (!option_digits(&rest, INT64_MAX, &edge.peer_job) || edge.peer_job == 0 ||
	    (*rest && (*rest != '.' || !option_text_label(rest + 1)))) {
		translate_refuse(l->p->t, l->line, l->option, "\"%s\" is neither a step nor a job", OPTION_QUOTE(name));
		translate_hint(l->p->t, "write the name of a step of this script, 812 for a job, or 812.solve for a step of it");
		return;
	}
	if (l->kind == TRANSLATE_WITH) {
		translate_refuse(l->p->t, l->line, l->option, "\"%s\" is in another job, which cannot wait for this one", name);
		translate_hint(l->p->t, "steps that start together belong in one script");
		return;
	}
	if (l->kind == TRANSLATE_SAME_NODES && !*rest) {
		translate_refuse(l->p->t, l->line, l->option, "steps of job %s may have different nodes", name);
		translate_hint(l->p->t, "name a step of that job, as in %s.solve", name);
		return;
	}
	if (*rest)
		edge.peer_name = xstrdup(rest + 1);
	peer_add_edge(l, &edge);
	if (l->p->full)
		free(edge.peer_name);
}

static bool peer_refuse_delay(struct peer_list *l, char *text)
{
	if (!strchr(text, '+'))
		return true;
	translate_refuse(l->p->t, l->line, l->option, "\"%s\" has a delay; dependencies with a delay are not supported",
			 OPTION_QUOTE(text));
	translate_hint(l->p->t, "begin the step that waits with a sleep, or give it --begin");
	return false;
}

/* Read one item of --after: a peer X, or X:condition. */
static void peer_read_after(struct peer_list *l, char *text)
{
	char *colon = strchr(text, ':');
	int condition = TRANSLATE_OK;
	if (!peer_refuse_delay(l, text))
		return;
	if (colon) {
		*colon = '\0';
		while (condition <= TRANSLATE_TEARDOWN && strcmp(colon + 1, conditions[condition]) != 0)
			condition++;
	}
	if (condition <= TRANSLATE_TEARDOWN) {
		peer_add(l, text, (enum translate_condition)condition);
		return;
	}
	translate_refuse(l->p->t, l->line, l->option, "unknown condition \"%s\"", OPTION_QUOTE(colon + 1));
	translate_hint(l->p->t, "the conditions are ok, any, fail, start, corr and teardown");
}

/* Read one item of --dependency: type:X[:X]... with peers X, or a peer alone. */
static void peer_read_dependency(struct peer_list *l, char *text)
{
	static const char *const types[] = {"afterok", "afterany", "afternotok", "after", "aftercorr", "afterburstbuffer"};
	const char *rest = text;
	int condition = 0;
	if (!peer_refuse_delay(l, text))
		return;
	if (strcmp(text, "singleton") == 0) {
		if (l->s->deps_any)
			translate_refuse(l->p->t, l->line, l->option,
					 "singleton cannot be joined to other conditions by \"?\" (any)");
		peer_add_edge(l, &(struct translate_edge){.kind = l->kind, .condition = TRANSLATE_SINGLETON, .peer = -1});
		return;
	}
	if (strncmp(text, "singleton:", strlen("singleton:")) == 0) {
		translate_refuse(l->p->t, l->line, l->option, "singleton takes no job number");
		translate_hint(l->p->t, "write singleton alone: it is for all of your jobs of the same name");
		return;
	}
	char *item = option_item(&rest, ':');
	while (condition <= TRANSLATE_TEARDOWN && strcmp(item, types[condition]) != 0)
		condition++;
	if (condition > TRANSLATE_TEARDOWN && *item >= '0' && *item <= '9') {
		condition = TRANSLATE_ANY;
		rest = text;
	} else if (condition > TRANSLATE_TEARDOWN || !rest) {
		translate_refuse(l->p->t, l->line, l->option,
				 condition > TRANSLATE_TEARDOWN ? "unknown type \"%s\"" : "\"%s\" names no job",
				 OPTION_QUOTE(item));
		translate_hint(l->p->t, "write afterok, afterany, afternotok, after, aftercorr or afterburstbuffer followed by "
					":JOB, or singleton");
		rest = NULL;
	}
	free(item);
	while (!translate_has_enough_problems(l->p->t) && (item = option_item(&rest, ':'))) {
		peer_add(l, item, (enum translate_condition)condition);
		free(item);
	}
}

static void peer_read_list(struct peer_list *l, const char *text, void (*read)(struct peer_list *l, char *item))
{
	bool any = strchr(text, '?') != NULL;
	if (strcmp(text, "none") == 0)
		return;
	if (any && strchr(text, ',')) {
		translate_refuse(l->p->t, l->line, l->option, "\",\" (all) and \"?\" (any) are mixed");
		translate_hint(l->p->t, "let an extra step wait for one of the two lists");
		return;
	}
	if (any && l->kind != TRANSLATE_AFTER) {
		translate_refuse(l->p->t, l->line, l->option, "\"?\" (any) is for --after and --dependency only");
		return;
	}
	l->s->deps_any = l->s->deps_any || any;
	char *item;
	while (!translate_has_enough_problems(l->p->t) && !l->p->full && (item = option_item(&text, any ? '?' : ','))) {
		if (*item)
			read(l, item);
		else
			translate_refuse(l->p->t, l->line, l->option, "the list has an empty item");
		free(item);
	}
}

static void peer_read_plain(struct peer_list *l, char *name)
{
	peer_add(l, name, TRANSLATE_OK);
}

static void peer_read_setting(struct peers *p, struct translate_step *s, enum option_id id, enum translate_kind kind)
{
	const struct translate_setting *setting = translate_find_setting(p->t, s, id, NULL);
	const char *option = id == OPTION_ID_DEPENDENCY ? "--dependency" : kind_options[kind];
	if (!setting)
		return;
	bool own = p->t->step_count == 1 || setting == &s->own.of[id];
	struct peer_list l = {p, s, kind, option, setting->line, own};
	peer_read_list(&l, json_string_value(setting->value),
		       id == OPTION_ID_AFTER	    ? peer_read_after
		       : id == OPTION_ID_DEPENDENCY ? peer_read_dependency
						    : peer_read_plain);
}

static int peer_compare_edges(const void *a, const void *b)
{
	const struct translate_edge *x = *(const struct translate_edge *const *)a, *y = *(const struct translate_edge *const *)b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->peer != y->peer)
		return x->peer < y->peer ? -1 : 1;
	if (x->peer_job != y->peer_job)
		return x->peer_job < y->peer_job ? -1 : 1;
	/* a condition `teardown` may stand beside another condition on the same job */
	if ((x->condition == TRANSLATE_TEARDOWN) != (y->condition == TRANSLATE_TEARDOWN))
		return x->condition < y->condition ? -1 : 1;
	return strcmp(x->peer_name ? x->peer_name : "", y->peer_name ? y->peer_name : "");
}

static void peer_check_twice(struct translation *t, const struct translate_step *s)
{
	if (s->edge_count < 2)
		return;
	const struct translate_edge **sorted = xcalloc((size_t)s->edge_count, sizeof *sorted);
	for (int i = 0; i < s->edge_count; i++)
		sorted[i] = &t->edges[s->first_edge + i];
	qsort(sorted, (size_t)s->edge_count, sizeof *sorted, peer_compare_edges);
	for (int i = 1; i < s->edge_count; i++)
		if (peer_compare_edges(&sorted[i - 1], &sorted[i]) == 0) {
			const struct translate_edge *edge = sorted[i];
			const char *name = edge->peer >= 0 ? t->steps[edge->peer].name : edge->peer_name;
			if (edge->condition == TRANSLATE_SINGLETON)
				translate_refuse(t, edge->line, edge->option, "singleton is named twice");
			else if (edge->peer < 0 && !name)
				translate_refuse(t, edge->line, edge->option, "job %" PRId64 " is named twice", edge->peer_job);
			else
				translate_refuse(t, edge->line, edge->option, "\"%s\" is named twice", name);
		}
	free(sorted);
}

/* Refuse --same-nodes if it names several steps or an array. */
static void peer_check_same_nodes(struct translation *t, const struct translate_step *s)
{
	int count = 0;
	for (int i = 0; i < s->edge_count; i++) {
		const struct translate_edge *edge = &t->edges[s->first_edge + i];
		if (edge->kind != TRANSLATE_SAME_NODES)
			continue;
		if (count++ == 1)
			translate_refuse(t, edge->line, "--same-nodes", "more than one step is named");
		if (edge->peer >= 0 && translate_value(t, &t->steps[edge->peer], OPTION_ID_ARRAY)) {
			translate_refuse(t, edge->line, "--same-nodes",
					 "\"%s\" is an array, whose elements have nodes of their own", t->steps[edge->peer].name);
			translate_hint(t, "name a step that is not an array");
		}
	}
}

/* Do these settings have --after=none for all steps? Then the steps do not wait for each other in their order. */
static bool peer_frees_all(const struct translate_set *set)
{
	const json_t *value = set->of[OPTION_ID_AFTER].value;
	return value && strcmp(json_string_value(value), "none") == 0;
}

static bool peer_is_named(const struct translate_step *s)
{
	return s->own.of[OPTION_ID_AFTER].value || s->own.of[OPTION_ID_DEPENDENCY].value || s->own.of[OPTION_ID_WITH].value;
}

/* Make the edges of a step to the peers that it waits for: those on its own line; or else, in a plain sequence, the step before
 * it; or else the peers of the whole job. */
static void peer_read_step_after(struct peers *p, struct translate_step *s)
{
	struct translation *t = p->t;
	bool own = s->own.of[OPTION_ID_AFTER].value || s->own.of[OPTION_ID_DEPENDENCY].value;
	if (t->sequence && s > t->steps && !own) {
		struct peer_list l = {p, s, TRANSLATE_AFTER, "", s->line, true};
		peer_add_edge(&l, &(struct translate_edge){
					  .kind = TRANSLATE_AFTER, .condition = TRANSLATE_OK, .peer = (int)(s - t->steps) - 1});
		return;
	}
	int which = translate_choose_rival(t, s, OPTION_ID_AFTER, OPTION_ID_DEPENDENCY);
	if (which >= 0)
		peer_read_setting(p, s, (enum option_id)which, TRANSLATE_AFTER);
}

void translate_peers(struct translation *t)
{
	struct peers p = {.t = t};
	t->sequence = t->step_count > 1 && !peer_frees_all(&t->command) && !peer_frees_all(&t->rota);
	for (int i = 0; t->sequence && i < t->step_count; i++)
		t->sequence = !peer_is_named(&t->steps[i]);
	peer_index_names(&p);
	for (int i = 0; i < t->step_count && !p.full && !translate_has_enough_problems(t); i++) {
		struct translate_step *s = &t->steps[i];
		s->first_edge = t->edge_count;
		peer_read_step_after(&p, s);
		peer_read_setting(&p, s, OPTION_ID_WITH, TRANSLATE_WITH);
		peer_read_setting(&p, s, OPTION_ID_SAME_NODES, TRANSLATE_SAME_NODES);
		peer_read_setting(&p, s, OPTION_ID_OTHER_NODES, TRANSLATE_OTHER_NODES);
		s->edge_count = t->edge_count - s->first_edge;
		peer_check_twice(t, s);
		peer_check_same_nodes(t, s);
	}
	free(p.by_name);
}
