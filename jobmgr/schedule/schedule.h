/* schedule.h - the scheduler: turns a snapshot of the cluster and the queue into starts and a plan.
 *
 * Called by: lead_cycle.c, tests/bench/plan.c and the unit tests.
 * Invariants:
 *  - The scheduler is pure: no I/O, no clock, no SQL. Equal snapshots give equal results.
 *  - The caller keeps the snapshot until the result is freed, since the result refers to its names.
 *  - All starts together overbook no node, device or licence. Only the CPUs of pre-dispatched elements are promised twice.
 *  - A step starts behind a waiting step of its partition only if it delays no backfill reservation of any partition.
 *  - A step starts, or is expected, only where it ends before each outage that does not admit it.
 *  - The members of a gang start all together or not at all.
 *  - Each pending step starts, or has a wait that says why not. An array may have both. */
#ifndef ROTA_SCHEDULE_H
#define ROTA_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A count of something with a name: generic resources per node, licences. */
struct schedule_amount {
	const char *name;
	int64_t count;
};

/* Numbered devices of one generic resource. */
struct schedule_devices {
	const char *name;
	const int *device;
	size_t count;
};

/* One generic resource of a node: how many devices it has, and which are free. */
struct schedule_gres {
	const char *name;
	int total;
	const int *free;
	size_t free_count;
};

struct schedule_node {
	int id;
	const char *name;
	int cpus, cpus_used; /* cpus_used, mem_used_mb and the free devices take reserved allocations into account */
	int64_t mem_mb, mem_used_mb;
	bool usable;  /* up, and neither drained nor lost; nothing starts on other nodes */
	bool failing; /* expected to fail: chosen last */
	const char *const *features;
	size_t feature_count;
	const struct schedule_gres *gres;
	size_t gres_count;
	int weight; /* nodes of lower weight are chosen first */
};

/* up: submit and start. down: submit only. drain: start only. inactive: neither. */
enum schedule_state { SCHEDULE_UP, SCHEDULE_DOWN, SCHEDULE_DRAIN, SCHEDULE_INACTIVE };

struct schedule_partition {
	const char *name;
	int priority; /* steps of the partition with the higher one go first */
	enum schedule_state state;
	int64_t max_time_s; /* 0: no limit */
	int max_nodes;	    /* 0: no limit */
	const int *node_ids;
	size_t node_count;
};

struct schedule_license {
	const char *name;
	int64_t total, used;
};

/* A time in which nodes must not be used: a maintenance, an administrative reservation, or the time after a drain's deadline. */
struct schedule_outage {
	int id;		     /* of the administrative reservation; 0: no step is admitted */
	const int *node_ids; /* none: the nodes of the previous outage, which has the same id */
	size_t node_count;
	double from, to;	 /* INFINITY: no known end */
	const char *description; /* for messages: what it is, and when */
};

/* One allocation: a live step on one node, or resources that an ended step left there for its successor `reserved_for` of the
 * same
 * job (--same-nodes). Only that step may use them, and its start takes them over. Whoever commits the start therefore
 * frees the rows reserved for (job, reserved_for) in the same transaction. */
struct schedule_running {
	int64_t job;
	int step;
	const char *label; /* for messages, such as "812.solve[7]"; NULL: job and step as numbers */
	int attempt;
	int node_id;
	int cpus;
	int64_t mem_mb;
	const struct schedule_devices *gres;
	size_t gres_count;
	double ends_at; /* the latest end; INFINITY: no time limit */
	bool reserved;
	int reserved_for;
	int request;	    /* the array that the step is an element of, or the step itself */
	bool predispatched; /* it waits on its node for the CPUs of another element of its array, and holds none yet */
	const struct schedule_amount *licenses; /* on one row of each step only */
	size_t license_count;
};

/* One step whose dependencies, hold and begin time allow it to start. Counts of 0 mean "not given". */
struct schedule_pending {
	int64_t job;
	int step; /* of an array: its head row */
	const char *name;
	const char *partition;
	int nodes_min;	     /* 0 counts as 1 */
	int nodes_max;	     /* 0: as many as the tasks need */
	int ntasks;	     /* less than nodes_min counts as nodes_min */
	int ntasks_per_node; /* at most; 0: no limit */
	int cpus_per_task;   /* 0 counts as 1 */
	int64_t mem_mb;	     /* per node; -1: all memory of the node; 0: mem_per_cpu_mb counts */
	int64_t mem_per_cpu_mb;
	const struct schedule_amount *gres; /* per node */
	size_t gres_count;
	const struct schedule_amount *licenses;
	size_t license_count;
	bool exclusive;		     /* whole free nodes, with all their CPUs and memory */
	const char *constraint;	     /* features with & | ! and parentheses; NULL or "": any */
	const char *const *nodelist; /* names; if given, only these nodes */
	size_t nodelist_count;
	const char *const *exclude; /* names; never these nodes */
	size_t exclude_count;
	int64_t time_limit_s; /* 0: unlimited */
	int64_t time_min_s;   /* 0: the time limit must not be shortened */
	double deadline_at;   /* 0: none; on the clock of `now` */
	const int *admitted;  /* ids of the outages that admit it */
	size_t admitted_count;
	int reservation; /* id of the administrative reservation it asks for; 0: none; -1: gone, or not for its user */

