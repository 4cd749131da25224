/* schedule_cluster.h - the nodes, partitions and licences of a snapshot, indexed once for a run of the scheduler.
 *
 * A node index is a node's position 0..nodes-1 in the natural order of names (n2 before n10). Index `nodes` stands for the
 * licences,
 * so that one kind of bookkeeping serves both. Each index has `kinds` amounts: CPUs, memory and one for each generic
 * resource; index `nodes` has one for each licence. */
#ifndef ROTA_SCHEDULE_CLUSTER_H
#define ROTA_SCHEDULE_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule.h"
#include "jobmgr/schedule/schedule_arena.h"

enum { SCHEDULE_CPUS, SCHEDULE_MEM, SCHEDULE_FIRST_GRES };

/* A preference is one number of three parts: the rank of the weight, the free CPUs, the node index. The lowest one is chosen. */
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
	const struct schedule_node **node; /* by node index */
	uint64_t *preference;		   /* by node index: the constant parts, rank and node index */
	int64_t *total, *free;		   /* by node index and kind */
	int **devices;			   /* by node index and generic resource: free devices, ascending */
	size_t *devices_taken;		   /* how many of them were given away, from the front */
	uint64_t *usable;
	uint64_t **partition; /* by index in the snapshot: the partition's nodes */
	struct schedule_names gres, licenses, features, node_names;
	uint64_t **with_feature;	     /* by feature */
	int *index_of_name;		     /* by node name */
	struct schedule_number *index_of_id; /* ascending by id */
};

struct schedule_cluster *schedule_cluster_new(struct schedule_arena *arena, const struct schedule_snapshot *snapshot);

/* The index of a name, -1: not found. */
int schedule_names_find(const struct schedule_names *names, const char *name);

/* The index of a node, -1: no such node. */
int schedule_cluster_by_id(const struct schedule_cluster *cluster, int id);
int schedule_cluster_by_name(const struct schedule_cluster *cluster, const char *name);

/* The index of a partition, -1: no such partition. */
int schedule_cluster_partition(const struct schedule_cluster *cluster, const char *name);

uint64_t *schedule_cluster_bits(const struct schedule_cluster *cluster);

/* Amounts of one node index, all 0. */
int64_t *schedule_cluster_amounts(const struct schedule_cluster *cluster);

static inline int64_t *schedule_cluster_at(const struct schedule_cluster *cluster, int64_t *amounts, size_t node_index)
{
	return amounts + node_index * cluster->kinds;
}

/* Natural order: runs of digits compare as numbers. */
int schedule_name_compare(const char *a, const char *b);

#endif
