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

/* A named count: of a generic resource per node, or of a licence. */
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

/* Power of a node. The scheduler chooses nodes in the order of these values. A step that is placed on a node that is not on
 * waits until the node is on. */
enum schedule_power { SCHEDULE_POWER_ON, SCHEDULE_POWER_COMING, SCHEDULE_POWER_OFF };

struct schedule_node {
	int id;
	const char *name;
	int cpus, cpus_used; /* cpus_used, mem_used_mb and the free devices take reserved allocations into account */
	int64_t mem_mb, mem_used_mb;
	bool usable;  /* the node is up, and neither drained nor lost; nothing starts on a node that is not usable */
	bool failing; /* the node is expected to fail, so it is chosen last */
	enum schedule_power power;
	const char *image;	   /* image that the node has, or with which it is being booted; NULL: the node reports none */
	const char *default_image; /* image for steps that ask for none; NULL: the node is never booted with another image */
	const char *prep;	   /* preparation that the node has, or is being given, with arguments; NULL: none */
	double ready_at;	   /* when a node that is given a setup is expected to be on with it; 0: the node is given none */
	const char *const *features;
	size_t feature_count;
	const struct schedule_gres *gres;
	size_t gres_count;
	int weight; /* nodes of lower weight are chosen first */
};

/* State of a partition. Up: steps can be submitted and started. Down: submitted only. Drain: started only. Inactive: neither. */
enum schedule_state { SCHEDULE_UP, SCHEDULE_DOWN, SCHEDULE_DRAIN, SCHEDULE_INACTIVE };

struct schedule_partition {
	const char *name;
	int priority; /* steps of a partition with a higher priority go first */
	enum schedule_state state;
	int64_t max_time_s; /* longest time limit of a step; 0: no limit */
	int max_nodes;	    /* upper limit of the nodes of one step; 0: no limit */
	const int *node_ids;
	size_t node_count;
};

struct schedule_license {
	const char *name;
	int64_t total, used;
};

/* A time in which nodes must not be used: a maintenance, an administrative reservation, or the time after a drain's deadline. */
struct schedule_outage {
	int id;		     /* id of the administrative reservation; 0: an outage that admits no step */
	const int *node_ids; /* ids of the outage's nodes; NULL: the nodes of the previous outage, which has the same id */
	size_t node_count;
	double from, to;	 /* `to` is INFINITY if the outage has no known end */
	const char *description; /* name and time of the outage, for messages */
};

/* One allocation: a live step on one node, or resources that an ended step left there for its successor `reserved_for` of the
 * same job (--same-nodes). Only the successor may use these resources, and its start takes them over. So the transaction that
 * commits its start also frees the rows reserved for (job, reserved_for). */
struct schedule_running {
	int64_t job;
	int step;
	const char *label; /* name of the step in messages, such as "812.solve[7]"; NULL: messages have job and step as numbers */
	int attempt;
	int node_id;
	int cpus;
	int64_t mem_mb;
	const struct schedule_devices *gres;
	size_t gres_count;
	double ends_at; /* time at which the step ends at the latest; INFINITY: no time limit */
	bool reserved;
	int reserved_for;
	int request; /* step id of the array that the step is an element of, or of the step itself */
	/* the element waits on its node for the CPUs of another element of its array, and holds no CPUs yet */
	bool predispatched;
	const struct schedule_amount *licenses; /* licences of the step, given on only one of its rows */
	size_t license_count;
};

/* One step whose dependencies, hold and begin time allow it to start. Counts of 0 mean "not given". */
struct schedule_pending {
	int64_t job;
	int step; /* step id; of an array, that of its head row */
	const char *name;
	const char *partition;
	int nodes_min;	     /* lower limit of the number of nodes; 0 counts as 1 */
	int nodes_max;	     /* upper limit of the number of nodes; 0: as many nodes as the tasks need */
	int ntasks;	     /* number of tasks; less than nodes_min counts as nodes_min */
	int ntasks_per_node; /* upper limit of the tasks on one node; 0: no limit */
	int cpus_per_task;   /* CPUs of each task; 0 counts as 1 */
	int64_t mem_mb;	     /* MiB per node; -1: all memory of the node; 0: mem_per_cpu_mb counts */
	int64_t mem_per_cpu_mb;
	const struct schedule_amount *gres; /* generic resources per node */
	size_t gres_count;
	const struct schedule_amount *licenses;
	size_t license_count;
	bool exclusive;		     /* the step needs free nodes and gets all their CPUs and memory */
	const char *image;	     /* image that the step asks for on its nodes; NULL: the default image of each node */
	const char *prep;	     /* preparation that the step asks for on its nodes, with its arguments; NULL: none */
	const char *constraint;	     /* expression over node features with & | ! and parentheses; NULL or "": any node */
	const char *const *nodelist; /* names of the only nodes that the step may use; none: all nodes */
	size_t nodelist_count;
	const char *const *exclude; /* names of nodes that the step must not use */
	size_t exclude_count;
	int64_t time_limit_s; /* time limit in seconds; 0: unlimited */
	int64_t time_min_s;   /* shortest time limit that the step accepts; 0: the time limit must not be shortened */
	double deadline_at;   /* time by which the step must have ended, on the clock of `now`; 0: no deadline */
	int tier;	      /* the step may preempt running steps of lower tiers, see schedule_preempt.h */
	const int *admitted;  /* ids of the outages that admit the step */
	size_t admitted_count;
	/* id of the administrative reservation that the step asks for; 0: none; -1: it is deleted, or does not admit the user */
	int reservation;

	/* A gang (--with) is the steps of one job with the same with_set (>= 0). with_count is the number of its members; 0:
	 * the step is in no gang. same_as and other_than are the step ids of members that --same-nodes and --other-nodes name. */
	int with_set;
	int with_count;
	const int *same_as;
	size_t same_as_count;
	const int *other_than;
	size_t other_than_count;

