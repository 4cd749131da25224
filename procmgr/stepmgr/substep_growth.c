/* substep_growth.c - nodes that come to a running step by growths of it, and that go or are given back (substep_growth.h).
 *
 * Called by: substep_engine.c at SIGTERM, stepmgr.c at the start, substep_request.c for the request `shrink`, substep_recovery.c.
 * Invariants:
 * - The keeper's file has all that has come and gone, in order. It is read from its begin after each start, so a line that is known
 *   already changes nothing.
 * - A node is given back with all nodes of its growth. The record `shrink`, which procmgrd reports, is in the journal before the
 *   request is answered. Nothing starts on the node from then on. */
#include "procmgr/stepmgr/substep_growth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/crash.h"
#include "lib/hosts.h"
#include "procmgr/stepmgr/substep_event.h"
#include "procmgr/stepmgr/substep_journal.h"
#include "procmgr/stepmgr/substep_part.h"
#include "procmgr/stepmgr/substep_parts.h"

enum { LINE_SIZE = 512 };

/* Has the step a node with this name? A growth may be on a node that it has already. */
static bool has_node(const struct substep_engine *m, const char *name)
{
	for (int node = 0; node < substep_nodes_count(m->nodes); node++)
		if (substep_nodes_is_here(m->nodes, node) && strcmp(substep_nodes_name(m->nodes, node), name) == 0)
			return true;
	return strcmp(name, m->node) == 0;
}

static void take_node(struct substep_engine *m, const char *growth, const char *name)
{
	bool known = has_node(m, name);
	crash_point(CRASH_growth_come);
	substep_nodes_grow(m->nodes, growth, name);
	crash_point(CRASH_growth_called);
	if (!known)
		substep_event_node(m, name, "joined", growth);
}

static void drop_node(struct substep_engine *m, int node, const char *growth, const char *name)
{
	if (substep_nodes_drop(m->nodes, node) && !has_node(m, name))
		substep_event_node(m, name, "left", growth);
	crash_point(CRASH_growth_gone);
}

/* Take a line of the file: "grow 812.0.1 n3" or "shrink 812.0.1 n3". */
static void take_line(struct substep_engine *m, const char *line)
{
	char what[8], growth[64], name[HOSTS_NAME_SIZE + 1];
	if (sscanf(line, "%7s %63s %256s", what, growth, name) != 3)
		return;
	int node = substep_nodes_find(m->nodes, growth, name);
	if (strcmp(what, "grow") == 0 && node < 0)
		take_node(m, growth, name);
	else if (strcmp(what, "shrink") == 0 && node >= 0)
		drop_node(m, node, growth, name);
}

void substep_growth_read(struct substep_engine *m)
{
	char line[LINE_SIZE];
	ssize_t size;
	while (m->nodes && m->growths >= 0 && (size = pread(m->growths, line, sizeof line - 1, m->growths_read)) > 0) {
		line[size] = '\0';
		char *end = strchr(line, '\n');
		if (!end)
			return; /* the keeper has not written all of the line */
		*end = '\0';
		m->growths_read += end + 1 - line;
		take_line(m, line);
	}
}

void substep_growth_open(struct substep_engine *m, int fd)
{
	m->growths = fd;
	substep_growth_read(m);
}

static bool is_same_growth(const struct substep_engine *m, int node, int other)
{
	const char *a = substep_nodes_growth(m->nodes, node), *b = substep_nodes_growth(m->nodes, other);
	return a && b && strcmp(a, b) == 0;
}

/* Returns a sub-step that runs on the node or on another one of its growth; NULL: there is none. */
static const struct substep *find_running(const struct substep_engine *m, int node)
{
	const struct substep *s;
	TAILQ_FOREACH (s, &m->running, next)
		for (int i = 0; i < s->part_count; i++)
			if (!s->parts[i].has_ended && is_same_growth(m, node, s->parts[i].node))
				return s;
	return NULL;
}

static int growth_size(const struct substep_engine *m, int node)
{
	int size = 0;
	for (int other = 0; other < substep_nodes_count(m->nodes); other++)
		size += is_same_growth(m, node, other) && substep_nodes_is_here(m->nodes, other);
	return size;
}

