/* substep_place.c - chooses the nodes of a sub-step (substep_place.h).
 *
 * Called by: substep_engine.c.
 * Invariants:
 * - A sub-step that asks for no number of nodes runs on one node, the first that has what it needs; on several only if no single
 *   node is large enough.
 * - The resources of another node are not known before its agent has connected. Agents are called when a sub-step may need them.
 * - A sub-step's memory and generic resources are taken on each of its nodes.
 * - Nothing starts on a node that is lost. On a node that is drained or about to leave, only sub-steps start that no other node
 *   can run. */
#include "procmgr/stepmgr/substep_place.h"

#include <stdlib.h>
#include <string.h>

#include "lib/hosts.h"
#include "lib/text.h"
#include "procmgr/stepmgr/substep_part.h"
#include "procmgr/stepmgr/substep_parts.h"

enum { OWN_NODE = -1 }; /* this node, in place of an index in substep_nodes */

static struct substep_pool *pool_of(struct substep_engine *m, int node)
{
	return node == OWN_NODE ? m->pool : substep_nodes_pool(m->nodes, node);
}

static const char *name_of(struct substep_engine *m, int node)
{
	return node == OWN_NODE ? m->node : substep_nodes_name(m->nodes, node);
}

/* Returns true if the request allows the node (`nodelist`, `exclude`), and the node still belongs to the step and is not lost. */
static bool is_meant(struct substep_engine *m, const struct substep_spec *spec, int node)
{
	const char *name = name_of(m, node);
	return substep_event_use(m, name) != SUBSTEP_NODE_GONE && (node == OWN_NODE || substep_nodes_is_here(m->nodes, node)) &&
	       (!*spec->nodelist || hosts_find(spec->nodelist, name) >= 0) &&
	       (!*spec->exclude || hosts_find(spec->exclude, name) < 0);
}

/* Returns true if the node can be used now: its agent is connected, and it is not drained or leaving, unless the sub-step takes
 * such. */
static bool is_ready(struct substep_engine *m, const struct substep *s, int node)
{
	if (!s->takes_avoided && substep_event_use(m, name_of(m, node)) != SUBSTEP_NODE_FREE)
		return false;
	return node == OWN_NODE || (substep_nodes_pool(m->nodes, node) && substep_nodes_is_connected(m->nodes, node));
}

/* Take the resources that `ranks` of the sub-step need on a node. */
static bool take_node(struct substep_engine *m, struct substep *s, int node, struct substep_ranks ranks, const char **reason)
{
	struct substep_share share;
	if (!substep_pool_take(pool_of(m, node), s->spec, ranks.count, &share, reason))
		return false;
	if (node == OWN_NODE) {
		s->ranks = ranks;
		s->share = share;
		return true;
	}
	substep_part_add(s, node, name_of(m, node), ranks, share);
	return true;
}

void substep_place_give(struct substep_engine *m, struct substep *s)
{
	substep_pool_give(m->pool, &s->share);
	for (int i = 0; i < s->part_count; i++)
		if (substep_nodes_pool(m->nodes, s->parts[i].node))
			substep_pool_give(substep_nodes_pool(m->nodes, s->parts[i].node), &s->parts[i].share);
	substep_part_free_all(s);
	s->ranks = (struct substep_ranks){0, 1, 0, 0};
}

/* Take the resources of the whole sub-step on one node. */
static bool take_single(struct substep_engine *m, struct substep *s, const char **reason)
{
	struct substep_ranks all = {0, 1, s->ntasks, 0};
	struct err e;
	bool can = false;
	const char *why = "";
	for (int node = OWN_NODE; node < substep_nodes_count(m->nodes); node++) {
		if (!is_meant(m, s->spec, node) || !is_ready(m, s, node))
			continue;
		if (take_node(m, s, node, all, &why))
			return true;
		if (substep_pool_can(pool_of(m, node), s->spec, s->ntasks, &e)) {
			*reason = can ? *reason : why;
			can = true;
		}
	}
	return false;
}

/* Take resources for as many tasks on each node as it has room for, until all tasks have some. Returns false if they have not. */
static bool take_spread(struct substep_engine *m, struct substep *s, const char **reason)
{
	int placed = 0;
	for (int node = OWN_NODE; node < substep_nodes_count(m->nodes) && placed < s->ntasks; node++) {
		if (!is_meant(m, s->spec, node) || !is_ready(m, s, node))
			continue;
		struct substep_ranks ranks = {placed, 1, substep_pool_room(pool_of(m, node), s->spec, s->ntasks - placed), 0};
		if (ranks.count > 0 && take_node(m, s, node, ranks, reason))
			placed += ranks.count;
	}
	if (placed == s->ntasks)
		return true;
	substep_place_give(m, s);
	*reason = "cpus";
	return false;
}

/* Has the sub-step taken resources on a node with this name already? A growth may be on a node that the step itself has too. */
static bool has_node(struct substep_engine *m, const struct substep *s, const char *name)
{
	if (s->ranks.count > 0 && strcmp(m->node, name) == 0)
		return true;
	for (int i = 0; i < s->part_count; i++)
		if (strcmp(s->parts[i].name, name) == 0)
			return true;
	return false;
}