	/* A gang (--with): steps of one job with the same with_set (>= 0). with_count is their number, 0: no gang.
	 * same_as and other_than are --same-nodes and --other-nodes between members, as their step ids. */
	int with_set;
	int with_count;
	const int *same_as;
	size_t same_as_count;
	const int *other_than;
	size_t other_than_count;

	const int *same_nodes; /* node ids in the order of the peer: exactly these nodes, all of them */
	size_t same_nodes_count;
	const int *other_nodes; /* node ids: none of these nodes */
	size_t other_nodes_count;

	/* An array: positions array_next..array_size-1 without those in array_skip (ascending) have not started. At most
	 * array_free_slots of them may start now (< 0: no %limit). In a gang all of them are members. */
	int array_size; /* 0: no array */
	int array_next;
	int array_free_slots;
	const int *array_skip;
	size_t array_skip_count;
	int array_ended;       /* elements that have ended */
	int array_predispatch; /* limit of pre-dispatched elements, with those that are already */
};

struct schedule_snapshot {
	double now; /* seconds since 1970, as all times here */
	const struct schedule_node *nodes;
	size_t node_count;
	const struct schedule_partition *partitions;
	size_t partition_count;
	const struct schedule_license *licenses;
	size_t license_count;
	const struct schedule_outage *outages;
	size_t outage_count;
	const struct schedule_running *running;
	size_t running_count;
	const struct schedule_pending *pending; /* in queue order: highest priority first */
	size_t pending_count;
};

struct schedule_policy {
	bool backfill;	  /* false: strict order, no step starts before a waiting one */
	int reservations; /* backfill reservations per partition, at least 1 */
};

extern const struct schedule_policy schedule_policy_default; /* backfill, with 8 reservations per partition */

/* What a start gets on one node. */
struct schedule_share {
	int node_id;
	int cpus;
	int64_t mem_mb;
	int tasks;
	const struct schedule_devices *gres;
	size_t gres_count;
};

struct schedule_start {
	size_t pending; /* index in the snapshot */
	int64_t job;
	int step;
	int position;			     /* of the array element, -1: no array */
	int64_t time_limit_s;		     /* 0: unlimited */
	bool backfilled;		     /* started before a waiting step of its partition */
	bool predispatched;		     /* begins when another element of its array ends on its node */
	const struct schedule_share *shares; /* the head node first, then in the order of names */
	size_t share_count;
};

enum schedule_reason {
	SCHEDULE_RESOURCES,   /* not enough is free */
	SCHEDULE_PRIORITY,    /* enough is free, but a step before it needs it */
	SCHEDULE_PARTITION,   /* its partition starts nothing, or does not exist */
	SCHEDULE_LICENSE,     /* only a licence is missing */
	SCHEDULE_NODE,	      /* the usable nodes could never run it */
	SCHEDULE_PEER,	      /* a member of its gang cannot start */
	SCHEDULE_DEADLINE,    /* it can no longer end before its deadline */
	SCHEDULE_LIMIT,	      /* it asks for more than its partition allows */
	SCHEDULE_ARRAY_LIMIT, /* %limit elements run */
	SCHEDULE_MAINTENANCE, /* enough is free, but it would run into an outage */
	SCHEDULE_RESERVATION, /* its administrative reservation has not begun, or is over */
};

/* Why a pending step did not start; of an array, why its next element did not. */
struct schedule_wait {
	size_t pending; /* index in the snapshot */
	int64_t job;
	int step;
	enum schedule_reason reason;
	int64_t blocker_job; /* the step it waits for; blocker_step -1: none is known */
	int blocker_step;
	double expected_at;  /* NAN: not known */
	const int *node_ids; /* its expected nodes, NULL: not known */
	size_t node_count;
	const char *message; /* one line */
};

struct schedule_result {
	const struct schedule_start *starts; /* in the order of decision; members of a gang are adjacent */
	size_t start_count;
	const struct schedule_wait *waits; /* in queue order */
	size_t wait_count;
	size_t evaluations; /* placement attempts: the cost of the cycle */
};

struct schedule_result *schedule_run(const struct schedule_snapshot *snapshot, const struct schedule_policy *policy);
void schedule_result_free(struct schedule_result *result);

/* The reason as api.schedule_plan takes it: "resources", "array_limit", ... */
const char *schedule_reason_name(enum schedule_reason reason);

/* "up", "down", "drain" or "inactive"; any other text counts as inactive. */
enum schedule_state schedule_state_of(const char *word);

#endif
