/* place.c - chooses nodes for starts.
 *
 * Invariants: no node gives more than it has; steps without GPUs use nodes with GPUs last. */
#include "place.h"

#include "grow.h"

static bool node_fits(const struct node *n, const struct request *r)
{
	return n->up && n->cpus_free >= r->cpus && n->mem_free_mb >= r->mem_mb && __builtin_popcount(n->gpus_free) >= r->gpus;
}

bool place_take(struct world *w, struct job *j, const struct request *r)
{
	int found = 0, first = r->gpus ? w->gpu_nodes - 1 : w->nodes - 1;

	for (int i = first; i >= 0 && found < r->nodes; i--) {
		if (!node_fits(&w->node[i], r))
			continue;
		j->placed = grow(j->placed, j->placings + found, &j->room_placed, sizeof *j->placed);
		j->placed[j->placings + found++] = (struct placed){i, 0};
	}
	if (found < r->nodes)
		return false;
	for (int i = 0; i < found; i++) {
		struct placed *p = &j->placed[j->placings + i];
		struct node *n = &w->node[p->node];

		n->cpus_free -= r->cpus;
		n->mem_free_mb -= r->mem_mb;
		for (int gpu = 0; gpu < r->gpus; gpu++) {
			unsigned unit = n->gpus_free & -n->gpus_free;

			n->gpus_free &= ~unit;
			p->gpus |= unit;
		}
	}
	j->placings += found;
	return true;
}

void place_give_back(struct world *w, const struct job *j, const struct attempt *t)
{
	const struct request *r = &j->request[j->step[t->step].request];

	for (int i = 0; i < t->nodes; i++) {
		const struct placed *p = &j->placed[t->placed + i];

		w->node[p->node].cpus_free += r->cpus;
		w->node[p->node].mem_free_mb += r->mem_mb;
		w->node[p->node].gpus_free |= p->gpus;
	}
}
