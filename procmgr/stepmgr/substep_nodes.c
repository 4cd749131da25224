/* substep_nodes.c - the other nodes of the step (substep_nodes.h).
 *
 * Called by: substep_engine.c, substep_place.c and substep_recovery.c; the event loop for messages of agents.
 * Invariants:
 * - An agent speaks the step protocol as the server, and this file as its client (docs/step-protocol.md, "Agents"). The id of a request
 *   is the number of the sub-step, which has at most one part on a node.
 * - A part has a key, so an agent that gets the request for it twice runs it once. The agent then sends all output again, and
 *   bytes that were received before are dropped.
 * - Agents belong to the job's owner. What they send is checked like what clients send.
 * - A node is identified by its name and, if it is of a growth, by that growth. It keeps its index when it has gone, and never
 *   comes a second time. */
#include "procmgr/stepmgr/substep_nodes.h"

#include <event2/buffer.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procmgr/stepmgr/substep_far.h"
#include "procmgr/stepmgr/substep_feed.h"
#include "procmgr/stepmgr/substep_journal.h"
#include "procmgr/stepmgr/substep_link.h"
#include "procmgr/stepmgr/substep_part.h"
#include "procmgr/stepmgr/substep_parts.h"

enum { LINE_MOST = 1 << 20, BYTES_MOST = 65536, RESOURCES_ID = 0, SIGNAL_ID = -1, USAGE_ID = -2, DEFAULTS_ID = -3 };

enum node_state {
	NODE_HERE,
	NODE_LEAVING, /* the node is being given back: nothing more starts there */
	NODE_GONE,
};

struct node {
	struct substep_nodes *nodes;
	int index;
	char *name;
	char *growth; /* attempt of the growth that has the node: "812.0.1"; NULL: a node of the step itself */
	enum node_state state;
	struct substep_link_key key;
	struct substep_pool *pool;  /* resources of the allocation on the node; NULL: the agent has not reported them yet */
	struct bufferevent *stream; /* NULL: no agent is connected */
	json_t *event;		    /* event of the agent whose bytes have not all come yet; NULL: none */
	json_t *env;		    /* environment that the agent of this node has from the last request `defaults`; NULL: none */
};

struct substep_nodes {
	struct substep_engine *m;
	struct event_base *base;
	const struct substep_nodes_handlers *handlers;
	struct substep_link_listening listening;
	int port;	 /* port at which this process listens for agents; 0: it does not listen */
	int port_before; /* port at which an earlier step manager of the step listened; 0: none did */
	bool is_called;	 /* the agents of the step's own nodes were called */
	bool gave_back;	 /* a node of the step itself was given back */
	struct node **nodes;
	int count;
};

int substep_nodes_count(const struct substep_nodes *n)
{
	return n ? n->count : 0;
}

const char *substep_nodes_name(const struct substep_nodes *n, int index)
{
	return n->nodes[index]->name;
}

struct substep_pool *substep_nodes_pool(const struct substep_nodes *n, int index)
{
	return n->nodes[index]->pool;
}

bool substep_nodes_is_connected(const struct substep_nodes *n, int index)
{
	return n->nodes[index]->stream != NULL;
}

const char *substep_nodes_growth(const struct substep_nodes *n, int index)
{
	return n->nodes[index]->growth;
}

bool substep_nodes_is_same_growth(const struct substep_nodes *n, int index, int other)
{
	const char *a = n->nodes[index]->growth, *b = n->nodes[other]->growth;
	return a && b && strcmp(a, b) == 0;
}

bool substep_nodes_is_here(const struct substep_nodes *n, int index)
{
	return n->nodes[index]->state == NODE_HERE;
}

bool substep_nodes_is_gone(const struct substep_nodes *n, int index)
{
	return n->nodes[index]->state == NODE_GONE;
}

/* Find the node with this name that `growth` has or, if `growth` is NULL, that is one of the step itself. */
static struct node *find_node(const struct substep_nodes *n, const char *name, size_t length, const char *growth)
{
	for (int i = 0; i < n->count; i++) {
		struct node *node = n->nodes[i];
		bool same = growth && node->growth ? strcmp(growth, node->growth) == 0 : growth == node->growth;
		if (same && strlen(node->name) == length && strncmp(node->name, name, length) == 0)
			return node;
	}
	return NULL;
}

/* Find the node of a connection by its name (substep_link.h): "n3", or "n3/812.0.1" for a node of a growth; " client" may follow.
 * Returns NULL for a node that has gone. */
static struct node *find_linked(struct substep_nodes *n, const char *name)
{
	size_t length = strcspn(name, " "), slash = strcspn(name, " /");
	char *growth = slash < length ? xstrndup(name + slash + 1, length - slash - 1) : NULL;
	struct node *node = find_node(n, name, slash, growth);
	free(growth);
	return node && node->state != NODE_GONE ? node : NULL;
}

