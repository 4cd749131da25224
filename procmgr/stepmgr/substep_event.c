/* substep_event.c - changes of the nodes of the step (substep_event.h).
 *
 * Called by: substep_engine.c and substep_nodes.c for changes; substep_request.c and substep_client.c for subscribers.
 * Invariants:
 * - A subscriber that does not read is sent the last state of each node only, so nothing waits in memory for it.
 * - Changes are numbered, and nodes are in the order of their last change. So a subscriber gets the changes in their order. */
#include "procmgr/stepmgr/substep_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "lib/text.h"
#include "procmgr/stepmgr/substep_parts.h"

enum { REASON_SIZE = 256 };

struct node {
	TAILQ_ENTRY(node) next;
	int64_t number; /* number of the node's last change */
	time_t at;	/* time of that change */
	const char *state;
	char reason[REASON_SIZE];
	char *name;
};

struct substep_events {
	substep_event_handler *changed;
	int64_t number; /* number of the last change of any node */
	TAILQ_HEAD(, node) nodes;
	LIST_HEAD(, substep_subscriber) subscribers;
};

struct substep_subscriber {
	LIST_ENTRY(substep_subscriber) next;
	struct substep_connection *connection;
	const struct substep_events *events;
	json_int_t id;
	int64_t sent; /* number of the last change that the subscriber was sent */
};

struct substep_events *substep_events_new(substep_event_handler *changed)
{
	struct substep_events *events = xcalloc(1, sizeof *events);
	events->changed = changed;
	TAILQ_INIT(&events->nodes);
	LIST_INIT(&events->subscribers);
	return events;
}

void substep_events_free(struct substep_events *events)
{
	struct node *node;
	while ((node = TAILQ_FIRST(&events->nodes))) {
		TAILQ_REMOVE(&events->nodes, node, next);
		free(node->name);
		free(node);
	}
	free(events);
}

static struct node *find_node(const struct substep_events *events, const char *name)
{
	struct node *node;
	TAILQ_FOREACH (node, &events->nodes, next)
		if (strcmp(node->name, name) == 0)
			return node;
	return NULL;
}

static struct node *add_node(struct substep_events *events, const char *name)
{
	struct node *node = xcalloc(1, sizeof *node);
	node->name = xstrdup(name);
	TAILQ_INSERT_TAIL(&events->nodes, node, next);
	return node;
}

/* Returns the constant for the name of a state, NULL if there is no such state. */
static const char *known_state(const char *state)
{
	static const char *const states[] = {"up", "joined", "drained", "leaving", "lost", "left"};
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (strcmp(states[i], state) == 0)
			return states[i];
	return NULL;
}

bool substep_event_is_state(const char *state)
{
	return known_state(state) != NULL;
}

void substep_event_pump(struct substep_connection *c)
{
	struct substep_subscriber *s = c->subscriber;
	const struct node *node;
	if (!s)
		return;
	TAILQ_FOREACH (node, &s->events->nodes, next) {
		if (node->number <= s->sent)
			continue;
		if (!substep_connection_has_room(c))
			return;
		substep_connection_send(c, json_pack("{s:s, s:I, s:s, s:s, s:s, s:I}", "event", "node", "id", s->id, "node",
						     node->name, "state", node->state, "reason", node->reason, "at",
						     (json_int_t)node->at));
		s->sent = node->number;
	}
}

/* Store the state of a node. Returns false if the node has this state for this reason already. */
static bool store_state(struct substep_events *events, struct node *node, const char *state, const char *reason)
{
	char clean[REASON_SIZE];
	snprintf(clean, sizeof clean, "%s", reason);
	text_clean(clean); /* the reason may have been cut within a character, which JSON refuses */
	state = known_state(state);
	if (!state)
		die("a node has an unknown state");
	if (node->state == state && strcmp(node->reason, clean) == 0)
		return false;
	TAILQ_REMOVE(&events->nodes, node, next);
	TAILQ_INSERT_TAIL(&events->nodes, node, next);
	node->number = ++events->number;
	node->at = time(NULL);
	node->state = state;
	memcpy(node->reason, clean, sizeof clean);
	return true;
}

void substep_event_node(struct substep_engine *m, const char *name, const char *state, const char *reason)
{
	struct substep_events *events = m->events;
	struct node *node = find_node(events, name);
	struct substep_subscriber *s;
	bool first = !node;
	node = node ? node : add_node(events, name);
	if (!store_state(events, node, state, reason))
		return;
	LIST_FOREACH (s, &events->subscribers, next)
		substep_event_pump(s->connection);
	if (!first || strcmp(state, "up") != 0)
		events->changed(m);
}

void substep_event_restore(struct substep_engine *m, const char *name, const char *state, const char *reason)
{
	struct node *node = find_node(m->events, name);
	store_state(m->events, node ? node : add_node(m->events, name), state, reason);
}

enum substep_event_use substep_event_use(const struct substep_engine *m, const char *name)
{
	const struct node *node = find_node(m->events, name);
	if (!node || strcmp(node->state, "up") == 0 || strcmp(node->state, "joined") == 0)
		return SUBSTEP_NODE_FREE;
	return strcmp(node->state, "lost") == 0 || strcmp(node->state, "left") == 0 ? SUBSTEP_NODE_GONE : SUBSTEP_NODE_AVOIDED;
}

const char *substep_event_failed(const struct substep_engine *m, int i)
{
	const struct node *node;
	TAILQ_FOREACH (node, &m->events->nodes, next) {
		bool failed = substep_event_use(m, node->name) != SUBSTEP_NODE_FREE && strcmp(node->state, "left") != 0;
		if (failed && i-- == 0)
			return node->name;
	}
	return NULL;
}

void substep_event_describe(const struct substep_engine *m, json_t *nodes)
{
	size_t i;
	json_t *one;
	json_array_foreach (nodes, i, one) {
		const char *name = json_string_value(json_object_get(one, "node"));
		const struct node *node = name ? find_node(m->events, name) : NULL;
		json_object_set_new(one, "state", json_string(node ? node->state : "up"));
		json_object_set_new(one, "reason", json_string(node ? node->reason : ""));
	}
}

void substep_event_subscribe(struct substep_engine *m, struct substep_connection *c, json_int_t id)
{
	struct substep_subscriber *s = xcalloc(1, sizeof *s);
	substep_event_forget(c);
	s->connection = c;
	s->events = m->events;
	s->id = id;
	LIST_INSERT_HEAD(&m->events->subscribers, s, next);
	c->subscriber = s;
	substep_event_pump(c);
}

void substep_event_forget(struct substep_connection *c)
{
	if (!c->subscriber)
		return;
	LIST_REMOVE(c->subscriber, next);
	free(c->subscriber);
	c->subscriber = NULL;
}
