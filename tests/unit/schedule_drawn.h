/* schedule_drawn.h - reads clusters drawn as text, for the tests of the scheduler.
 *
 * draw_new() reads nodes, partitions, licences, running steps, and the queue. The comment of each function that reads a line
 * describes that line: a name, then words, most of them of the form NAME=VALUE. */
#ifndef ROTA_TESTS_SCHEDULE_DRAWN_H
#define ROTA_TESTS_SCHEDULE_DRAWN_H

#include <math.h>

#include "jobmgr/schedule/schedule.h"
#include "jobmgr/schedule/schedule_arena.h"
#include "jobmgr/schedule/schedule_preempt.h"
#include "tests/unit/unit.h"

enum { DRAW_MOST = 128, DRAW_NOW = 1000 };

struct draw {
	struct schedule_arena *arena;
	struct schedule_snapshot snapshot;
	struct schedule_node node[DRAW_MOST];
	struct schedule_partition partition[DRAW_MOST];
	struct schedule_license license[DRAW_MOST];
	struct schedule_outage outage[DRAW_MOST];
	struct schedule_running running[DRAW_MOST];
	struct schedule_pending pending[DRAW_MOST];
	struct schedule_candidate candidate[DRAW_MOST];
	size_t candidate_count;
	char *cells[DRAW_MOST];
	char text[16384];
};

/* Returns the next word of a line, or NULL. Sets *value to the text after the word's '=', or to "". */
static inline char *draw_word(char **at, char **value)
{
	char *word = strtok_r(NULL, " ", at);
	char *equals = word ? strchr(word, '=') : NULL;
	*value = "";
	if (equals) {
		*equals = '\0';
		*value = equals + 1;
	}
	return word;
}

/* Split "a,b,c" into words. */
static inline size_t draw_words(struct draw *d, const char *list, const char *const **words)
{
	const char **word = schedule_arena_take(d->arena, DRAW_MOST, sizeof *word);
	size_t count = 0;
	char *rest, *copy = (char *)schedule_arena_print(d->arena, "%s", list);
	for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest))
		word[count++] = one;
	*words = word;
	return count;
}

static inline size_t draw_numbers(struct draw *d, const char *list, const int **numbers)
{
	const char *const *word;
	size_t count = draw_words(d, list, &word);
	int *number = schedule_arena_take(d->arena, count, sizeof *number);
	for (size_t i = 0; i < count; i++)
		number[i] = atoi(word[i]);
	*numbers = number;
	return count;
}

/* Read "gpu:2" as an amount. */
static inline size_t draw_amount(struct draw *d, const char *text, const struct schedule_amount **amounts)
{
	struct schedule_amount *amount = schedule_arena_take(d->arena, 1, sizeof *amount);
	const char *colon = strchr(text, ':');
	amount->name = schedule_arena_print(d->arena, "%.*s", (int)(colon - text), text);
	amount->count = atoi(colon + 1);
	*amounts = amount;
	return 1;
}

static inline size_t draw_units(struct draw *d, const char *text, const struct schedule_devices **units)
{
	struct schedule_devices *unit = schedule_arena_take(d->arena, 1, sizeof *unit);
	const char *colon = strchr(text, ':');
	unit->name = schedule_arena_print(d->arena, "%.*s", (int)(colon - text), text);
	unit->count = draw_numbers(d, colon + 1, &unit->device);
	*units = unit;
	return 1;
}

static inline int draw_node_id(const struct draw *d, const char *name)
{
	for (size_t i = 0; i < d->snapshot.node_count; i++)
		if (!strcmp(d->node[i].name, name))
			return d->node[i].id;
	return -1;
}

static inline size_t draw_node_ids(struct draw *d, const char *list, const int **ids)
{
	const char *const *word;
	size_t count = draw_words(d, list, &word);
	int *id = schedule_arena_take(d->arena, count, sizeof *id);
	for (size_t i = 0; i < count; i++)
		id[i] = draw_node_id(d, word[i]);
	*ids = id;
	return count;
}

/* A node is a line: its name, a character for each CPU ('.': free, a letter: the step that runs there), then words:
 *	n1 aa.. m=4096 g=gpu:2 f=ssd,ib w=5 down
 * or failing, off, coming (it is being powered on; ready=60: in 60 s, with image i); i=el8: its image, or i=el8/el7, where el7 is
 * its default image; prep=m:1: its preparation. */
