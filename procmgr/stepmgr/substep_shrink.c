/* substep_shrink.c - gives nodes of a running step back (substep_shrink.h).
 *
 * Called by: substep_request.c for the request `shrink`, substep_recovery.c.
 * Invariants:
 * - The record `shrink`, which procmgrd reports, is in the journal before the request is answered. Nothing starts on the node from then
 *   on. Later the keeper's files say that the node has left (substep_growth.c, substep_changes.c).
 * - A node of a growth is given back with all nodes of its growth. The first node of the step is not among the nodes here. */
#include "procmgr/stepmgr/substep_shrink.h"

#include <stdlib.h>
#include <string.h>

#include "lib/crash.h"
#include "lib/hosts.h"
#include "lib/text.h"
#include "procmgr/stepmgr/substep_event.h"
#include "procmgr/stepmgr/substep_journal.h"
#include "procmgr/stepmgr/substep_part.h"
#include "procmgr/stepmgr/substep_parts.h"

/* Must `other` be given back when `node` is? Nodes that one `rota grow` added are given back together. */
static bool goes_with(const struct substep_engine *m, int node, int other)
{
	return node == other || substep_nodes_is_same_growth(m->nodes, node, other);
}

/* May the node be given back? A node of the step itself that is lost or has been given back may not. */
static bool is_there(const struct substep_engine *m, int node)
{
	return substep_nodes_is_here(m->nodes, node) &&
	       (substep_nodes_growth(m->nodes, node) ||
		substep_event_use(m, substep_nodes_name(m->nodes, node)) != SUBSTEP_NODE_GONE);
}

/* Returns a sub-step that runs on the node or on a node that must be given back with it; NULL: there is none. */
static const struct substep *find_running(const struct substep_engine *m, int node)
{
	const struct substep *s;
	TAILQ_FOREACH (s, &m->running, next)
		for (int i = 0; i < s->part_count; i++)
			if (!s->parts[i].has_ended && goes_with(m, node, s->parts[i].node))
				return s;
	return NULL;
}

/* Do tasks of the step itself run on the node? On a node that has left the step, they have ended. */
static bool has_tasks(const struct substep_engine *m, int node)
{
	return m->has_tasks && !substep_nodes_growth(m->nodes, node);
}

static bool is_busy(const struct substep_engine *m, int node)
{
	return has_tasks(m, node) || find_running(m, node);
}

/* Returns the number of nodes that must be given back when this one is, itself included. */
static int group_size(const struct substep_engine *m, int node)
{
	int size = 0;
	for (int other = 0; other < substep_nodes_count(m->nodes); other++)
		size += goes_with(m, node, other) && substep_nodes_is_here(m->nodes, other);
	return size;
}

/* Choose the node, with all nodes that must be given back together with it. Returns their number. */
static int choose_group(const struct substep_engine *m, int node, bool *chosen)
{
	for (int other = 0; other < substep_nodes_count(m->nodes); other++)
		chosen[other] = chosen[other] || (goes_with(m, node, other) && substep_nodes_is_here(m->nodes, other));
	return group_size(m, node);
}

static void refuse_busy(const struct substep_engine *m, int node, struct err *e)
{
	const struct substep *running = find_running(m, node);
	const char *name = substep_nodes_name(m->nodes, node);
	if (running)
		err_set(e, "sub-step %d runs on node %s; wait for it, or give --force to end it", running->number, name);
	else
		err_set(e, "node %s runs tasks of the step itself; wait for them, or give --force to end them", name);
}

static void refuse_unknown(const struct substep_engine *m, const char *name, struct err *e)
{
	if (strcmp(name, m->node) == 0)
		err_set(e, "node %s is the first node of the step, where its script runs; it is given back when the step ends",
			name);
	else
		err_set(e, "the step has no node %s", name);
}

/* Returns the index of a node with this name: preferably one on which nothing runs, and among equals one of a growth. Returns -1
 * with an error if no such node can be given back. */
static int find_named(const struct substep_engine *m, const char *name, bool force, struct err *e)
{
	int busy = -1;
	for (int node = substep_nodes_count(m->nodes) - 1; node >= 0; node--) {
		if (strcmp(substep_nodes_name(m->nodes, node), name) != 0 || !is_there(m, node))
			continue;
		if (!is_busy(m, node))
			return node;
		busy = busy < 0 ? node : busy;
	}
	if (busy < 0)
		refuse_unknown(m, name, e);
	else if (!force)
		refuse_busy(m, busy, e);
	return force ? busy : -1;
}

static bool choose_named(const struct substep_engine *m, const char *nodelist, bool force, bool *chosen, struct err *e)
{
	char name[HOSTS_NAME_SIZE];
	int count = hosts_count(nodelist);
	for (int i = 0; i < count; i++) {
		int node = hosts_at(nodelist, i, name) ? find_named(m, name, force, e) : -1;
		if (node < 0)
			return false;
		choose_group(m, node, chosen);
	}
	return count > 0 || err_set(e, "\"nodes\" must be a list of nodes");
}

/* Choose `count` nodes, those on which nothing runs first. Among equals, the last in the list is chosen first: nodes of growths
 * are in it after those of the step itself. */
static bool choose_last(const struct substep_engine *m, int count, bool force, bool *chosen, struct err *e)
{
	int there = 0, left = count;
	for (int busy = 0; busy <= force; busy++) {
		for (int node = substep_nodes_count(m->nodes) - 1; node >= 0 && left > 0; node--) {
			bool can = is_there(m, node) && !chosen[node] && group_size(m, node) <= left && is_busy(m, node) == busy;
			if (can)
				left -= choose_group(m, node, chosen);
		}
	}
	if (left == 0)
		return true;
	for (int node = 0; node < substep_nodes_count(m->nodes); node++)
		there += is_there(m, node);
	if (there < count)
		return err_set(e, "%d node%s cannot be given back: the step has %d besides its first node", count,
			       text_plural(count), there);
	return err_set(e, "sub-steps or tasks run on the nodes of the step; wait for them, or give --force to end them");
}

json_t *substep_shrink_take(struct substep_engine *m, const char *nodelist, int count, bool force, struct err *e)
{
	if (!m->nodes) {
		err_set(e, "this is not the step manager of the step");
		return NULL;
	}
	bool *chosen = xcalloc((size_t)substep_nodes_count(m->nodes) + 1, sizeof *chosen);
	bool good = *nodelist ? choose_named(m, nodelist, force, chosen, e) : choose_last(m, count, force, chosen, e);
	json_t *names = good ? json_array() : NULL;
	for (int node = 0; good && node < substep_nodes_count(m->nodes); node++) {
		if (!chosen[node])
			continue;
		substep_nodes_leave(m->nodes, node);
		substep_journal_append(m->journal, "shrink",
				       json_pack("{s:s*, s:s}", "growth", substep_nodes_growth(m->nodes, node), "node",
						 substep_nodes_name(m->nodes, node)));
		json_array_append_new(names, json_string(substep_nodes_name(m->nodes, node)));
	}
	if (good)
		crash_point(CRASH_growth_given);
	free(chosen);
	return names;
}

void substep_shrink_replay(struct substep_engine *m, const json_t *record)
{
	const char *growth = json_string_value(json_object_get(record, "growth")),
		   *name = json_string_value(json_object_get(record, "node"));
	int node = m->nodes && name ? substep_nodes_find(m->nodes, growth, name) : -1;
	if (node >= 0)
		substep_nodes_leave(m->nodes, node);
}
