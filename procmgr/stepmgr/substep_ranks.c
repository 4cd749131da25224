/* substep_ranks.c - which tasks of a sub-step run on one of its nodes (substep_ranks.h).
 *
 * Called by: substep_place.c, substep_engine.c, substep_environment.c, substep_part.c, substep_record.c, substep_spec.c.
 * Invariants: the ranks of all nodes together are 0 to total - 1, each once. */
#include "procmgr/stepmgr/substep_ranks.h"

#include <limits.h>
#include <stdint.h>

static int block_of(const struct substep_ranks *r)
{
	return r->block > 0 ? r->block : 1;
}

int substep_ranks_at(const struct substep_ranks *r, int position)
{
	int block = block_of(r);
	return r->first + position / block * r->stride + position % block;
}

int substep_ranks_position(const struct substep_ranks *r, int rank)
{
	int block = block_of(r), stride = r->stride > 0 ? r->stride : 1, from = rank - r->first;
	return from / stride * block + from % stride;
}

bool substep_ranks_have(const struct substep_ranks *r, int rank)
{
	int position = rank >= r->first ? substep_ranks_position(r, rank) : -1;
	return position >= 0 && position < r->count && substep_ranks_at(r, position) == rank;
}

bool substep_ranks_are_valid(const struct substep_ranks *r, int total)
{
	int block = block_of(r);
	if (r->first < 0 || r->stride < 1 || r->count < 0 || r->count > total || r->block < 0 || block > r->stride)
		return false;
	int64_t last = r->count - 1;
	return r->count == 0 || r->first + last / block * r->stride + last % block < total;
}

static int ranks_between(int64_t value, int highest)
{
	return value < 0 ? 0 : value > highest ? highest : (int)value;
}

struct substep_ranks substep_ranks_of_node(int total, int nodes, int node, int plane)
{
	if (plane == 0) {
		int more = total % nodes, each = total / nodes;
		return (struct substep_ranks){node * each + (node < more ? node : more), 1, each + (node < more), 0};
	}
	int64_t turn = (int64_t)plane * nodes, first = (int64_t)node * plane;
	int count = (int)(total / turn) * plane + ranks_between(total % turn - first, plane);
	return (struct substep_ranks){ranks_between(first, total), turn > INT_MAX ? INT_MAX : (int)turn, count,
				      plane > 1 ? plane : 0};
}
