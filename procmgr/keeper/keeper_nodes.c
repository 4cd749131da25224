/* keeper_nodes.c - stores the states of the step's nodes, which control messages report.
 *
 * Called by: keeper_control.c for each change, keeper_manager.c for the file, keeper.c at the end.
 * Invariants:
 * - A state that the node has already changes nothing, since a control message may come twice.
 * - The file is for the step manager of the step's first node. It gets one line for each change, in one write, and is never
 *   shortened. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <unistd.h>

#include "lib/log.h"
#include "procmgr/keeper/keeper_parts.h"

enum { LINE_SIZE = 640, FILE_MOST = 4 << 20 };

struct node {
	SLIST_ENTRY(node) next;
	char *name, *state; /* state and reason, with a blank between */
};

struct keeper_nodes {
	SLIST_HEAD(, node) changed; /* nodes whose state has ever changed */
	int file;		    /* file of changes for the step manager; -1: it could not be made */
};

static struct keeper_nodes *open_nodes(struct keeper *k)
{
	if (k->nodes)
		return k->nodes;
	k->nodes = xcalloc(1, sizeof *k->nodes);
	SLIST_INIT(&k->nodes->changed);
	k->nodes->file = memfd_create("rota-nodes", MFD_CLOEXEC);
	if (k->nodes->file < 0 || fcntl(k->nodes->file, F_SETFL, O_APPEND) < 0)
		log_warning("attempt %s: its step manager does not see changes of nodes: %m", k->name);
	return k->nodes;
}

int keeper_nodes_file(struct keeper *k)
{
	return open_nodes(k)->file;
}

void keeper_nodes_close(struct keeper *k)
{
	struct node *node;
	if (!k->nodes)
		return;
	while ((node = SLIST_FIRST(&k->nodes->changed))) {
		SLIST_REMOVE_HEAD(&k->nodes->changed, next);
		free(node->name);
		free(node->state);
		free(node);
	}
	if (k->nodes->file >= 0)
		close(k->nodes->file);
	free(k->nodes);
	k->nodes = NULL;
}

/* Store the state of a node; takes ownership of the text `state`. Returns false if the node has this state already. A node is up
 * before its first change. */
static bool store_state(struct keeper_nodes *nodes, const char *name, char *state)
{
	struct node *node;
	SLIST_FOREACH (node, &nodes->changed, next)
		if (strcmp(node->name, name) == 0)
			break;
	if (strcmp(node ? node->state : "up ", state) == 0) {
		free(state);
		return false;
	}
	if (!node) {
		node = xcalloc(1, sizeof *node);
		node->name = xstrdup(name);
		SLIST_INSERT_HEAD(&nodes->changed, node, next);
	}
	free(node->state);
	node->state = state;
	return true;
}

static void write_line(const struct keeper *k, const char *name, const char *state)
{
	char line[LINE_SIZE];
	int size = snprintf(line, sizeof line, "%s %s\n", name, state);
	bool has_room = size > 0 && size < LINE_SIZE && lseek(k->nodes->file, 0, SEEK_END) < FILE_MOST;
	if (!has_room)
		errno = ENOSPC;
	if (!has_room || write(k->nodes->file, line, (size_t)size) != size)
		log_warning("attempt %s: its step manager does not see that node %s is %s: %m", k->name, name, state);
}

bool keeper_nodes_change(struct keeper *k, const char *name, const char *state, const char *reason)
{
	static const char *const states[] = {"up", "drained", "leaving", "lost", "joined", "left"};
	size_t i = 0, count = sizeof states / sizeof *states;
	while (state && i < count && strcmp(states[i], state) != 0)
		i++;
	if (!name || !state || !reason || i == count)
		return false;
	struct keeper_nodes *nodes = open_nodes(k);
	char *text = xasprintf("%s %s", state, reason);
	if (!store_state(nodes, name, text))
		return true;
	if (k->order->node_index == 0 && nodes->file >= 0)
		write_line(k, name, text);
	for (int task = 0; task < k->task_count && k->order->spec.notify > 0 && !*k->cause; task++)
		keeper_program_signal(&k->tasks[task], k->order->spec.notify, false);
	return true;
}
