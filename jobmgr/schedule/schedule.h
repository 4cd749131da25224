/* schedule.h - the scheduler: a snapshot of the cluster and the queue goes in, decisions and a plan come out.
 *
 * Pure: no I/O, no clock, no SQL; the same snapshot gives the same result always. The live loop (lead.c), the what-if
 * command and the tests call it. The caller owns the snapshot and everything it points to, and keeps it until the
 * result is freed (the result points into it for names). The result owns the rest.
 *
 * What always holds of a result:
 *  - no start overbooks a node, a unit or a licence, taken with all that is used and all other starts, but for the cpus of those that
 *    stand ahead;
 *  - steps of a partition start in the order given until the first that waits for resources; behind it a step starts only
 *    if that delays none of the reservations (backfill), whichever partition holds them;
 *  - a step starts, or is expected, only where its time limit ends before each outage that does not let it in begins;
 *  - the members of a `with` set start all together or not at all;
 *  - each pending step that was looked at is started, or has a wait saying why, or (an array) both. */
#ifndef ROTA_SCHEDULE_H
#define ROTA_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many of something with a name: generic resources per node, licences. */
struct schedule_amount {
	const char *name;
	int64_t count;
};

/* Numbered units of one generic resource: those a running step holds, those a start gets. */
struct schedule_devices {
	const char *name;
	const int *device;
	size_t count;
};

/* One generic resource of a node: how many units there are, and which nobody holds. */
struct schedule_gres {
	const char *name;
	int total;
	const int *free;
	size_t free_count;
};

struct schedule_node {
	int id;
	const char *name;
	int cpus, cpus_used; /* used counts the kept allocations too; so do mem_used_mb and the free units */
	int64_t mem_mb, mem_used_mb;
	bool usable;  /* up, and neither drained nor lost: only then anything starts on it */
	bool failing; /* somebody expects it to fail: taken last */
	const char *const *features;
	size_t feature_count;
	const struct schedule_gres *gres;
	size_t gres_count;
	int weight; /* nodes of lower weight are taken first */
};

/* up: submit and start. down: submit only. drain: start only. inactive: neither. */
enum schedule_state { SCHEDULE_UP, SCHEDULE_DOWN, SCHEDULE_DRAIN, SCHEDULE_INACTIVE };

struct schedule_partition {
	const char *name;
	int priority; /* higher goes first */
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

/* A time in which nodes are not to be used: a maintenance, or what comes behind the deadline of a drain. */
struct schedule_outage {
	int id;		     /* of what may let steps in; 0: nobody is let in */
	const int *node_ids; /* none: those of the outage before, which has the same id */
	size_t node_count;
	double from, to;	 /* INFINITY: for good, or as far as anybody can see */
	const char *description; /* for people: what it is, from when to when */
};

/* One live allocation: a step on a node. A kept one is what an ended step leaves on its nodes for the step `kept_for` of
 * the same job (--same-nodes): nobody else may use it, and a start of that step takes it over, so whoever commits
 * the start frees the kept rows of (job, kept_for) in the same transaction. */
struct schedule_running {
	int64_t job;
	int step;
	const char *label; /* "812.solve[7]" for messages; NULL: job and step in digits */
	int attempt;
	int node_id;
	int cpus;
	int64_t mem_mb;
	const struct schedule_devices *gres;
	size_t gres_count;
	double ends_at; /* at the latest; INFINITY: no time limit */
	bool reserved;
	int reserved_for;
	int request;	    /* the step that it is an element of, or it itself */
	bool predispatched; /* it waits on its node for the cpus of another element of its array, and has none yet */
	const struct schedule_amount *licenses; /* on one row of the step only */
	size_t license_count;
};

/* One step that could start now as far as dependencies, holds and begin times go. Counts of 0 mean "not given". */
struct schedule_pending {
	int64_t job;
	int step; /* of an array: its head */
	const char *name;
	const char *partition;
	int nodes_min;	     /* 0 counts as 1 */
	int nodes_max;	     /* 0: as many as the tasks need */
	int ntasks;	     /* 0, and anything below nodes_min, counts as nodes_min */
	int ntasks_per_node; /* at the most so many on one node; 0: no such limit */
	int cpus_per_task;   /* 0 counts as 1 */
	int64_t mem_mb;	     /* per node; -1: all of the node's; when 0, mem_per_cpu_mb counts */
	int64_t mem_per_cpu_mb;
	const struct schedule_amount *gres; /* per node */
	size_t gres_count;
	const struct schedule_amount *licenses;
	size_t license_count;
	bool exclusive;		     /* whole nodes that are free: takes all cpus and memory of them */
	const char *constraint;	     /* features with & | ! and parentheses; NULL or "": any */
	const char *const *nodelist; /* names: only these nodes, when any is given */
	size_t nodelist_count;
	const char *const *exclude; /* names: none of these */
	size_t exclude_count;
	int64_t time_limit_s; /* 0: unlimited */
	int64_t time_min_s;   /* 0: the limit is not to be shortened */
	double deadline_at;   /* 0: none; in the clock of `now` */
	const int *admitted;  /* ids of the outages that let it in */
	size_t admitted_count;
	int reservation; /* id of the one that it asks for: on its nodes only, while it lasts; 0: none; -1: one that is gone or closed to it */

