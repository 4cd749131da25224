/* translation.c - a translation under way: made for one request, filled by the stages, freed at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobmgr/translate/translate_parts.h"

enum { ITEMS_MOST = 100000 };

int64_t translate_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec + (now.tv_nsec > 0);
}

void translation_init(struct translation *t, const struct translate_request *request, const struct translate_limits *limits,
		      struct translate_problems *problems)
{
	memset(t, 0, sizeof *t);
	t->request = request;
	t->limits = limits;
	t->problems = problems;
	t->latest = -1;
	t->context = (struct option_context){request->now, limits->array, ITEMS_MOST};
}

void translation_clear(struct translation *t)
{
	struct translate_set *sets[] = {&t->command, &t->rota, &t->slurm, &t->pbs};
	for (int i = 0; i < 4; i++)
		translate_set_clear(sets[i]);
	for (int i = 0; i < t->step_count; i++)
		translate_set_clear(&t->steps[i].own);
	for (int i = 0; i < t->edge_count; i++)
		free(t->edges[i].peer_name);
	translate_problems_free(&t->warnings);
	free(t->arguments);
	translate_transfers_clear(t);
	free(t->staging);
	free(t->pool.name);
	free(t->steps);
	free(t->edges);
}

struct translate_step *translation_add_step(struct translation *t, const char *name, int line)
{
	if (t->step_count == t->step_capacity) {
		t->step_capacity = t->step_capacity ? 2 * t->step_capacity : 8;
		t->steps = xrealloc(t->steps, (size_t)t->step_capacity * sizeof *t->steps);
	}
	struct translate_step *s = &t->steps[t->step_count++];
	memset(s, 0, sizeof *s);
	snprintf(s->name, sizeof s->name, "%s", name);
	s->line = line;
	s->last_line = line;
	s->with = s->same = t->step_count - 1;
	s->next_with = -1;
	return s;
}
