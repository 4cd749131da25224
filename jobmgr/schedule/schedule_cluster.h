/* schedule_cluster.h - the nodes, partitions and licences of a snapshot, indexed once for a run of the scheduler.
 *
 * A node index is a node's position 0..nodes-1 in the natural order of names (n2 before n10). Index `nodes` stands for the
 * licences, so that nodes and licences are counted by the same code. Each index has `kinds` amounts: CPUs, memory and one for
 * each generic resource; index `nodes` has one for each licence. */
#ifndef ROTA_SCHEDULE_CLUSTER_H
#define ROTA_SCHEDULE_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule.h"
#include "jobmgr/schedule/schedule_arena.h"

enum { SCHEDULE_CPUS, SCHEDULE_MEM, SCHEDULE_FIRST_GRES };

/* The preference of a node is one number of three parts: rank of the node's weight, free CPUs, node index. The node with the
 * lowest preference is chosen. */
enum { SCHEDULE_NODE_BITS = 22, SCHEDULE_CPU_BITS = 20 };

/* Distinct names, sorted. */
struct schedule_names {
	const char **name;
	size_t count;
};

struct schedule_number {
	int number; /* a node's id, or its weight */
	int node_index;
};

struct schedule_cluster {
	const struct schedule_snapshot *snapshot;
	struct schedule_arena *arena;
	size_t nodes, words, kinds;
	const struct schedule_node **node; /* nodes of the snapshot, by node index */
	uint64_t *preference;		   /* by node index: rank and index of the node, by which steps prefer it */
	int64_t *total, *free;		   /* amounts of each kind of resource, by node index and kind */
	int **devices;			   /* by node index and generic resource: free devices, ascending */
	size_t *devices_taken;		   /* number of free devices that were given to steps, from the front of the list */
	/* by node index: image of the node, or the image that this run of the scheduler decides to boot */
	const char **image;
	/* by node index: preparation of the node, or the one that this run of the scheduler decides to make */
	const char **prep;
	/* set of nodes whose setup is being changed, or that this run of the scheduler decides to change */
	uint64_t *changing;
	bool has_setups; /* false: no node has a default image or a preparation, and no step asks for one */
	uint64_t *usable;
	uint64_t **partition; /* by index of the partition in the snapshot: the set of its nodes */
	struct schedule_names gres, licenses, features, node_names;
	uint64_t **with_feature;	     /* by index of the feature: the set of nodes that have it */
	int *index_of_name;		     /* node index, by index of the node's name in node_names */
	struct schedule_number *index_of_id; /* node index of each node id, ascending by id */
};

struct schedule_cluster *schedule_cluster_new(struct schedule_arena *arena, const struct schedule_snapshot *snapshot);

/* Whether the setup of a node, its image and preparation, suits a step. */
enum schedule_setup_state {
	SCHEDULE_SETUP_RIGHT,
	SCHEDULE_SETUP_OTHER, /* the setup of the node is another one, and may be changed if no step uses the node */
	SCHEDULE_SETUP_WRONG
};

/* Returns whether the setup of a node is right for a step, could be changed for it, or is wrong. */
enum schedule_setup_state schedule_cluster_setup(const struct schedule_cluster *cluster, const struct schedule_pending *step,
						 size_t node_index);

/* Does a node have another image than the step needs? */
bool schedule_cluster_needs_boot(const struct schedule_cluster *cluster, const struct schedule_pending *step, size_t node_index);

/* Record that a node is to get the setup that a step needs. Its setup is SCHEDULE_SETUP_OTHER for the step. */
void schedule_cluster_change_setup(const struct schedule_cluster *cluster, const struct schedule_pending *step,
				   size_t node_index);

/* Returns the index of a name, or -1 if it is not in `names`. */
int schedule_names_find(const struct schedule_names *names, const char *name);

/* Returns the index of a node, or -1 if there is no such node. */
int schedule_cluster_by_id(const struct schedule_cluster *cluster, int id);
int schedule_cluster_by_name(const struct schedule_cluster *cluster, const char *name);

/* Returns the index of a partition in the snapshot, or -1 if there is no such partition. */
int schedule_cluster_partition(const struct schedule_cluster *cluster, const char *name);

uint64_t *schedule_cluster_bits(const struct schedule_cluster *cluster);

/* Returns new amounts for one node index, one for each kind of resource, all 0. */
int64_t *schedule_cluster_amounts(const struct schedule_cluster *cluster);

static inline int64_t *schedule_cluster_at(const struct schedule_cluster *cluster, int64_t *amounts, size_t node_index)
{
	return amounts + node_index * cluster->kinds;
}

/* Compare two names in natural order: runs of digits compare as numbers. */
int schedule_name_compare(const char *a, const char *b);

#endif