/* Mark all nodes of the growth as chosen. Returns their number. */
static int choose_growth(const struct substep_engine *m, int node, bool *chosen)
{
	for (int other = 0; other < substep_nodes_count(m->nodes); other++)
		chosen[other] = chosen[other] || (is_same_growth(m, node, other) && substep_nodes_is_here(m->nodes, other));
	return growth_size(m, node);
}

/* Returns the index of a grown node with this name; idle ones first. Returns -1 with an error if it cannot be given back. */
static int find_named(const struct substep_engine *m, const char *name, bool force, struct err *e)
{
	const struct substep *busy = NULL;
	int found = -1;
	bool own = strcmp(name, m->node) == 0;
	for (int node = 0; node < substep_nodes_count(m->nodes); node++) {
		bool named = strcmp(substep_nodes_name(m->nodes, node), name) == 0;
		own = own || (named && !substep_nodes_growth(m->nodes, node));
		if (!named || !substep_nodes_growth(m->nodes, node) || !substep_nodes_is_here(m->nodes, node))
			continue;
		if (!find_running(m, node))
			return node;
		found = node;
		busy = find_running(m, node);
	}
	if (found >= 0 && !force) {
		err_set(e, "sub-step %d runs on node %s; wait for it, or give --force to end it", busy->number, name);
		return -1;
	}
	if (found < 0)
		err_set(e,
			own ? "node %s has not come by rota grow; it is given back when the step ends"
			    : "the step has no node %s",
			name);
	return found;
}

static bool choose_named(const struct substep_engine *m, const char *nodelist, bool force, bool *chosen, struct err *e)
{
	char name[HOSTS_NAME_SIZE];
	int count = hosts_count(nodelist);
	for (int i = 0; i < count; i++) {
		int node = hosts_at(nodelist, i, name) ? find_named(m, name, force, e) : -1;
		if (node < 0)
			return false;
		choose_growth(m, node, chosen);
	}
	return count > 0 || err_set(e, "\"nodes\" must be a list of nodes");
}

/* Choose `count` nodes that came last; those on which nothing runs first. */
static bool choose_last(const struct substep_engine *m, int count, bool force, bool *chosen, struct err *e)
{
	int grown = 0, left = count;
	for (int busy = 0; busy <= force; busy++) {
		for (int node = substep_nodes_count(m->nodes) - 1; node >= 0 && left > 0; node--) {
			bool can = substep_nodes_growth(m->nodes, node) && substep_nodes_is_here(m->nodes, node) &&
				   !chosen[node] && growth_size(m, node) <= left && !find_running(m, node) == !busy;
			if (can)
				left -= choose_growth(m, node, chosen);
		}
	}
	if (left == 0)
		return true;
	for (int node = 0; node < substep_nodes_count(m->nodes); node++)
		grown += substep_nodes_growth(m->nodes, node) && substep_nodes_is_here(m->nodes, node);
	if (grown < count)
		return err_set(e, "%d nodes cannot be given back: %d have come by rota grow", count, grown);
	return err_set(e, "sub-steps run on the nodes that have come by rota grow; wait for them, or give --force to end them");
}

json_t *substep_growth_shrink(struct substep_engine *m, const char *nodelist, int count, bool force, struct err *e)
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
				       json_pack("{s:s, s:s}", "growth", substep_nodes_growth(m->nodes, node), "node",
						 substep_nodes_name(m->nodes, node)));
		json_array_append_new(names, json_string(substep_nodes_name(m->nodes, node)));
	}
	if (good)
		crash_point(CRASH_growth_given);
	free(chosen);
	return names;
}

void substep_growth_ends(struct substep_engine *m, int node)
{
	for (int other = 0; other < substep_nodes_count(m->nodes); other++)
		if (is_same_growth(m, node, other))
			substep_nodes_leave(m->nodes, other);
}

void substep_growth_replay(struct substep_engine *m, const json_t *record)
{
	const char *growth = json_string_value(json_object_get(record, "growth")),
		   *name = json_string_value(json_object_get(record, "node"));
	int node = m->nodes && growth && name ? substep_nodes_find(m->nodes, growth, name) : -1;
	if (node >= 0)
		substep_nodes_leave(m->nodes, node);
}
