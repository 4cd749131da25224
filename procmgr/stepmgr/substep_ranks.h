/* substep_ranks.h - which tasks of a sub-step run on one of its nodes. */
#ifndef ROTA_PROCMGR_SUBSTEP_RANKS_H
#define ROTA_PROCMGR_SUBSTEP_RANKS_H

#include <stdbool.h>

/* Ranks of `count` tasks: blocks of `block` consecutive ranks (0 counts as 1), from `first` on, which begin `stride` apart. */
struct substep_ranks {
	int first, stride, count, block;
};

/* Returns the rank of the task at a position, which counts from 0. The second function returns the position of one of these
 * ranks. */
int substep_ranks_at(const struct substep_ranks *r, int position);
int substep_ranks_position(const struct substep_ranks *r, int rank);

bool substep_ranks_have(const struct substep_ranks *r, int rank);

/* Is each of these ranks from 0 to total - 1? */
bool substep_ranks_are_valid(const struct substep_ranks *r, int total);

/* Returns the ranks on node `node` (from 0 on) of `nodes`, for `total` tasks. With `plane`, blocks of so many tasks go to the nodes in turns;
 * 0: the tasks are shared out evenly, with consecutive ranks on a node. */
struct substep_ranks substep_ranks_of_node(int total, int nodes, int node, int plane);

#endif