/* Take resources on as many nodes as the request asks for, with the tasks distributed as it asks. */
static bool take_nodes(struct substep_engine *m, struct substep *s, const char **reason)
{
	int wanted = s->spec->nodes, found = 0;
	*reason = "nodes";
	for (int node = OWN_NODE; node < substep_nodes_count(m->nodes) && found < wanted; node++) {
		struct substep_ranks ranks = substep_ranks_of_node(s->ntasks, wanted, found, s->spec->plane);
		if (!is_meant(m, s->spec, node) || !is_ready(m, s, node) || has_node(m, s, name_of(m, node)) ||
		    !take_node(m, s, node, ranks, reason))
			continue;
		found++;
	}
	if (found == wanted)
		return true;
	substep_place_give(m, s);
	return false;
}

/* Returns true if the sub-step may run on some node whose agent is not connected. */
static bool lacks_agents(struct substep_engine *m, const struct substep *s)
{
	for (int node = 0; node < substep_nodes_count(m->nodes); node++)
		if (is_meant(m, s->spec, node) && !is_ready(m, s, node) &&
		    (s->takes_avoided || substep_event_use(m, name_of(m, node)) == SUBSTEP_NODE_FREE))
			return true;
	return false;
}

/* Could the nodes whose agents are connected run the sub-step if nothing else ran there? */
static bool can_run(struct substep_engine *m, const struct substep *s)
{
	const struct substep_spec *spec = s->spec;
	struct err why;
	int most = 0, found = 0;
	for (int node = OWN_NODE; node < substep_nodes_count(m->nodes); node++) {
		int count = found < spec->nodes ? substep_ranks_of_node(s->ntasks, spec->nodes, found, spec->plane).count : 0;
		if (!is_meant(m, spec, node) || !is_ready(m, s, node))
			continue;
		found += spec->nodes > 0 && substep_pool_can(pool_of(m, node), spec, count, &why);
		most += substep_pool_can(pool_of(m, node), spec, 1, &why) ? substep_pool_most(pool_of(m, node), spec) : 0;
	}
	return spec->nodes > 0 ? found >= spec->nodes : most >= s->ntasks;
}

/* Set s->takes_avoided: whether the sub-step needs nodes that are drained or leaving. It needs none as long as the agent of
 * another node is not connected, since the resources of that node are not known yet. */
static void choose_avoided(struct substep_engine *m, struct substep *s)
{
	bool any = false;
	for (int node = OWN_NODE; node < substep_nodes_count(m->nodes); node++)
		any = any || substep_event_use(m, name_of(m, node)) == SUBSTEP_NODE_AVOIDED;
	s->takes_avoided = false;
	if (any)
		s->takes_avoided = !lacks_agents(m, s) && !can_run(m, s);
}

bool substep_place_take(struct substep_engine *m, struct substep *s, const char **reason)
{
	*reason = "";
	choose_avoided(m, s);
	if (s->spec->nodes > 0 ? take_nodes(m, s, reason) : take_single(m, s, reason))
		return true;
	if (s->spec->nodes == 0 && !**reason && take_spread(m, s, reason))
		return true;
	if (lacks_agents(m, s)) {
		substep_nodes_call(m->nodes);
		*reason = "agents";
	}
	return false;
}

bool substep_place_is_never(struct substep_engine *m, struct substep *s, struct err *e)
{
	const struct substep_spec *spec = s->spec;
	int meant = 0;
	if (s->fits || substep_nodes_count(m->nodes) == 0 || lacks_agents(m, s))
		return false;
	s->fits = can_run(m, s);
	if (s->fits)
		return false;
	for (int node = OWN_NODE; node < substep_nodes_count(m->nodes); node++)
		meant += is_meant(m, spec, node);
	err_set(e, "%d task%s with %d CPU%s%s %s on %d of the allocation's nodes", s->ntasks, text_plural(s->ntasks),
		spec->cpus_per_task, text_plural(spec->cpus_per_task), s->ntasks == 1 ? "" : " each",
		s->ntasks == 1 ? "does not fit" : "do not fit", spec->nodes > 0 && spec->nodes <= meant ? spec->nodes : meant);
	return true;
}

bool substep_place_can(struct substep_engine *m, const struct substep_spec *spec, struct err *e)
{
	int meant = 0;
	for (int node = OWN_NODE; node < substep_nodes_count(m->nodes); node++)
		meant += is_meant(m, spec, node);
	if (spec->nodes > meant || meant == 0)
		return err_set(e, "the sub-step needs %d node%s; it may use %d of the allocation's nodes",
			       spec->nodes ? spec->nodes : 1, text_plural(spec->nodes ? spec->nodes : 1), meant);
	return meant > 1 || !is_meant(m, spec, OWN_NODE) || substep_pool_can(m->pool, spec, spec->ntasks, e);
}
