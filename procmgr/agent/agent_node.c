/* agent_node.c - the nodes that one procmgrd serves: its own, or virtual ones.
 *
 * Called by the agent wherever a node of the database meets one of ours. What always holds: all nodes are registered, renewed and
 * asked for together, in one statement each, and one channel rings for all of them: that of the one with the lowest number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procmgr/agent/agent_parts.h"

/* A node that the database knows. */
struct agent_node {
	int64_t id;
	int number; /* of ours: 0, or from 1 among virtual ones */
};

static int wanted(const struct agent *a)
{
	return a->conf->launcher_virtual > 0 ? a->conf->launcher_virtual : 1;
}

static int by_id(const void *a, const void *b)
{
	int64_t x = ((const struct agent_node *)a)->id, y = ((const struct agent_node *)b)->id;
	return x < y ? -1 : x > y;
}

static int number_of_name(const struct agent *a, const char *name)
{
	size_t length = strlen(a->node);
	return a->conf->launcher_virtual > 0 && strncmp(name, a->node, length) == 0 ? atoi(name + length) : 0;
}

void agent_node_set(struct agent *a, const PGresult *result)
{
	int rows = PQntuples(result), id = PQfnumber(result, "node_id"), name = PQfnumber(result, "name");
	int strays = PQfnumber(result, "strays");
	agent_node_clear(a);
	a->nodes = xcalloc((size_t)rows, sizeof *a->nodes);
	a->node_ids = xcalloc((size_t)a->conf->launcher_virtual + 1, sizeof *a->node_ids);
	a->strays = 0;
	for (int i = 0; i < rows; i++) {
		struct agent_node *n = &a->nodes[a->node_count];
		*n = (struct agent_node){strtoll(PQgetvalue(result, i, id), NULL, 10), number_of_name(a, PQgetvalue(result, i, name))};
		if (n->number < 0 || n->number > a->conf->launcher_virtual)
			continue;
		a->node_ids[n->number] = n->id;
		a->strays += atoi(PQgetvalue(result, i, strays));
		a->node_count++;
	}
	qsort(a->nodes, (size_t)a->node_count, sizeof *a->nodes, by_id);
}

void agent_node_clear(struct agent *a)
{
	free(a->nodes);
	free(a->node_ids);
	a->nodes = NULL;
	a->node_ids = NULL;
	a->node_count = 0;
}

bool agent_node_all(const struct agent *a)
{
	return a->node_count >= wanted(a);
}

int64_t agent_node_bell(const struct agent *a)
{
	return a->nodes[0].id;
}

int64_t agent_node_id(const struct agent *a, const struct fields *record)
{
	struct record_key key;
	struct err e;
	bool known = record_key_read(record, &key, &e) && key.node <= a->conf->launcher_virtual;
	return known ? a->node_ids[key.node] : 0;
}

int agent_node_number(const struct agent *a, int64_t id)
{
	struct agent_node wanted_one = {.id = id};
	const struct agent_node *n = bsearch(&wanted_one, a->nodes, (size_t)a->node_count, sizeof *a->nodes, by_id);
	return n ? n->number : 0;
}

struct db_array *agent_node_array(const struct agent *a)
{
	struct db_array *ids = db_array_new();
	for (int i = 0; i < a->node_count; i++)
		db_array_int(ids, a->nodes[i].id);
	return ids;
}

/* What virtual nodes say of themselves: nothing was found, and nothing is proved, since nothing is run. */
static json_t *virtual_one(const struct agent *a, int number, json_t *self)
{
	json_t *one = json_copy(self);
	char *name = xasprintf("%s%d", a->node, number);
	json_object_set_new(one, "name", json_string(name));
	json_object_set_new(one, "found", json_object());
	json_object_set_new(one, "margin_s", json_integer(a->conf->node_lease_margin));
	free(name);
	return one;
}

json_t *agent_node_facts(struct agent *a)
{
	json_t *facts = agent_hardware_facts(a->conf, a->node), *all = json_array();
	if (a->conf->launcher_virtual == 0) {
		agent_lease_prove(a, facts);
		json_decref(all);
		return facts;
	}
	json_t *self = json_array_get(json_object_get(facts, "nodes"), 0);
	for (int i = 1; i <= a->conf->launcher_virtual; i++)
		json_array_append_new(all, virtual_one(a, i, self));
	json_object_set_new(facts, "nodes", all);
	return facts;
}