static inline void draw_node(struct draw *d, char *line)
{
	struct schedule_node *node = &d->node[d->snapshot.node_count];
	char *rest, *value, *word = strtok_r(line, " ", &rest);
	node->id = 10 + (int)d->snapshot.node_count;
	node->name = word;
	node->usable = true;
	d->cells[d->snapshot.node_count++] = strtok_r(NULL, " ", &rest);
	node->cpus = (int)strlen(d->cells[node - d->node]);
	while ((word = draw_word(&rest, &value))) {
		if (!strcmp(word, "m"))
			node->mem_mb = atoi(value);
		else if (!strcmp(word, "w"))
			node->weight = atoi(value);
		else if (!strcmp(word, "down"))
			node->usable = false;
		else if (!strcmp(word, "failing"))
			node->failing = true;
		else if (!strcmp(word, "off"))
			node->power = SCHEDULE_POWER_OFF;
		else if (!strcmp(word, "coming"))
			node->power = SCHEDULE_POWER_COMING;
		else if (!strcmp(word, "i")) {
			node->image = strtok_r(value, "/", &value);
			node->default_image = *value ? value : NULL;
		} else if (!strcmp(word, "prep")) {
			node->prep = value;
		} else if (!strcmp(word, "ready")) {
			node->power = SCHEDULE_POWER_COMING;
			node->ready_at = DRAW_NOW + atoi(value);
		} else if (!strcmp(word, "f"))
			node->feature_count = draw_words(d, value, &node->features);
		else if (!strcmp(word, "g")) {
			struct schedule_gres *gres = schedule_arena_take(d->arena, 1, sizeof *gres);
			const struct schedule_amount *amount;
			node->gres_count = draw_amount(d, value, &amount);
			gres->name = amount->name;
			gres->total = (int)amount->count;
			node->gres = gres;
		} else
			fail_msg("a node has no \"%s\"", word);
	}
}

/* Read the words of a step that have one number. */
static inline bool draw_number(struct schedule_pending *p, const char *word, const char *value)
{
	const struct {
		const char *word;
		int *number;
		int64_t *large;
	} known[] = {
		{"k", &p->ntasks, NULL},	{"tpn", &p->ntasks_per_node, NULL}, {"c", &p->cpus_per_task, NULL},
		{"m", NULL, &p->mem_mb},	{"mc", NULL, &p->mem_per_cpu_mb},   {"t", NULL, &p->time_limit_s},
		{"tmin", NULL, &p->time_min_s}, {"tier", &p->tier, NULL},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (strcmp(word, known[i].word))
			continue;
		if (known[i].number)
			*known[i].number = atoi(value);
		else
			*known[i].large = atoi(value);
		return true;
	}
	return false;
}

/* Read the words of a step about peers and arrays. */
static inline bool draw_peer(struct draw *d, struct schedule_pending *p, const char *word, const char *value)
{
	int *step = schedule_arena_take(d->arena, 1, sizeof *step);
	*step = value[0] - 'A';
	if (!strcmp(word, "with"))
		sscanf(value, "%d/%d", &p->with_set, &p->with_count);
	else if (!strcmp(word, "same"))
		p->same_as = step, p->same_as_count = 1;
	else if (!strcmp(word, "other"))
		p->other_than = step, p->other_than_count = 1;
	else if (!strcmp(word, "nodes"))
		p->same_nodes_count = draw_node_ids(d, value, &p->same_nodes);
	else if (!strcmp(word, "away"))
		p->other_nodes_count = draw_node_ids(d, value, &p->other_nodes);
	else if (!strcmp(word, "data"))
		p->data_nodes_count = draw_node_ids(d, value, &p->data_nodes);
	else if (!strcmp(word, "array"))
		sscanf(value, "%d/%d/%d", &p->array_size, &p->array_free_slots, &p->array_next);
	else if (!strcmp(word, "ahead"))
		p->array_predispatch = atoi(value);
	else if (!strcmp(word, "seconds"))
		p->array_ahead = true;
	else if (!strcmp(word, "skip"))
		p->array_skip_count = draw_numbers(d, value, &p->array_skip);
	else
		return false;
	return true;
}

/* A step of the queue is a line, named with a capital letter; all are of job 1, and their step ids are 0, 1, ...:
 *	A p=long n=1-2 k=4 c=2 tpn=2 m=100 mc=10 g=gpu:1 l=mat:1 x f=ssd&!ib on=n1,n2 off=n3 t=600 tmin=60 by=900
 *	B with=0/2 same=A other=A nodes=n1 away=n2 array=10/4/0 skip=1,3 ahead=4 seconds
 * n nodes, k tasks, c CPUs a task, on and off node lists, t limit, by deadline, array size/free slots/next; seconds: ahead is work for
 * seconds; in=3: the outage of that id lets it in; i=el8: its image, prep=m:1: its preparation. */
