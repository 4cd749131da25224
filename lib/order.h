/* order.h - a launch order: what the signer writes and the launcher verifies. See docs/formats.md for every field. */
#ifndef ROTA_ORDER_H
#define ROTA_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/fields.h"
#include "lib/order_element.h"

enum { ORDER_SIGNAL_MOST = 64, ORDER_SIGNAL_AHEAD_MOST = 65535 };

/* What is to be run, said by the translator and covered by the owner's authenticator. */
struct order_spec {
	int pre_from, pre_to;  /* the preamble's lines in the script: first and last, 0 and 0 where there is none */
	int from, to;	       /* the step's lines, the same way */
	bool per_task;	       /* true: the script runs once for each task; false: once, on the step's first node */
	const char *step_name; /* as in the script */
	const char *job_name;
	const char *account, *partition;    /* "" where none */
	const char *output, *error, *input; /* patterns (docs/formats.md), "" = the default */
	bool append;			    /* --open-mode=append */
	const char *workdir;		    /* absolute */
	int umask;
	const char *shell; /* "" = the script's own #! line; "login" = the owner's login shell with -l; else a path */
	const char *user_prolog, *user_epilog; /* absolute paths, "" = none */
	const char *group;		       /* job group, "" = none */
	const char *rlimits; /* "nofile=1024,core=0,stack=unlimited", soft limits of the submitting shell; "" = the node's */
	int submit_ntasks;   /* --ntasks as asked */
	int cpus_per_task;
	/* The fields of these are there only where they are true, so that specs from before there were any have them false. */
	bool fence;   /* the node ends it when its lease has run out */
	bool no_kill; /* it goes on when it loses a node, as long as it has its first */
	/* The same of what follows, where it is 0 or NULL. */
	const char *submit_dir; /* where it was submitted from, absolute; NULL: workdir */
	int array_min, array_max, array_step; /* of an array's indices; array_step 0: no array */
	int signal;	   /* to be sent ahead of the time limit; 0: none */
	int signal_s;	   /* so many seconds ahead */
	bool signal_shell; /* to the process of each task alone; else to all but a script that runs once */
	const char *arguments; /* of the script (lib/arguments.h); NULL: none */
	const char *if_changed; /* OUT[,OUT]...:IN[,IN]..., patterns of paths; NULL: it runs whatever is there */
};

/* One step attempt on one node, or on several that differ in nothing but their place and the ranks of their tasks, or those of several
 * elements of an array that differ in nothing but their numbers. All strings are owned by the parsed fields. */
struct order {
	int64_t job_id;
	int step_id;
	int attempt;
	const char *node;  /* the node this order is for */
	const char *nodes; /* in short (lib/hosts.h), first = head node; "" = wherever the process manager is */
	int node_index;	   /* position of `node` in `nodes` */
	int node_count;
	int more_nodes; /* the order is as well for so many of `nodes` behind `node`, whose tasks' ranks go on where its own end */
	int first_task, tasks; /* ranks of the tasks on this node */
	int task_count;	       /* over all nodes */
	int cpus;	       /* allocated on this node */
	int64_t mem_mb;	       /* allocated on this node, 0 = no limit */
	const char *gres;      /* "gpu:0+3,fpga:1", "" = none */
	uid_t uid;
	gid_t gid;
	const char *user;
	const char *script_hash;      /* SHA-256, hex */
	const char *environment_hash; /* SHA-256, hex */
	int array_index;	      /* -1 = not an array element */
	int array_size;
	const char *step_label; /* "812.solve[7]" */
	const char *also;	/* the elements besides this one, as order_element.h writes them; NULL: none */
	int64_t time_limit_s;	/* 0 = none */
	int grace_s;		/* between SIGTERM and SIGKILL */
	bool prolog;		/* false: another step of the same group holds the prolog and the epilog on this node */
	bool wait_for_go;	/* tasks start only when the control message `go` arrives (steps over several nodes) */
	const char *partition;	/* where the step runs; NULL in orders from before there was this: what the spec says */
	const char *failing;	/* those of `nodes` that were marked as failing, comma separated, "" = none */
	int64_t expires_at;	/* Unix time behind which the launcher refuses */
	struct order_spec spec;
	struct order_element *elements; /* this one and what `also` says; of a parsed order */
	int element_count;
	char *label;	       /* of an element that was picked; step_label is this then */
	int first_index;       /* node_index as it was read; of a parsed order */
	char *name;	       /* of a node that was picked; node is this then */
	struct fields *fields; /* owner of every string here */
	struct fields *spec_fields;
};

/* Parse and check the text of an order; on success the caller frees it with order_free. */
bool order_parse(const char *text, size_t length, struct order *order, struct err *e);
void order_free(struct order *order);

/* Fill in the elements, from `also` and the members for one. */
bool order_elements_fill(struct order *order, struct err *e);
/* Make step_id, array_index and step_label those of this step; false where the order is not for it. */
bool order_pick(struct order *order, int step_id);
/* Make node, node_index and first_task those of this node; false where the order is not for it. */
bool order_pick_node(struct order *order, const char *node);

/* The text of an order, spec included as its last field; `spec_text` is the very text that the authenticator covers. */
struct fields *order_write(const struct order *order, const char *spec_text);

/* Whether a text is what a spec has as its if_changed: one colon, and no path empty. */
bool order_if_changed_valid(const char *text);

/* The same for a spec alone. order_spec_parse leaves strings owned by *owner. */
struct fields *order_spec_write(const struct order_spec *spec);
/* It in two parts: up to the step's name, and what steps that ask for the same have alike. One behind the other they are the spec. */
struct fields *order_spec_write_own(const struct order_spec *spec);
struct fields *order_spec_write_end(const struct order_spec *spec);
bool order_spec_parse(const char *text, size_t length, struct order_spec *spec, struct fields **owner, struct err *e);

#endif
