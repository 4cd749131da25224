/* schedule_cluster.c - indexes the nodes, partitions and licences of a snapshot.
 *
 * Called by: schedule.c, once at the start.
 * Invariants:
 *  - After the index is made, only the free amounts, the taken devices and the setups of nodes change. */
#include "jobmgr/schedule/schedule_cluster.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"
#include "lib/err.h"

int schedule_name_compare(const char *a, const char *b)
{
	const char *x = a, *y = b;
	while (*x && *y) {
		if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
			x += strspn(x, "0");
			y += strspn(y, "0");
			size_t m = strspn(x, "0123456789"), n = strspn(y, "0123456789");
			int order = m != n ? (m < n ? -1 : 1) : strncmp(x, y, m);
			if (order)
				return order;
			x += m;
			y += n;
		} else if (*x != *y) {
			return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
		} else {
			x++;
			y++;
		}
	}
	if (*x || *y)
		return *x ? 1 : -1;
	return strcmp(a, b);
}

static int compare_nodes(const void *a, const void *b)
{
	const struct schedule_node *x = *(const struct schedule_node *const *)a, *y = *(const struct schedule_node *const *)b;
	int order = schedule_name_compare(x->name, y->name);
	return order ? order : (x->id > y->id) - (x->id < y->id);
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_numbers(const void *a, const void *b)
{
	int x = ((const struct schedule_number *)a)->number, y = ((const struct schedule_number *)b)->number;
	return (x > y) - (x < y);
}

static void names_sort(struct schedule_names *names)
{
	size_t distinct = 0;
	if (names->count)
		qsort(names->name, names->count, sizeof *names->name, compare_strings);
	for (size_t i = 0; i < names->count; i++)
		if (!distinct || strcmp(names->name[distinct - 1], names->name[i]))
			names->name[distinct++] = names->name[i];
	names->count = distinct;
}

int schedule_names_find(const struct schedule_names *names, const char *name)
{
	const char **found =
		names->count ? bsearch(&name, names->name, names->count, sizeof *names->name, compare_strings) : NULL;
	return found ? (int)(found - names->name) : -1;
}

int schedule_cluster_by_id(const struct schedule_cluster *cluster, int id)
{
	const struct schedule_number wanted = {.number = id};
	const struct schedule_number *found =
		cluster->nodes ? bsearch(&wanted, cluster->index_of_id, cluster->nodes, sizeof wanted, compare_numbers) : NULL;
	return found ? found->node_index : -1;
}

int schedule_cluster_by_name(const struct schedule_cluster *cluster, const char *name)
{
	int found = schedule_names_find(&cluster->node_names, name);
	return found < 0 ? -1 : cluster->index_of_name[found];
}

int schedule_cluster_partition(const struct schedule_cluster *cluster, const char *name)
{
	for (size_t i = 0; name && i < cluster->snapshot->partition_count; i++)
		if (!strcmp(cluster->snapshot->partitions[i].name, name))
			return (int)i;
	return -1;
}

uint64_t *schedule_cluster_bits(const struct schedule_cluster *cluster)
{
	return schedule_arena_take(cluster->arena, cluster->words, sizeof(uint64_t));
}

int64_t *schedule_cluster_amounts(const struct schedule_cluster *cluster)
{
	return schedule_arena_take(cluster->arena, cluster->kinds, sizeof(int64_t));
}

static void cluster_collect_names(struct schedule_cluster *c)
{
	const struct schedule_snapshot *s = c->snapshot;
	size_t gres = 0, features = 0;
	for (size_t i = 0; i < s->node_count; i++) {
		gres += s->nodes[i].gres_count;
		features += s->nodes[i].feature_count;
	}
	c->gres.name = schedule_arena_take(c->arena, gres, sizeof(char *));
	c->features.name = schedule_arena_take(c->arena, features, sizeof(char *));
	c->licenses.name = schedule_arena_take(c->arena, s->license_count, sizeof(char *));
	c->node_names.name = schedule_arena_take(c->arena, s->node_count, sizeof(char *));
	for (size_t i = 0; i < s->node_count; i++) {
		const struct schedule_node *node = &s->nodes[i];
		c->node_names.name[c->node_names.count++] = node->name;
		for (size_t k = 0; k < node->gres_count; k++)
			c->gres.name[c->gres.count++] = node->gres[k].name;
		for (size_t k = 0; k < node->feature_count; k++)
			c->features.name[c->features.count++] = node->features[k];
	}
	for (size_t i = 0; i < s->license_count; i++)
		c->licenses.name[c->licenses.count++] = s->licenses[i].name;
	names_sort(&c->gres);
	names_sort(&c->features);
	names_sort(&c->licenses);
	names_sort(&c->node_names);
}

/* Order the nodes by name, and index them by id and by name. */
static void cluster_index_nodes(struct schedule_cluster *c)
{
	c->node = schedule_arena_take(c->arena, c->nodes, sizeof *c->node);
	c->index_of_id = schedule_arena_take(c->arena, c->nodes, sizeof *c->index_of_id);
	c->index_of_name = schedule_arena_take(c->arena, c->nodes, sizeof *c->index_of_name);
	for (size_t i = 0; i < c->nodes; i++)
		c->node[i] = &c->snapshot->nodes[i];
	if (c->nodes)
		qsort(c->node, c->nodes, sizeof *c->node, compare_nodes);
	for (size_t node_index = 0; node_index < c->nodes; node_index++) {
		c->index_of_id[node_index] = (struct schedule_number){c->node[node_index]->id, (int)node_index};
		c->index_of_name[schedule_names_find(&c->node_names, c->node[node_index]->name)] = (int)node_index;
	}
	if (c->nodes)
		qsort(c->index_of_id, c->nodes, sizeof *c->index_of_id, compare_numbers);
}

/* Sort key of a node. Nodes of a lower key are chosen first: failing ones last, then by power, then by weight. */
struct rank_key {
	int64_t key;
	int node_index;
};

static int compare_ranks(const void *a, const void *b)
{
	int64_t x = ((const struct rank_key *)a)->key, y = ((const struct rank_key *)b)->key;
	return (x > y) - (x < y);
}

static int64_t rank_key_of(const struct schedule_node *node)
{
	const int64_t weights = (int64_t)1 << 33; /* more than the distance between two weights */
	return node->failing ? (SCHEDULE_POWER_OFF + 1) * weights : node->power * weights + node->weight;
}

/* Rank nodes: those that are on by weight, then those that are powered on, then those that are off, and failing ones last, so
 * that rank, free CPUs and node index fit into one number. */
static void cluster_rank_nodes(struct schedule_cluster *c)
{
	struct rank_key *order = schedule_arena_take(c->arena, c->nodes, sizeof *order);
	c->preference = schedule_arena_take(c->arena, c->nodes, sizeof *c->preference);
	for (size_t node_index = 0; node_index < c->nodes; node_index++)
		order[node_index] = (struct rank_key){rank_key_of(c->node[node_index]), (int)node_index};
	if (c->nodes)
		qsort(order, c->nodes, sizeof *order, compare_ranks);
	uint64_t rank = 0;
	for (size_t i = 0; i < c->nodes; i++) {
		rank += i && order[i].key != order[i - 1].key;
		c->preference[order[i].node_index] =
			rank << (SCHEDULE_NODE_BITS + SCHEDULE_CPU_BITS) | (uint64_t)order[i].node_index;
	}
}

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

static void cluster_fill_gres(struct schedule_cluster *c, size_t node_index)
{
	int64_t *total = schedule_cluster_at(c, c->total, node_index), *free = schedule_cluster_at(c, c->free, node_index);
	const struct schedule_node *node = c->node[node_index];
	for (size_t k = 0; k < node->gres_count; k++) {
		const struct schedule_gres *gres = &node->gres[k];
		size_t kind = (size_t)schedule_names_find(&c->gres, gres->name);
		int **devices = &c->devices[node_index * c->gres.count + kind];
		total[SCHEDULE_FIRST_GRES + kind] = gres->total;
		free[SCHEDULE_FIRST_GRES + kind] = (int64_t)gres->free_count;
		*devices = schedule_arena_take(c->arena, gres->free_count, sizeof **devices);
		if (!gres->free_count)
			continue;
		memcpy(*devices, gres->free, gres->free_count * sizeof **devices);
		qsort(*devices, gres->free_count, sizeof **devices, compare_ints);
	}
}

static void cluster_fill_amounts(struct schedule_cluster *c)
{
	size_t gres = c->nodes * c->gres.count;
	c->total = schedule_arena_take(c->arena, (c->nodes + 1) * c->kinds, sizeof *c->total);
	c->free = schedule_arena_take(c->arena, (c->nodes + 1) * c->kinds, sizeof *c->free);
	c->devices = schedule_arena_take(c->arena, gres, sizeof *c->devices);
	c->devices_taken = schedule_arena_take(c->arena, gres, sizeof *c->devices_taken);
	c->usable = schedule_cluster_bits(c);
	for (size_t node_index = 0; node_index < c->nodes; node_index++) {
		const struct schedule_node *node = c->node[node_index];
		int64_t *total = schedule_cluster_at(c, c->total, node_index),
			*free = schedule_cluster_at(c, c->free, node_index);
		total[SCHEDULE_CPUS] = node->cpus;
		total[SCHEDULE_MEM] = node->mem_mb;
		free[SCHEDULE_CPUS] = node->cpus - node->cpus_used;
		free[SCHEDULE_MEM] = node->mem_mb - node->mem_used_mb;
		cluster_fill_gres(c, node_index);
		if (node->usable)
			schedule_bits_add(c->usable, node_index);
	}
	for (size_t i = 0; i < c->snapshot->license_count; i++) {
		const struct schedule_license *license = &c->snapshot->licenses[i];
		int kind = schedule_names_find(&c->licenses, license->name);
		schedule_cluster_at(c, c->total, c->nodes)[kind] = license->total;
		schedule_cluster_at(c, c->free, c->nodes)[kind] = license->total - license->used;
	}
}

static void cluster_fill_node_sets(struct schedule_cluster *c)
{
	const struct schedule_snapshot *s = c->snapshot;
	c->with_feature = schedule_arena_take(c->arena, c->features.count, sizeof *c->with_feature);
	for (size_t i = 0; i < c->features.count; i++)
		c->with_feature[i] = schedule_cluster_bits(c);
	for (size_t node_index = 0; node_index < c->nodes; node_index++)
		for (size_t k = 0; k < c->node[node_index]->feature_count; k++)
			schedule_bits_add(c->with_feature[schedule_names_find(&c->features, c->node[node_index]->features[k])],
					  node_index);
	c->partition = schedule_arena_take(c->arena, s->partition_count, sizeof *c->partition);
	for (size_t i = 0; i < s->partition_count; i++) {
		c->partition[i] = schedule_cluster_bits(c);
		for (size_t k = 0; k < s->partitions[i].node_count; k++) {
			int node_index = schedule_cluster_by_id(c, s->partitions[i].node_ids[k]);
			if (node_index >= 0)
				schedule_bits_add(c->partition[i], (size_t)node_index);
		}
	}
}

/* Returns the image that a step needs on a node; NULL: any image will do. */
static const char *setup_image(const struct schedule_node *node, const struct schedule_pending *step)
{
	return step->image ? step->image : node->image ? node->default_image : NULL;
}

static bool setup_is_prepared(const struct schedule_cluster *cluster, const struct schedule_pending *step, size_t node_index)
{
	const char *has = cluster->prep[node_index];
	return has && step->prep ? !strcmp(has, step->prep) : !has && !step->prep;
}

bool schedule_cluster_needs_boot(const struct schedule_cluster *cluster, const struct schedule_pending *step, size_t node_index)
{
	const char *needed = setup_image(cluster->node[node_index], step), *has = cluster->image[node_index];
	return needed && !(has && !strcmp(needed, has));
}

enum schedule_setup_state schedule_cluster_setup(const struct schedule_cluster *cluster, const struct schedule_pending *step,
						 size_t node_index)
{
	bool boots;
	if (!cluster->has_setups)
		return SCHEDULE_SETUP_RIGHT;
	boots = schedule_cluster_needs_boot(cluster, step, node_index);
	if (!boots && setup_is_prepared(cluster, step, node_index))
		return SCHEDULE_SETUP_RIGHT;
	if (schedule_bits_has(cluster->changing, node_index) ||
	    (boots && (!cluster->image[node_index] || !cluster->node[node_index]->default_image)))
		return SCHEDULE_SETUP_WRONG;
	return SCHEDULE_SETUP_OTHER;
}

void schedule_cluster_change_setup(const struct schedule_cluster *cluster, const struct schedule_pending *step, size_t node_index)
{
	const char *image = setup_image(cluster->node[node_index], step);
	if (image)
		cluster->image[node_index] = image;
	cluster->prep[node_index] = step->prep;
	schedule_bits_add(cluster->changing, node_index);
}

static void cluster_fill_setups(struct schedule_cluster *c)
{
	c->image = schedule_arena_take(c->arena, c->nodes, sizeof *c->image);
	c->prep = schedule_arena_take(c->arena, c->nodes, sizeof *c->prep);
	c->changing = schedule_cluster_bits(c);
	for (size_t node_index = 0; node_index < c->nodes; node_index++) {
		const struct schedule_node *node = c->node[node_index];
		c->image[node_index] = node->image;
		c->prep[node_index] = node->prep;
		c->has_setups |= node->default_image || node->prep;
		if (node->ready_at > 0)
			schedule_bits_add(c->changing, node_index);
	}
	for (size_t i = 0; i < c->snapshot->pending_count && !c->has_setups; i++)
		c->has_setups = c->snapshot->pending[i].image || c->snapshot->pending[i].prep;
}

struct schedule_cluster *schedule_cluster_new(struct schedule_arena *arena, const struct schedule_snapshot *snapshot)
{
	struct schedule_cluster *c = schedule_arena_take(arena, 1, sizeof *c);
	if (snapshot->node_count >= (size_t)1 << SCHEDULE_NODE_BITS)
		die("schedule: %zu nodes in the snapshot; at most %d can be scheduled", snapshot->node_count,
		    (1 << SCHEDULE_NODE_BITS) - 1);
	c->snapshot = snapshot;
	c->arena = arena;
	c->nodes = snapshot->node_count;
	c->words = c->nodes / 64 + 1;
	cluster_collect_names(c);
	c->kinds = SCHEDULE_FIRST_GRES + c->gres.count;
	if (c->kinds < c->licenses.count)
		c->kinds = c->licenses.count;
	cluster_index_nodes(c);
	cluster_rank_nodes(c);
	cluster_fill_amounts(c);
	cluster_fill_node_sets(c);
	cluster_fill_setups(c);
	return c;
}