static inline void draw_pending(struct draw *d, char *line)
{
	struct schedule_pending *p = &d->pending[d->snapshot.pending_count];
	char *rest, *value, *word = strtok_r(line, " ", &rest);
	*p = (struct schedule_pending){.job = 1, .step = word[0] - 'A', .name = word, .partition = "p", .array_free_slots = -1};
	d->snapshot.pending_count++;
	while ((word = draw_word(&rest, &value))) {
		if (draw_number(p, word, value) || draw_peer(d, p, word, value))
			continue;
		if (!strcmp(word, "p"))
			p->partition = value;
		else if (!strcmp(word, "n"))
			sscanf(value, "%d-%d", &p->nodes_min, &p->nodes_max) == 1 ? p->nodes_max = p->nodes_min : 0;
		else if (!strcmp(word, "g"))
			p->gres_count = draw_amount(d, value, &p->gres);
		else if (!strcmp(word, "l"))
			p->license_count = draw_amount(d, value, &p->licenses);
		else if (!strcmp(word, "x"))
			p->exclusive = true;
		else if (!strcmp(word, "f"))
			p->constraint = value;
		else if (!strcmp(word, "i"))
			p->image = value;
		else if (!strcmp(word, "prep"))
			p->prep = value;
		else if (!strcmp(word, "on"))
			p->nodelist_count = draw_words(d, value, &p->nodelist);
		else if (!strcmp(word, "off"))
			p->exclude_count = draw_words(d, value, &p->exclude);
		else if (!strcmp(word, "by"))
			p->deadline_at = DRAW_NOW + atoi(value);
		else if (!strcmp(word, "in"))
			p->admitted_count = draw_numbers(d, value, &p->admitted);
		else
			fail_msg("a step has no \"%s\"", word);
	}
}

/* A partition is a line:
 *	long prio=10 nodes=n1,n2 time=3600 max=2 down */
static inline void draw_partition(struct draw *d, char *line)
{
	struct schedule_partition *partition = &d->partition[d->snapshot.partition_count++];
	char *rest, *value, *word = strtok_r(line, " ", &rest);
	partition->name = word;
	while ((word = draw_word(&rest, &value))) {
		if (!strcmp(word, "prio"))
			partition->priority = atoi(value);
		else if (!strcmp(word, "nodes"))
			partition->node_count = draw_node_ids(d, value, &partition->node_ids);
		else if (!strcmp(word, "time"))
			partition->max_time_s = atoi(value);
		else if (!strcmp(word, "max"))
			partition->max_nodes = atoi(value);
		else
			partition->state = schedule_state_of(word);
	}
}

static inline void draw_license(struct draw *d, char *line)
{
	struct schedule_license *license = &d->license[d->snapshot.license_count++];
	char *rest;
	license->name = strtok_r(line, " ", &rest);
	license->total = atoi(strtok_r(NULL, " ", &rest));
}

/* An outage is a line: its id, its begin and end ('-': no end), and its nodes, unless they are those of the line before:
 *	3 +300 +900 n1,n2 */
static inline void draw_outage(struct draw *d, char *line)
{
	struct schedule_outage *outage = &d->outage[d->snapshot.outage_count++];
	char *rest;
	outage->id = atoi(strtok_r(line, " ", &rest));
	outage->from = DRAW_NOW + atoi(strtok_r(NULL, " ", &rest));
	const char *to = strtok_r(NULL, " ", &rest);
	outage->to = strcmp(to, "-") ? DRAW_NOW + atoi(to) : INFINITY;
	const char *nodes = strtok_r(NULL, " ", &rest);
	if (nodes)
		outage->node_count = draw_node_ids(d, nodes, &outage->node_ids);
	outage->description = schedule_arena_print(d->arena, "outage %d", outage->id);
}

/* A running step is a line that begins with its letter (it ends in so many seconds, '-' has no time limit), and a row for each
 * node that it is on:
 *	a +300 m=100 g=gpu:0,1 l=mat:1 keep=A tier=0 lost=50
 *	b - of=A ahead=n1
 * of=A: an element of the array A. A pre-dispatched one (ahead=NODE) has no CPU. A step with a tier may be preempted, and loses
 * so many seconds, or is suspended: suspends=cpus, or all, its licences too. */
