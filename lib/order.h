/* order.h - a launch request: jobmgrd writes and signs it, the launcher verifies it. See docs/formats.md for every field. */
#ifndef ROTA_ORDER_H
#define ROTA_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/fields.h"
#include "lib/order_element.h"

/* Items that describe a transfer: "in", "out" or "drop"; its number in the job; the transfer that it repeats, such as "812.2", or
 * ""; mode; flags; source; destination. */
enum { ORDER_TRANSFER_ITEMS = 7 };
enum { ORDER_SIGNAL_MOST = 64, ORDER_SIGNAL_AHEAD_MOST = 65535 };

/* The spec of a step: what the step runs. The translator writes it, and the authenticator covers it. */
struct order_spec {
	int pre_from, pre_to;  /* first and last line of the preamble in the script, 0 and 0 = no preamble */
	int from, to;	       /* first and last line of the step in the script */
	bool per_task;	       /* true: the script runs once for each task; false: once, on the step's first node */
	const char *step_name; /* name of the step in the script */
	const char *job_name;
	const char *account, *partition;    /* "" = none */
	const char *output, *error, *input; /* patterns of file names (docs/formats.md), "" = the default */
	bool append;			    /* --open-mode=append */
	const char *workdir;		    /* absolute path */
	int umask;
	const char *shell; /* "" = the script's own #! line; "login" = the owner's login shell with -l; "mover" = rota-mover,
			    * which makes the transfers of the step; else a path */
	const char *user_prolog, *user_epilog; /* absolute paths, "" = none */
	const char *group;		       /* job group, "" = none */
	const char *rlimits; /* soft limits of the submitting shell, "nofile=1024,core=0,stack=unlimited"; "": the node's */
	int submit_ntasks;   /* --ntasks as the user asked */
	int cpus_per_task;
	/* Each member from here on has a field in the text only if it is not false, 0 or NULL. Specs of older versions of Rota
	 * lack these fields. */
	bool fence;			      /* the node ends the attempt when its lease has run out */
	bool no_kill;			      /* the attempt goes on when it loses a node other than its first */
	const char *submit_dir;		      /* absolute path of the folder of submission; NULL: the same as workdir */
	int array_min, array_max, array_step; /* lowest index, highest index, and distance of indices; array_step 0: no array */
	int signal;			      /* number of the signal that is sent before the time limit; 0: none */
	int signal_s;			      /* seconds before the time limit at which the signal is sent */
	bool signal_shell;     /* signal only the process of each task; false: all processes except a script that runs once */
	const char *arguments; /* arguments of the script as lib/arguments.h writes them; NULL: none */
	/* OUT[,OUT]...:IN[,IN]..., path patterns. The step is skipped if no OUT is older than any IN. NULL: the step always runs. */
	const char *if_changed;
	int notify;	     /* number of the signal that the step's tasks get when a node of the step changes; 0: none */
	bool step_manager;   /* the step manager and its agents start with the tasks */
	bool replace_failed; /* the step manager asks for a replacement of each node that fails; no_kill is set too */
	int idle_timeout_s;  /* seconds without keys and output after which a terminal of the step is ended; 0: never */
	/* Transfers of data (docs/formats.md, "Transfers"), as arguments_write() writes a list: the pattern of ROTA_SCRATCH, then
	 * ORDER_TRANSFER_ITEMS for each transfer that the step makes. NULL: the job has none. */
	const char *transfers;
	const char *grows; /* of a growth: attempt, such as "812.0.1", whose step manager uses the nodes; NULL: no growth */
	/* How the step is checkpointed (docs/checkpointing.md): "app", the program saves itself; "auto"; "script:NAME", programs of the
	 * site save it; NULL: it is not. */
	const char *checkpoint;
	const char *checkpoint_dir; /* absolute path of the folder for checkpoints; NULL: the step has none */
	int checkpoint_signal;	    /* number of the signal by which the program is asked to save itself */
	/* the checkpoint signal goes to the process of the script only; false: to all other processes of the step */
	bool checkpoint_shell;
	int checkpoint_interval_s; /* seconds after which the keeper asks again for a checkpoint; 0: the keeper never asks */
	bool checkpoint_auto;	   /* the job manager asks for checkpoints instead of the keeper, at intervals that it computes */
	int checkpoint_before_s;   /* seconds before the time limit at which the keeper asks for a checkpoint; 0: it does not */
	int checkpoint_keep;	   /* number of checkpoints to keep */
	bool tmpdir;		   /* the step has a TMPDIR of its own on each node (node.tmpdir) */
	const char *credentials;   /* names of credentials of the step, "krb5,archive" (lib/credential.h); NULL: none */
};

