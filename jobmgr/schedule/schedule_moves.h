/* schedule_moves.h - proposes moves of running steps that gain more than they cost: to make room for a waiting step, or to empty
 * a node. */
#ifndef ROTA_SCHEDULE_MOVES_H
#define ROTA_SCHEDULE_MOVES_H

#include "jobmgr/schedule/schedule.h"
#include "jobmgr/schedule/schedule_arena.h"

/* A running step that can be saved and continue on other nodes. */
struct schedule_mover {
	struct schedule_pending request; /* the step's request when it starts again elsewhere */
	double cost_s;			 /* seconds that it takes to save and restart the step, as measured */
	double off_after_s; /* seconds after which the step's first node, once empty, is powered off; INFINITY: never */
};

enum schedule_move_kind { SCHEDULE_MOVE_ROOM, SCHEDULE_MOVE_EMPTY };

/* One of the steps of a move. */
struct schedule_moved {
	const struct schedule_mover *mover;
	int from_id, to_id; /* ids of the step's first node before and after the move */
	int cpus;
	struct schedule_start start; /* start of the step on the nodes to which it moves */
};

/* A move: steps that move together. Gain and cost are in CPU seconds. */
struct schedule_move {
	enum schedule_move_kind kind;
	size_t pending;			     /* SCHEDULE_MOVE_ROOM: index of the waiting step that then starts at once */
	const struct schedule_start *starts; /* SCHEDULE_MOVE_ROOM: starts of that step and of its gang */
	size_t start_count;
	int node_id;   /* SCHEDULE_MOVE_EMPTY: the node that becomes empty */
	int cpus;      /* CPUs of the waiting step, or of the node */
	double gain_s; /* _ROOM: seconds by which the waiting step starts earlier; _EMPTY: seconds for which the node is off */
	const struct schedule_moved *list;
	size_t count;
	double gain, cost;
};

struct schedule_moves {
	const struct schedule_move *list;
	size_t count;
};

/* Limits on the search for moves. */
struct schedule_moves_bound {
	size_t waits;		    /* number of waiting steps to consider; at most SCHEDULE_MOVES_WAITS_MOST */
	bool (*is_over)(void *arg); /* called between tries; true: stop, and return the moves found so far. NULL: no time limit */
	void *arg;
};

enum { SCHEDULE_MOVES_WAITS_MOST = 16 };

/* Propose moves for the steps that wait in `result`, the result of the scheduler for `snapshot`. Each move assumes that those
 * before it are made. Moves that empty nodes are proposed only if no step waits and the nodes are then powered off. The moves are
 * allocated in `arena`. */
struct schedule_moves schedule_moves(struct schedule_arena *arena, const struct schedule_snapshot *snapshot,
				     const struct schedule_policy *policy, const struct schedule_result *result,
				     const struct schedule_mover *movers, size_t mover_count, struct schedule_moves_bound bound);

#endif