int substep_nodes_find(const struct substep_nodes *n, const char *growth, const char *name)
{
	const struct node *node = find_node(n, name, strlen(name), growth);
	return node ? node->index : -1;
}

bool substep_nodes_gave_back(const struct substep_nodes *n)
{
	return n && n->gave_back;
}

bool substep_nodes_is_given_back(const struct substep_nodes *n, const char *name)
{
	const struct node *node = find_node(n, name, strlen(name), NULL);
	return node && node->state != NODE_HERE;
}

static void send_bytes(struct node *node, json_t *request, const void *bytes, size_t size)
{
	char *text = node->stream ? json_dumps(request, JSON_COMPACT) : NULL;
	if (text) {
		evbuffer_add_printf(bufferevent_get_output(node->stream), "%s\n", text);
		evbuffer_add(bufferevent_get_output(node->stream), bytes, size);
	}
	free(text);
	json_decref(request);
}

static void send_request(struct node *node, json_t *request)
{
	send_bytes(node, request, "", 0);
}

void substep_nodes_send(struct substep_nodes *n, int index, json_t *request, const void *bytes, size_t size)
{
	send_bytes(n->nodes[index], request, bytes, size);
}

/* Send a node's agent the environment for the parts that it will be asked to run next, unless the agent has it already. */
static void send_environment(struct node *node, json_t *env)
{
	if (!node->stream || (node->env && json_equal(node->env, env)))
		return;
	json_decref(node->env);
	node->env = json_incref(env);
	send_request(node, json_pack("{s:s, s:i, s:O}", "op", "defaults", "id", DEFAULTS_ID, "env", env));
}

void substep_nodes_start(struct substep_nodes *n, const struct substep *s, struct substep_part *part)
{
	struct node *node = n->nodes[part->node];
	substep_feed_pause(part);
	send_environment(node, s->spec->env);
	send_request(node, substep_part_request(s, part));
}

void substep_nodes_signal(struct substep_nodes *n, const struct substep_part *part, int signal)
{
	if (part->number > 0)
		send_request(n->nodes[part->node], json_pack("{s:s, s:i, s:i, s:i}", "op", "signal", "id", SIGNAL_ID, "substep",
							     part->number, "signal", signal));
}

void substep_nodes_ask_usage(struct substep_nodes *n, int index)
{
	send_request(n->nodes[index], json_pack("{s:s, s:i}", "op", "usage", "id", USAGE_ID));
}

/* Make the pool of a node from the agent's message, and take the shares of running sub-steps from it. */
static void take_resources(struct node *node, const json_t *event)
{
	struct substep_engine *m = node->nodes->m;
	if (node->pool)
		return;
	node->pool = substep_pool_of_json(json_object_get(event, "nodes"));
	if (!node->pool)
		return;
	struct substep *s;
	const char *reason;
	TAILQ_FOREACH (s, &m->running, next) {
		struct substep_part *part = substep_part_on(s, node->index);
		if (part && !part->has_ended)
			substep_pool_take(node->pool, s->spec, part->ranks.count, &part->share, &reason);
	}
	node->nodes->handlers->changed(m);
}

/* Called when the agent has queued a part: stores the number that the agent gave it. Ends the part if the sub-step is being
 * ended. */
static void take_number(struct substep_nodes *n, const struct substep *s, struct substep_part *part, const json_t *event)
{
	part->number = (int)json_integer_value(json_object_get(event, "substep"));
	if (*s->cause)
		substep_nodes_signal(n, part, SIGTERM);
}

static void take_event(struct node *node, const json_t *event, const void *bytes, size_t size)
{
	struct substep *s = substep_table_find(node->nodes->m, json_integer_value(json_object_get(event, "id")));
	struct substep_part *part = s && s->state == SUBSTEP_RUNNING ? substep_part_on(s, node->index) : NULL;
	const char *name = json_string_value(json_object_get(event, "event"));
	if (name && strcmp(name, "answer") == 0 && json_object_get(event, "nodes"))
		take_resources(node, event);
	else if (name && json_integer_value(json_object_get(event, "id")) == USAGE_ID)
		node->nodes->handlers->usage(node->nodes->m, node->index, event);
	else if (name && part && !part->has_ended && strcmp(name, "queued") == 0)
		take_number(node->nodes, s, part, event);
	else if (name && part && !part->has_ended)
		node->nodes->handlers->event(s, part, name, event, bytes, size);
}