/* A launch request for one attempt on one node. It may cover several nodes whose shares differ only in node index and task ranks,
 * or several array elements that differ only in step id and index. All strings are owned by the parsed fields. */
struct order {
	int64_t job_id;
	int step_id;
	int attempt;
	const char *node;  /* name of the node that the launch request is for */
	const char *nodes; /* short list of all nodes (lib/hosts.h), head node first; "" = only the node of the process manager */
	int node_index;	   /* position of `node` in `nodes` */
	int node_count;
	/* Number of nodes after `node` in `nodes` that the launch request also covers. The ranks of their tasks follow in order. */
	int more_nodes;
	int first_task, tasks; /* rank of the first task on this node, and number of tasks on this node */
	int task_count;	       /* tasks on all nodes together */
	int cpus;	       /* CPUs allocated on this node */
	/* Tasks and allocated CPUs of each of `nodes`, folded as Slurm does: "4(x2),2"; NULL: the step has one node. */
	const char *tasks_per_node, *cpus_per_node;
	int64_t mem_mb;	  /* MiB of memory allocated on this node, 0 = no memory limit */
	const char *gres; /* devices allocated on this node, "gpu:0+3,fpga:1"; "" = none */
	uid_t uid;
	gid_t gid;
	const char *user;
	const char *script_hash;      /* SHA-256 of the script, hex */
	const char *environment_hash; /* SHA-256 of the environment, hex */
	int array_index;	      /* -1 = not an array element */
	int array_size;
	const char *step_label;	     /* label of the step, "812.solve[7]" */
	const char *also;	     /* list of further array elements that the request covers (order_element.h); NULL: none */
	int64_t time_limit_s;	     /* time limit in seconds, 0 = none */
	int grace_s;		     /* seconds between SIGTERM and SIGKILL */
	bool prolog;		     /* false: another step of the job group runs the prolog and epilog on this node */
	bool wait_for_go;	     /* tasks start only when the control message `go` arrives (steps on several nodes) */
	const char *partition;	     /* partition in which the step runs; NULL (requests of older versions): that of the spec */
	int idle_timeout_s;	     /* shorter idle limit (sessions) of partition and quality of service, in seconds; 0: none */
	const char *idle_timeout_of; /* object that sets the idle limit: "partition debug", "qos long"; NULL: no limit */
	const char
		*variables;  /* environment variables of the job, "NAME=value", as arguments_write() writes a list; NULL: none */
	const char *failing; /* nodes of the step that were marked as failing, comma separated, "" = none */
	int64_t expires_at;  /* Unix time after which the launcher refuses the launch request */
	struct order_spec spec;
	struct order_element *elements; /* all array elements that a parsed launch request covers; the first one has step_id */
	int element_count;
	char *label;	       /* owns step_label after order_pick() chose another element; else NULL */
	int first_index;       /* node_index before order_pick_node() changed it */
	char *name;	       /* owns `node` after order_pick_node() chose another node; else NULL */
	struct fields *fields; /* owner of every other string of the launch request */
	struct fields *spec_fields;
};

/* Parse and check the text of a launch request. After success the caller frees `order` with order_free(). */
bool order_parse(const char *text, size_t length, struct order *order, struct err *e);
void order_free(struct order *order);

/* Fill in `elements` of a parsed launch request: the element that its own members describe, and those in `also`. */
bool order_elements_fill(struct order *order, struct err *e);
/* Set step_id, array_index and step_label to the array element `step_id`. Returns false if the request does not cover the element. */
bool order_pick(struct order *order, int step_id);
/* Set node, node_index and first_task to the values for `node`. Returns false if the launch request does not cover that node. */
bool order_pick_node(struct order *order, const char *node);

/* Write a launch request with `spec_text` as its last field. `spec_text` must be the exact text that the authenticator covers. */
struct fields *order_write(const struct order *order, const char *spec_text);

/* Write a spec. */
struct fields *order_spec_write(const struct order_spec *spec);
/* Write a spec in two parts, which are the whole spec one after the other: `own` has the fields up to the name of the step, `end`
 * has the remaining fields, which are equal for steps with equal options. */
struct fields *order_spec_write_own(const struct order_spec *spec);
struct fields *order_spec_write_end(const struct order_spec *spec);
/* Parse and check a spec. The strings in `spec` are owned by *owner. */
bool order_spec_parse(const char *text, size_t length, struct order_spec *spec, struct fields **owner, struct err *e);

#endif
