/* substep_parts.h - the engine's object, and the functions of its files.
 *
 * Calls go one way: substep_recovery.c calls substep_engine.c (the life of sub-steps), which calls all others: substep_table.c
 * (all sub-steps, the queue), substep_task.c (starts a task), substep_input.c (standard input), substep_feed.c (standard input on
 * other nodes), substep_far.c (terminals on other nodes), substep_drain.c (output), substep_store.c (descriptors that outlive
 * this process), substep_record.c (the journal), substep_session.c (terminals), substep_limit.c (time limits), substep_event.c
 * (changes of nodes), substep_replace.c (nodes in place of failed ones), substep_usage.c (what sub-steps use now). */
#ifndef ROTA_PROCMGR_SUBSTEP_PARTS_H
#define ROTA_PROCMGR_SUBSTEP_PARTS_H

#include "procmgr/stepmgr/substep_engine.h"
#include "procmgr/stepmgr/substep_event.h"
#include "procmgr/stepmgr/substep_nodes.h"
#include "procmgr/stepmgr/substep_store.h"

enum { SUBSTEP_KEPT_MOST = 64, SUBSTEP_KEPT_BYTES = 16 << 20 };

struct substep_engine {
	struct event_base *base;
	const struct substep_handlers *handlers;
	int journal, orphans, null;
	int growths;	    /* file of growths, in which the keeper writes which nodes have come and gone; -1: none yet */
	off_t growths_read; /* how many bytes of the keeper's file of growths were read */
	int changes;	    /* the keeper's file of changes of nodes; -1: none */
	off_t changes_at, changes_read; /* bytes of `changes` applied by this process, and by any step manager of the step */
	const char *node;		/* name of this node */
	struct substep_pool *pool;	/* CPUs, memory and devices of this node that sub-steps share */
	struct substep_nodes *nodes;	/* the other nodes of the step; NULL: this process is an agent */
	/* substep_nodes_send, for files that substep_nodes.c itself calls */
	void (*send)(struct substep_nodes *n, int index, json_t *request, const void *bytes, size_t size);
	struct substep_usage *usage;   /* clients that wait for an answer about usage */
	struct substep_events *events; /* the last known state of each node */
	struct substep **all;	       /* all sub-steps, by number - 1 */
	int count, capacity;
	json_t *keys; /* object: number of the sub-step by its client key */
	struct substep_list waiting, running;
	int64_t owed; /* bytes of the journal that waiting and running sub-steps may still take */
	struct event *schedule, *room, *children, *term;
	bool ends;	/* the keeper ends the step: nothing starts any more */
	bool has_tasks; /* tasks of the step itself run on all of its nodes (--run=tasks), not only on this one */
	json_t *env;	/* the environment in the last record `env` */
	int env_number;
	struct substep *kept[SUBSTEP_KEPT_MOST]; /* ring of the ended sub-steps whose output is still kept */
	int kept_first, kept_count;
	int64_t kept_bytes; /* bytes of output of the sub-steps in `kept` */
};

/* substep_table.c */
/* Add a sub-step with this number; takes the spec. */
struct substep *substep_table_add(struct substep_engine *m, struct substep_spec *spec, int number);
/* Put a sub-step into the queue: after those of the same priority that have lower numbers. */
void substep_table_wait(struct substep_engine *m, struct substep *s);
/* move the sub-step from the queue to the list of running ones */
void substep_table_run(struct substep_engine *m, struct substep *s);
void substep_table_leave(struct substep_engine *m, struct substep *s); /* take the sub-step out of queue and list */
/* Returns the task of a running sub-step whose process this is, and its sub-step; NULL if there is none. */
struct substep_task *substep_table_find_task(struct substep_engine *m, pid_t pid, struct substep **owner);
/* Add the wait status and the usage of a task that has ended to the figures of its sub-step. */
void substep_table_add_end(struct substep *s, struct substep_task *t, int status, const struct stats *stats);
/* Keep the output of the last ended sub-steps for clients that attach late. */
void substep_table_keep_output(struct substep_engine *m, struct substep *s);

