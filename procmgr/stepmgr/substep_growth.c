/* substep_growth.c - nodes that come to a running step by growths of it, and nodes that go (substep_growth.h).
 *
 * Called by: substep_engine.c at SIGTERM, stepmgr.c at the start, substep_changes.c.
 * Invariants:
 * - The keeper's file of growths has a line for each node that has come or gone, in order. A step manager that is started again
 *   reads it from its begin, so a line that was applied already changes nothing.
 * - A node may belong to the step twice: by itself, and by a growth. An event says that it has left when it does not belong to the step
 *   at all any more. */
#include "procmgr/stepmgr/substep_growth.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/crash.h"
#include "lib/hosts.h"
#include "procmgr/stepmgr/substep_event.h"
#include "procmgr/stepmgr/substep_parts.h"

enum { LINE_SIZE = 512 };

/* Does a node with this name belong to the step, by itself or by a growth? */
static bool has_node(const struct substep_engine *m, const char *name)
{
	for (int node = 0; node < substep_nodes_count(m->nodes); node++)
		if (!substep_nodes_is_gone(m->nodes, node) && strcmp(substep_nodes_name(m->nodes, node), name) == 0)
			return true;
	return strcmp(name, m->node) == 0;
}

static bool has_growth_on(const struct substep_engine *m, const char *name)
{
	for (int node = 0; node < substep_nodes_count(m->nodes); node++)
		if (!substep_nodes_is_gone(m->nodes, node) && substep_nodes_growth(m->nodes, node) &&
		    strcmp(substep_nodes_name(m->nodes, node), name) == 0)
			return true;
	return false;
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

/* Apply a line of the file of growths: "grow 812.0.1 n3" or "shrink 812.0.1 n3". */
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

bool substep_growth_left(struct substep_engine *m, const char *name)
{
	struct substep *s;
	int node = m->nodes ? substep_nodes_find(m->nodes, NULL, name) : -1;
	bool grown = has_growth_on(m, name);
	/* Drop the node from the list of nodes if a growth has it, or if it has gone. A node of the step itself whose tasks
	 * have ended stays in the list. */
	if (node >= 0 && (grown || !substep_nodes_is_here(m->nodes, node))) {
		substep_nodes_drop(m->nodes, node);
		crash_point(CRASH_growth_gone);
	}
	TAILQ_FOREACH (s, &m->waiting, next)
		s->fits = false; /* the nodes that are left may be too small for the sub-step */
	return !grown;
}

void substep_growth_ends(struct substep_engine *m, int node)
{
	for (int other = 0; other < substep_nodes_count(m->nodes); other++)
		if (substep_nodes_is_same_growth(m->nodes, node, other))
			substep_nodes_leave(m->nodes, other);
}