	const int *same_nodes; /* ids of the nodes that the step must use, all of them, in the order of its peer */
	size_t same_nodes_count;
	const int *other_nodes; /* ids of nodes of peers that the step must not use */
	size_t other_nodes_count;
	const int *data_nodes; /* ids of nodes that have data of the step, ascending; among free nodes they are chosen first */
	size_t data_nodes_count;

	/* An array: positions array_next..array_size-1 without those in array_skip (ascending) have not started. At most
	 * array_free_slots of them may start now (< 0: no %limit). If the array is in a gang, all these elements are members. */
	int array_size; /* number of elements of the array; 0: the step is no array */
	int array_next;
	int array_free_slots;
	const int *array_skip;
	size_t array_skip_count;
	int array_ended;       /* number of elements of the array that have ended */
	int array_predispatch; /* most pre-dispatched elements of the array, those that are already pre-dispatched included */
	bool array_ahead;      /* node.ahead is set: a node gets pre-dispatched elements in proportion to those that it runs */
};

struct schedule_snapshot {
	double now; /* time of the snapshot, in seconds since 1970, as all times of a snapshot */
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
	const struct schedule_pending *pending; /* pending steps in queue order: highest priority first */
	size_t pending_count;
};

struct schedule_policy {
	bool backfill;	  /* false: strict order, no step starts before a waiting step */
	int reservations; /* backfill reservations per partition, at least 1 */
};

/* default policy: backfill, with 8 backfill reservations per partition */
extern const struct schedule_policy schedule_policy_default;

/* Resources that a started step gets on one node. */
struct schedule_share {
	int node_id;
	int cpus;
	int64_t mem_mb;
	int tasks;
	const struct schedule_devices *gres;
	size_t gres_count;
};

struct schedule_start {
	size_t pending; /* index of the step in `pending` of the snapshot */
	int64_t job;
	int step;
	int position;			     /* position of the array element; -1: the step is no array */
	int64_t time_limit_s;		     /* time limit of the started step in seconds; 0: unlimited */
	bool backfilled;		     /* the step starts before a waiting step of its partition */
	bool predispatched;		     /* the element begins when another element of its array ends on its node */
	const struct schedule_share *shares; /* resources on each node: the head node first, then in the order of node names */
	size_t share_count;
};

enum schedule_reason {
	SCHEDULE_RESOURCES,   /* not enough CPUs, memory or devices are free */
	SCHEDULE_PRIORITY,    /* enough resources are free, but a step ahead in the queue needs them */
	SCHEDULE_PARTITION,   /* the step's partition starts no steps, or does not exist */
	SCHEDULE_LICENSE,     /* only a licence is missing */
	SCHEDULE_NODE,	      /* the usable nodes could never run the step, even if they were free */
	SCHEDULE_PEER,	      /* another member of the step's gang cannot start */
	SCHEDULE_DEADLINE,    /* the step can no longer end before its deadline */
	SCHEDULE_LIMIT,	      /* the step asks for more than its partition allows */
	SCHEDULE_ARRAY_LIMIT, /* as many elements of the array run as its %limit allows */
	SCHEDULE_MAINTENANCE, /* enough resources are free, but the step would run into an outage */
	SCHEDULE_RESERVATION, /* the step's administrative reservation has not begun, or is over */
	SCHEDULE_IMAGE,	      /* the step starts when its nodes are booted with its image; resources there are kept for it */
	/* the step starts when its nodes have its preparation, or none; resources there are kept for it */
	SCHEDULE_PREP,
	SCHEDULE_POWER, /* the step starts when its nodes are powered on; resources there are kept for it */
};

/* Why a pending step did not start; of an array, why its next element did not start. */
struct schedule_wait {
	size_t pending; /* index of the step in `pending` of the snapshot */
	int64_t job;
	int step;
	enum schedule_reason reason;
	int64_t blocker_job; /* job and step that the pending step waits for; blocker_step -1: no such step is known */
	int blocker_step;
	double expected_at;  /* expected start; NAN: not known */
	const int *node_ids; /* ids of the nodes on which the step is expected to start; NULL: not known */
	size_t node_count;
	const char *message; /* reason for the wait in one line, for users */
};

/* A node that is to get another setup. */
struct schedule_setup {
	int node_id;
	const char *image; /* image that the node is to have; NULL: any image will do */
	const char *prep;  /* preparation that the node is to have; NULL: none */
};

struct schedule_result {
	const struct schedule_start *starts; /* starts in the order of decision; members of a gang are adjacent */
	size_t start_count;
	const struct schedule_wait *waits; /* waits of steps that did not start, in queue order */
	size_t wait_count;
	const int *wake_ids; /* ids of nodes to power on, each once: they are off, and steps are placed on them */
	size_t wake_count;
	const struct schedule_setup *setups; /* idle nodes that are to get another setup, since steps are placed on them */
	size_t setup_count;
	size_t evaluations; /* placement attempts: the cost of the cycle */
};

struct schedule_result *schedule_run(const struct schedule_snapshot *snapshot, const struct schedule_policy *policy);
void schedule_result_free(struct schedule_result *result);

/* Returns the name of a reason, as api.schedule_plan() expects it: "resources", "array_limit", ... */
const char *schedule_reason_name(enum schedule_reason reason);

/* Returns the power for a text of column rota.node.power: "on", "powering_on"; any other text means off. */
enum schedule_power schedule_power_of(const char *word);

/* Returns the partition state with the name "up", "down", "drain" or "inactive". Any other text counts as inactive. */
enum schedule_state schedule_state_of(const char *word);

#endif