/* substep_task.c */
void substep_task_make(struct substep *s); /* make the objects of a sub-step's tasks on this node; no task runs yet */
bool substep_task_start(struct substep_engine *m, struct substep *s, int rank, struct err *e);

/* substep_input.c */
enum { SUBSTEP_INPUT_MOST = 256 * 1024 }; /* most bytes of input of one task that wait in memory */
/* Call when the tasks have started: passes on to them the input that came before. */
void substep_input_begin(struct substep *s);
/* Call when tasks have read input, or need none any more: lets clients send more. */
void substep_input_moved(struct substep *s);
/* Make the pipe to a task's standard input. Returns the end that the task reads, or -1. */
int substep_input_open(struct substep_task *t, struct err *e);
void substep_input_close(struct substep_task *t); /* also frees the event of a task of an earlier step manager */

/* substep_record.c: records of the journal (docs/formats.md) */
/* Returns how many bytes of the journal the records of one run take at most, from its start on. */
static inline int64_t substep_record_owed(int ntasks)
{
	enum { RUN_MOST = 1536, TASK_MOST = 768 };
	return RUN_MOST + (int64_t)ntasks * TASK_MOST;
}
/* Has the disk room for all journal records that sub-steps may still need, and for those of a new sub-step with this spec (NULL:
 * none)? */
bool substep_record_has_room(const struct substep_engine *m, const struct substep_spec *spec, struct err *e);
void substep_record_queue(struct substep_engine *m, const struct substep *s);
void substep_record_start(struct substep_engine *m,
			  const struct substep *s); /* call before the sub-step's first process is started */
/* Called in the process of a task before it executes the program. Returns false with errno set. */
bool substep_record_begin(struct substep_engine *m, const struct substep *s, int rank);
void substep_record_task(struct substep_engine *m, const struct substep *s, int rank, int status, const struct stats *stats);
void substep_record_again(struct substep_engine *m, const struct substep *s); /* call before the sub-step is queued again */
struct substep_ranks substep_record_ranks(const json_t *list,
					  /* reads ranks from [first, stride, count, block]; no ranks if the list is not valid */
					  int ntasks);
struct stats substep_record_stats(const json_t *record); /* returns the usage that a record or an event reports */
char *substep_record_usage(const struct substep *s);	 /* returns the usage of a whole sub-step as JSON, malloc'ed */
void substep_record_end(struct substep_engine *m, const struct substep *s);

/* The time without keys and output after which a session is ended. */
struct substep_idle_limit {
	int64_t seconds; /* 0: never */
	/* where the idle limit is set: "session" (its own), "job", "partition debug", "qos long"; NULL: no limit */
	const char *of;
};

/* Write the record `session` of a sub-step: its idle limit, when keys and output of its terminal were last seen, and the list of
 * attached people, which the function takes. If the disk has no room besides that of records that sub-steps may still need,
 * nothing is written. */
void substep_record_session(struct substep_engine *m, const struct substep *s, const struct substep_idle_limit *limit,
			    int64_t key_at, int64_t output_at, json_t *attached);

/* substep_engine.c */
/* Call when a task has ended with this wait status, and its record `task` is written if it needs one. */
void substep_engine_task_ended(struct substep_engine *m, struct substep *s, struct substep_task *t, int status,
			       const struct stats *stats);
/* Call when no task of a sub-step is left: ends its run. The sub-step then has ended, or is queued again. */
void substep_engine_run_ended(struct substep_engine *m, struct substep *s);

/* Has the keeper begun to end the step? Then the keeper's signals end running sub-steps, and waiting ones are cancelled. */
bool substep_engine_ends(struct substep_engine *m);

/* Start the tasks of a running sub-step that have not begun. */
void substep_engine_start_tasks(struct substep_engine *m, struct substep *s);

/* End the parts of running sub-steps on nodes that are lost or do not belong to the step any more. */
void substep_engine_lose_parts(struct substep_engine *m);

/* With --replace-failed: queue a request for a node in place of each that is drained, leaving or lost, once for each. */
void substep_engine_replace_failed(struct substep_engine *m);

/* substep_recovery.c: read the journal, and take over the sub-steps of an earlier step manager. */
void substep_recovery_run(struct substep_engine *m);

#endif
