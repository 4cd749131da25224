/* substep.h - a sub-step: one or more tasks that a program of the job asked for. */
#ifndef ROTA_PROCMGR_SUBSTEP_H
#define ROTA_PROCMGR_SUBSTEP_H

#include <event2/buffer.h>
#include <event2/event.h>
#include <sys/queue.h>

#include "procmgr/record/stats.h"
#include "procmgr/stepmgr/substep_pool.h"
#include "procmgr/stepmgr/substep_spec.h"
#include "procmgr/stepmgr/substep_spool.h"

enum substep_state {
	SUBSTEP_WAITING,
	SUBSTEP_RUNNING,
	SUBSTEP_COMPLETED, /* this and all that follow: it has ended */
	SUBSTEP_FAILED,
	SUBSTEP_TIMEOUT,
	SUBSTEP_CANCELLED,
	SUBSTEP_SKIPPED,
	SUBSTEP_DEPENDENCY_FAILED,
};

enum { SUBSTEP_OUT, SUBSTEP_ERR, SUBSTEP_STREAMS };

struct substep;
struct substep_engine;
struct substep_session;

/* The pipe to which a task writes a stream (substep_drain.c). */
struct substep_drain {
	struct substep_task *task;
	int pipe;			 /* -1: there is none */
	struct event *readable, *paused; /* paused: pending while its client lags behind */
};

struct substep_task {
	struct substep *substep; /* to which it belongs */
	pid_t pid;		 /* 0 if it does not run */
	int64_t started;	 /* stats_start_time; 0 if it has not begun in this run */
	int counts;		 /* descriptor of stats_open */
	int in;			 /* pipe to its standard input; -1 if there is none */
	struct evbuffer *input;
	struct event *event;	/* `in` can be written, or an adopted task has ended */
	int64_t adopted_end_at; /* when an adopted task was seen to have ended; 0 before */
	struct substep_spool spools[SUBSTEP_STREAMS];
	struct substep_drain drains[SUBSTEP_STREAMS];
	int stored; /* its files in the store, as last put there (substep_store.h) */
};

/* A condition of `after`. */
struct substep_peer {
	int number;
	char condition; /* 'o' ok, 'a' any, 'f' fail, 's' start */
};

/* What the tasks of a sub-step on this node use, as last measured (substep_usage.c). */
struct substep_measured {
	int run;	  /* of the sub-step; 0: not measured yet */
	int64_t at;	  /* clock_boot_us */
	int64_t cpu_usec; /* CPU time of all processes */
	int64_t sum_usec; /* the same while it is summed up */
	double cpus_used; /* CPU time since the measurement before, per time */
	int64_t rss_kb;
};

/* The tasks of a sub-step on another node, which an agent runs. */
struct substep_part {
	int node;	  /* index in the engine's nodes */
	const char *name; /* of the node */
	struct substep_ranks ranks;
	struct substep_share share; /* of that node's pool */
	int number;		    /* of the agent's sub-step; 0: not known yet */
	struct substep_feed *feed;  /* NULL: it gets no input of the client */
	bool has_ended;
	int usage_round;  /* substep_usage.c: the round in which the agent has answered */
	double cpus_used; /* and its answer; rss_kb -1: the part is not in it */
	int64_t rss_kb;
};

struct substep {
	TAILQ_ENTRY(substep) next; /* in the queue while it waits; among the running ones while it runs */
	struct substep_engine *engine;
	int number; /* from 1 */
	enum substep_state state;
	const char *
		reason; /* why it waits: "cpus", "memory", "gres", "nodes", "agents", "disk" or "dependency"; "" if it does not */
	const char *cause; /* why it ended, or why it is being ended; "" before */
	char *name;
	int ntasks, cpus, run;
	int64_t queued_at, started_at, ended_at; /* clock_boot_us */
	int64_t first_end_at;	   /* when a task of this run had ended while others ran; 0: not yet, or nobody asks */
	struct substep_spec *spec; /* NULL once it has ended */
	struct substep_peer *peers;
	int peer_count;
	bool any_peer;		    /* one peer is enough */
	bool fits;		    /* the nodes of the step can run it */
	bool takes_avoided;	    /* it may run on nodes that are drained or about to leave: no others can run it */
	struct substep_ranks ranks; /* of the tasks on this node */
	struct substep_share share; /* of this node's pool */
	struct substep_part *parts; /* on other nodes; NULL: none */
	int part_count;
	struct substep_task *tasks; /* NULL while it waits, and when its output is not kept any more */
	int live;
	struct evbuffer *early; /* input that came before its tasks; NULL: none */
	bool input_ended;
	int64_t input_at;	/* how much input its client has given */
	const char *input_lost; /* node whose tasks do not get all input; NULL: none */
	int exit_code, signal, tasks_failed;
	char message[512]; /* why its program did not start, or whose idle limit ended it */
	struct stats used;
	struct substep_measured usage;
	struct event *timer;		 /* its time limit, or SIGKILL after SIGTERM */
	bool orphaned;			 /* its client has not come back since the step manager was started again */
	char *terminal;			 /* name of the socket of its rota-terminal; NULL: it has none */
	int64_t kept_bytes;		 /* substep_table.c: size of its output at its end */
	bool drops_output;		 /* its output goes with its last reader */
	struct substep_session *session; /* NULL: it has no terminal, or has not started */
	void *readers;			 /* substep_reader.c: struct substep_reader_list; NULL before the first one */
};

TAILQ_HEAD(substep_list, substep);

static inline bool substep_has_ended(const struct substep *s)
{
	return s->state >= SUBSTEP_COMPLETED;
}

#endif