/* Handle the next event of a node's agent. Returns false if no whole event has arrived, or if its size is not valid. */
static bool read_event(struct node *node, struct evbuffer *input)
{
	size_t size;
	char *line = node->event ? NULL : evbuffer_readln(input, &size, EVBUFFER_EOL_LF);
	if (!node->event && !line)
		return false;
	if (line)
		node->event = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
	free(line);
	json_int_t bytes = json_integer_value(json_object_get(node->event, "bytes"));
	if (bytes < 0 || bytes > BYTES_MOST || evbuffer_get_length(input) < (size_t)bytes)
		return false;
	json_t *event = node->event;
	node->event = NULL;
	take_event(node, event, bytes ? evbuffer_pullup(input, bytes) : (void *)"", (size_t)bytes);
	evbuffer_drain(input, (size_t)bytes);
	json_decref(event);
	return true;
}

static void agent_gone(struct bufferevent *stream, short what, void *arg)
{
	struct node *node = arg;
	(void)stream;
	(void)what;
	bufferevent_free(node->stream);
	json_decref(node->event);
	json_decref(node->env);
	node->stream = NULL;
	node->event = node->env = NULL;
}

void substep_nodes_disconnect(struct substep_nodes *n, int index)
{
	if (n->nodes[index]->stream)
		agent_gone(n->nodes[index]->stream, 0, n->nodes[index]);
}

static void agent_sent(struct bufferevent *stream, void *arg)
{
	struct node *node = arg;
	struct evbuffer *input = bufferevent_get_input(stream);
	while (read_event(node, input))
		continue;
	if (evbuffer_get_length(input) > LINE_MOST + BYTES_MOST)
		agent_gone(stream, 0, node);
}

/* Called when an agent is connected. Asks it for the resources of its node, to run its parts, and for connections to their
 * terminals. */
static void take_agent(struct node *node, struct bufferevent *stream)
{
	struct substep_nodes *n = node->nodes;
	struct substep *s;
	if (node->stream)
		/* the agent has started again, before the end of the old connection was seen */
		agent_gone(node->stream, 0, node);
	node->stream = stream;
	bufferevent_setcb(stream, agent_sent, NULL, agent_gone, node);
	bufferevent_enable(stream, EV_READ | EV_WRITE);
	send_request(node, json_pack("{s:s, s:i}", "op", "resources", "id", RESOURCES_ID));
	TAILQ_FOREACH (s, &n->m->running, next) {
		struct substep_part *part = substep_part_on(s, node->index);
		if (part && !part->has_ended)
			substep_nodes_start(n, s, part);
	}
	substep_far_ask(node->index);
	n->handlers->changed(n->m);
}

/* Called for a new connection: of an agent, or of a program or a terminal on the agent's node. `name`: as in substep_link.h. */
static void stream_opened(const char *name, struct bufferevent *stream, void *arg)
{
	struct substep_nodes *n = arg;
	struct node *node = find_linked(n, name);
	int64_t view = substep_link_view_number(name);
	if (!node)
		bufferevent_free(stream); /* the node has gone since the handshake began */
	else if (substep_link_is_client(name))
		n->m->handlers->connected(stream);
	else if (view >= 0)
		substep_far_take(node->index, view, stream);
	else
		take_agent(node, stream);
}

static const char *key_of(const char *name, void *arg)
{
	struct substep_nodes *n = arg;
	const struct node *node = find_linked(n, name);
	return node && substep_event_use(n->m, node->name) != SUBSTEP_NODE_GONE ? node->key.digits : NULL;
}

/* Listen for agents, at the port of an earlier step manager if that is free. */
static void listen_for_agents(struct substep_nodes *n)
{
	struct err e;
	if (n->port == 0 && n->port_before > 0)
		n->port = substep_link_listen(n->base, n->port_before, &n->listening, &e);
	if (n->port == 0)
		n->port = substep_link_listen(n->base, 0, &n->listening, &e);
	if (n->port == 0)
		die("%s", e.message);
}

static void write_call(struct substep_nodes *n)
{
	json_t *keys = json_object();
	for (int i = 0; i < n->count; i++)
		if (!n->nodes[i]->growth)
			json_object_set_new(keys, n->nodes[i]->name, json_string(n->nodes[i]->key.digits));
	substep_journal_append(n->m->journal, "call", json_pack("{s:i, s:o}", "port", n->port, "keys", keys));
}

static void write_grow(const struct node *node)
{
	substep_journal_append(node->nodes->m->journal, "grow",
			       json_pack("{s:i, s:s, s:s, s:s}", "port", node->nodes->port, "growth", node->growth, "node",
					 node->name, "key", node->key.digits));
}

void substep_nodes_call(struct substep_nodes *n)
{
	if (!n || n->is_called || n->count == 0 || n->nodes[0]->growth)
		return; /* nodes of the step itself come first */
	listen_for_agents(n);
	n->is_called = true;
	write_call(n);
}