static inline void draw_running(struct draw *d, char *line)
{
	struct schedule_running row = {0};
	char *rest, *value, *word = strtok_r(line, " ", &rest), *end = strtok_r(NULL, " ", &rest);
	row.job = 100 + word[0] - 'a';
	row.label = word;
	row.attempt = 1;
	row.ends_at = !strcmp(end, "-") ? INFINITY : DRAW_NOW + atoi(end);
	struct schedule_candidate *candidate = &d->candidate[d->candidate_count];
	*candidate = (struct schedule_candidate){.job = row.job, .step = row.step, .attempt = row.attempt};
	while ((word = draw_word(&rest, &value))) {
		if (!strcmp(word, "m"))
			row.mem_mb = atoi(value);
		else if (!strcmp(word, "g"))
			row.gres_count = draw_units(d, value, &row.gres);
		else if (!strcmp(word, "l"))
			row.license_count = draw_amount(d, value, &row.licenses);
		else if (!strcmp(word, "keep")) {
			row.reserved = true;
			row.reserved_for = value[0] - 'A';
			row.job = 1;
		} else if (!strcmp(word, "of")) {
			row.job = 1;
			row.request = value[0] - 'A';
		} else if (!strcmp(word, "ahead")) {
			row.predispatched = true;
			row.node_id = draw_node_id(d, value);
		} else if (!strcmp(word, "tier")) {
			candidate->tier = atoi(value);
			d->candidate_count++;
		} else if (!strcmp(word, "lost")) {
			candidate->lost_s = atoi(value);
		} else if (!strcmp(word, "from")) {
			candidate->from_at = strtod(value, NULL);
		} else if (!strcmp(word, "suspends")) {
			candidate->suspends = true;
			candidate->gives.licenses = !strcmp(value, "all");
			candidate->gives.gpus = !strcmp(value, "gpus");
		} else
			fail_msg("what runs has no \"%s\"", word);
	}
	for (size_t i = 0; i < row.license_count; i++)
		for (size_t k = 0; k < d->snapshot.license_count; k++)
			if (!strcmp(row.licenses[i].name, d->license[k].name))
				d->license[k].used += row.licenses[i].count;
	for (size_t i = 0; i < d->snapshot.node_count; i++) {
		row.cpus = 0;
		for (const char *cell = d->cells[i]; *cell; cell++)
			row.cpus += *cell == row.label[0];
		if (row.predispatched ? row.node_id != d->node[i].id : !row.cpus)
			continue;
		row.node_id = d->node[i].id;
		d->node[i].cpus_used += row.cpus;
		d->node[i].mem_used_mb += row.mem_mb;
		d->running[d->snapshot.running_count++] = row;
		row.license_count = 0;
	}
}

/* Find the free devices of a node's generic resource. */
static inline void draw_free_units(struct draw *d, struct schedule_node *node)
{
	struct schedule_gres *gres = (struct schedule_gres *)node->gres;
	int *free = schedule_arena_take(d->arena, node->gres_count ? (size_t)gres->total : 0, sizeof *free);
	for (int unit = 0; node->gres_count && unit < gres->total; unit++) {
		bool held = false;
		for (size_t r = 0; r < d->snapshot.running_count; r++)
			for (size_t k = 0; d->running[r].node_id == node->id && k < d->running[r].gres_count; k++)
				for (size_t u = 0; u < d->running[r].gres[k].count; u++)
					held |= d->running[r].gres[k].device[u] == unit;
		if (!held)
			free[gres->free_count++] = unit;
	}
	if (node->gres_count)
		gres->free = free;
}

static inline void draw_lines(struct draw *d, const char *text, void (*each)(struct draw *, char *))
{
	char *rest, *copy = (char *)schedule_arena_print(d->arena, "%s", text ? text : "");
	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		each(d, line);
}

/* Returns the cluster that the texts draw, with its snapshot. If `partitions` is NULL, one partition, "p", has all nodes. */
static inline struct draw *draw_new(const char *nodes, const char *partitions, const char *licenses, const char *running,
				    const char *queue)
{
	struct draw *d = calloc(1, sizeof *d);
	struct schedule_snapshot *s = &d->snapshot;
	d->arena = schedule_arena_new();
	s->now = DRAW_NOW;
	s->nodes = d->node;
	s->partitions = d->partition;
	s->licenses = d->license;
	s->outages = d->outage;
	s->running = d->running;
	s->pending = d->pending;
	draw_lines(d, nodes, draw_node);
	draw_lines(d, licenses, draw_license);
	draw_lines(d, running, draw_running);
	draw_lines(d, queue, draw_pending);
	draw_lines(d, partitions ? partitions : "p", draw_partition);
	for (size_t i = 0; i < s->node_count; i++)
		draw_free_units(d, &d->node[i]);
	if (!partitions) {
		int *id = schedule_arena_take(d->arena, s->node_count, sizeof *id);
		for (size_t i = 0; i < s->node_count; i++)
			id[i] = d->node[i].id;
		d->partition[0].node_ids = id;
		d->partition[0].node_count = s->node_count;
	}
	return d;
}

static inline void draw_free(struct draw *d)
{
	schedule_arena_free(d->arena);
	free(d);
}

#endif
