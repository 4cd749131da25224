/* agent_node.c - maps the database's node ids to the nodes that this procmgrd serves: one real node, or virtual ones.
 *
 * Called by: the files of the agent that send a node's id to the database or receive one.
 * Invariants:
 * - One statement registers, renews or asks for all nodes.
 * - The NOTIFY channels of the node with the lowest id serve all nodes. */
#include "procmgr/agent/agent_node.h"

#include <stdlib.h>
#include <string.h>

#include "procmgr/record/record.h"

struct node {
	int64_t id;
	int number; /* number of a virtual node, from 1; 0 for the real node */
};

struct agent_nodes {
	const struct conf *conf;
	const char *name;
	struct node *by_id;
	int64_t *ids; /* node ids, indexed by node number; 0 if not registered */
	int count;
	int orphans;
};

struct agent_nodes *agent_node_new(const struct conf *conf, const char *name)
{
	struct agent_nodes *n = xcalloc(1, sizeof *n);
	n->conf = conf;
	n->name = name;
	return n;
}

void agent_node_free(struct agent_nodes *n)
{
	if (!n)
		return;
	agent_node_clear(n);
	free(n);
}

static int compare_ids(const void *a, const void *b)
{
	int64_t x = ((const struct node *)a)->id, y = ((const struct node *)b)->id;
	return x < y ? -1 : x > y;
}

static int number_of_name(const struct agent_nodes *n, const char *name)
{
	size_t length = strlen(n->name);
	return n->conf->launcher_virtual > 0 && strncmp(name, n->name, length) == 0 ? atoi(name + length) : 0;
}

void agent_node_set(struct agent_nodes *n, const PGresult *result)
{
	int rows = PQntuples(result), id = PQfnumber(result, "node_id"), name = PQfnumber(result, "name");
	int orphans = PQfnumber(result, "orphans");
	agent_node_clear(n);
	n->by_id = xcalloc((size_t)rows, sizeof *n->by_id);
	n->ids = xcalloc((size_t)n->conf->launcher_virtual + 1, sizeof *n->ids);
	n->orphans = 0;
	for (int i = 0; i < rows; i++) {
		struct node *one = &n->by_id[n->count];
		*one = (struct node){strtoll(PQgetvalue(result, i, id), NULL, 10),
				     number_of_name(n, PQgetvalue(result, i, name))};
		if (one->number < 0 || one->number > n->conf->launcher_virtual)
			continue;
		n->ids[one->number] = one->id;
		n->orphans += atoi(PQgetvalue(result, i, orphans));
		n->count++;
	}
	qsort(n->by_id, (size_t)n->count, sizeof *n->by_id, compare_ids);
}

void agent_node_clear(struct agent_nodes *n)
{
	free(n->by_id);
	free(n->ids);
	n->by_id = NULL;
	n->ids = NULL;
	n->count = 0;
}

int agent_node_count(const struct agent_nodes *n)
{
	return n->count;
}

bool agent_node_has_all(const struct agent_nodes *n)
{
	return n->count >= (n->conf->launcher_virtual > 0 ? n->conf->launcher_virtual : 1);
}

int agent_node_orphans(const struct agent_nodes *n)
{
	return n->orphans;
}

int64_t agent_node_first_id(const struct agent_nodes *n)
{
	return n->by_id[0].id;
}

int64_t agent_node_own_id(const struct agent_nodes *n)
{
	return n->ids[0];
}

int64_t agent_node_id(const struct agent_nodes *n, const struct fields *record)
{
	struct record_key key;
	struct err e;
	bool known = record_key_read(record, &key, &e) && key.node <= n->conf->launcher_virtual;
	return known ? n->ids[key.node] : 0;
}

int agent_node_number(const struct agent_nodes *n, int64_t id)
{
	struct node wanted = {.id = id};
	const struct node *one = bsearch(&wanted, n->by_id, (size_t)n->count, sizeof *n->by_id, compare_ids);
	return one ? one->number : 0;
}

struct db_array *agent_node_array(const struct agent_nodes *n)
{
	struct db_array *ids = db_array_new();
	for (int i = 0; i < n->count; i++)
		db_array_int(ids, n->by_id[i].id);
	return ids;
}

/* The facts of a virtual node for its registration. They have no hardware and no inventory, since a virtual node runs nothing. */
static json_t *virtual_facts(const struct agent_nodes *n, int number, json_t *real)
{
	json_t *one = json_copy(real);
	char *name = xasprintf("%s%d", n->name, number);
	json_object_set_new(one, "name", json_string(name));
	json_object_set_new(one, "found", json_object());
	json_object_set_new(one, "margin_s", json_integer(n->conf->node_lease_margin));
	free(name);
	return one;
}

void agent_node_add_virtual(const struct agent_nodes *n, json_t *facts)
{
	json_t *real = json_array_get(json_object_get(facts, "nodes"), 0), *all = json_array();
	for (int i = 1; i <= n->conf->launcher_virtual; i++)
		json_array_append_new(all, virtual_facts(n, i, real));
	json_object_set_new(facts, "nodes", all);
}