static struct node *add_node(struct substep_nodes *n, const char *growth, const char *name)
{
	struct node *node = xcalloc(1, sizeof *node);
	n->nodes = xrealloc(n->nodes, (size_t)(n->count + 1) * sizeof *n->nodes);
	*node = (struct node){.nodes = n, .index = n->count, .name = xstrdup(name), .key = substep_link_make_key()};
	node->growth = growth ? xstrdup(growth) : NULL;
	n->nodes[n->count++] = node;
	return node;
}

void substep_nodes_grow(struct substep_nodes *n, const char *growth, const char *name)
{
	listen_for_agents(n);
	write_grow(add_node(n, growth, name));
}

void substep_nodes_leave(struct substep_nodes *n, int index)
{
	struct node *node = n->nodes[index];
	if (node->state == NODE_HERE)
		node->state = NODE_LEAVING;
	n->gave_back = n->gave_back || !node->growth;
}

bool substep_nodes_drop(struct substep_nodes *n, int index)
{
	struct node *node = n->nodes[index];
	struct substep *s, *next;
	if (node->state == NODE_GONE)
		return false;
	node->state = NODE_GONE;
	if (node->stream)
		agent_gone(node->stream, 0, node);
	for (s = TAILQ_FIRST(&n->m->running); s; s = next) {
		struct substep_part *part = substep_part_on(s, index);
		next = TAILQ_NEXT(s, next);
		if (part && !part->has_ended)
			n->handlers->lost(s, part);
	}
	n->handlers->changed(n->m);
	return true;
}

void substep_nodes_replay(struct substep_nodes *n, const json_t *call)
{
	const char *name, *digits;
	json_t *key;
	if (!n)
		return;
	json_object_foreach (json_object_get(call, "keys"), name, key) {
		struct node *node = find_node(n, name, strlen(name), NULL);
		digits = json_string_value(key);
		if (node && digits)
			snprintf(node->key.digits, sizeof node->key.digits, "%s", digits);
	}
	n->is_called = true;
	n->port_before = (int)json_integer_value(json_object_get(call, "port"));
}

void substep_nodes_replay_grow(struct substep_nodes *n, const json_t *record)
{
	const char *growth = json_string_value(json_object_get(record, "growth")),
		   *name = json_string_value(json_object_get(record, "node")),
		   *digits = json_string_value(json_object_get(record, "key"));
	if (!n || !growth || !name || !digits)
		return;
	struct node *node = find_node(n, name, strlen(name), growth);
	if (!node)
		node = add_node(n, growth, name);
	snprintf(node->key.digits, sizeof node->key.digits, "%s", digits);
	n->port_before = (int)json_integer_value(json_object_get(record, "port"));
}

void substep_nodes_recover(struct substep_nodes *n)
{
	if (!n || n->port_before == 0)
		return;
	listen_for_agents(n);
	if (n->port == n->port_before)
		return;
	/* Another process has the port, so all agents are called anew. */
	if (n->is_called)
		write_call(n);
	for (int i = 0; i < n->count; i++)
		if (n->nodes[i]->growth && n->nodes[i]->state != NODE_GONE)
			write_grow(n->nodes[i]);
}

void substep_nodes_describe(const struct substep_nodes *n, json_t *list)
{
	for (int i = 0; i < substep_nodes_count(n); i++) {
		const struct node *node = n->nodes[i];
		if (node->state == NODE_GONE)
			continue;
		json_t *one = node->pool ? substep_pool_json(node->pool, node->name) : json_pack("[{s:s}]", "node", node->name);
		json_array_extend(list, one);
		json_decref(one);
	}
}

struct substep_nodes *substep_nodes_new(struct substep_engine *m, struct event_base *base,
					const struct substep_nodes_handlers *handlers)
{
	const char *list = getenv("ROTA_NODELIST"), *index = getenv("ROTA_NODE_INDEX");
	if ((index && atoi(index) > 0) || getenv("ROTA_STEP_HEAD"))
		return NULL;
	struct substep_nodes *n = xcalloc(1, sizeof *n);
	char *copy = xstrdup(list && strchr(list, ',') ? strchr(list, ',') + 1 : ""), *save;
	n->m = m;
	n->base = base;
	n->handlers = handlers;
	n->listening = (struct substep_link_listening){key_of, stream_opened, n};
	for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save))
		add_node(n, NULL, name);
	free(copy);
	return n;
}

void substep_nodes_free(struct substep_nodes *n)
{
	for (int i = 0; i < substep_nodes_count(n); i++) {
		struct node *node = n->nodes[i];
		if (node->stream)
			agent_gone(node->stream, 0, node);
		if (node->pool)
			substep_pool_free(node->pool);
		free(node->name);
		free(node->growth);
		free(node);
	}
	if (n)
		free(n->nodes);
	free(n);
}