	/* `with`: the steps of one job with the same with_set (>= 0) start together; with_count is how many they are, 0: none.
	 * same_as and other_than are --same-nodes and --other-nodes between members of one set, as step ids of that set. */
	int with_set;
	int with_count;
	const int *same_as;
	size_t same_as_count;
	const int *other_than;
	size_t other_than_count;

	const int *same_nodes; /* node ids, in the peer's order: exactly these, all of them */
	size_t same_nodes_count;
	const int *other_nodes; /* node ids: none of these */
	size_t other_nodes_count;

	/* An array: positions next..size-1 without those in skip (ascending) are still to be started, room of them at the
	 * most now (< 0: no %limit). In a `with` set all of them are members. */
	int array_size; /* 0: no array */
	int array_next;
	int array_free_slots;
	const int *array_skip;
	size_t array_skip_count;
	int array_ended;       /* so many elements have ended */
	int array_predispatch; /* so many may stand ahead, those that do among them (schedule_predispatch.c) */
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
	const struct schedule_pending *pending; /* in order: highest priority first */
	size_t pending_count;
};

struct schedule_policy {
	bool backfill;	  /* false: strict order, nothing passes a step that waits for resources */
	int reservations; /* how many waiting steps of each partition hold a reservation; at least 1 */
};

extern const struct schedule_policy schedule_policy_default; /* backfill behind 8 reservations a partition */

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
	int64_t time_limit_s;		     /* what it starts with; 0: unlimited */
	bool backfilled;		     /* passed a step that waits */
	bool predispatched;		     /* begins when another element of its array has ended on its node */
	const struct schedule_share *shares; /* the first node is the head node; then in order of names */
	size_t share_count;
};

enum schedule_reason {
	SCHEDULE_RESOURCES,   /* not enough is free */
	SCHEDULE_PRIORITY,    /* enough is free, but a step before it needs it */
	SCHEDULE_PARTITION,   /* its partition starts nothing, or does not exist */
	SCHEDULE_LICENSE,     /* waits for a licence only */
	SCHEDULE_NODE,	      /* the nodes as they are could never run it */
	SCHEDULE_PEER,	      /* a member of its `with` set is not ready */
	SCHEDULE_DEADLINE,    /* cannot end before its deadline any more */
	SCHEDULE_LIMIT,	      /* asks for more than its partition allows */
	SCHEDULE_ARRAY_LIMIT, /* as many elements run as %limit allows */
	SCHEDULE_MAINTENANCE, /* enough is free, but it would run into an outage */
	SCHEDULE_RESERVATION, /* the reservation that it asks for has not begun, or is over */
};

/* Why a pending step was not started (of an array: why its next element was not). */
struct schedule_wait {
	size_t pending; /* index in the snapshot */
	int64_t job;
	int step;
	enum schedule_reason reason;
	int64_t blocker_job; /* the step it waits for; step -1: none is known */
	int blocker_step;
	double expected_at;  /* NAN: not known */
	const int *node_ids; /* where it is expected to start, NULL: not known */
	size_t node_count;
	const char *message; /* one line */
};

struct schedule_result {
	const struct schedule_start *starts; /* in the order they were decided; members of a set stand together */
	size_t start_count;
	const struct schedule_wait *waits; /* in the order of the queue */
	size_t wait_count;
	size_t evaluations; /* how often a step was tried on the nodes: what the pass cost */
};

struct schedule_result *schedule_run(const struct schedule_snapshot *snapshot, const struct schedule_policy *policy);
void schedule_result_free(struct schedule_result *result);

/* "resources", "array_limit", ...: the words of api.schedule_plan. */
const char *schedule_reason_name(enum schedule_reason reason);

/* "up", "down", "drain", "inactive"; anything else counts as inactive. */
enum schedule_state schedule_state_of(const char *word);

#endif
