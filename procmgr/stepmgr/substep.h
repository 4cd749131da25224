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
	SUBSTEP_COMPLETED, /* this state and all that follow: the sub-step has ended */
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
	int pipe;			 /* descriptor from which the step manager reads; -1: there is no pipe */
	struct event *readable, *paused; /* paused: timer that is pending while the client of the sub-step lags behind */
};

struct substep_task {
	struct substep *substep; /* sub-step to which the task belongs */
	pid_t pid;		 /* process of the task; 0: the task does not run */
	int64_t started;	 /* start time of the process (stats_start_time); 0: the task has not begun in this run */
	int counts;		 /* descriptor of stats_open */
	int in;			 /* pipe to the task's standard input; -1: none */
	struct evbuffer *input;
	struct event *event;	/* `in` can be written, or a task that an earlier step manager started has ended */
	int64_t adopted_end_at; /* when this task, which an earlier step manager started, was seen to have ended; 0: not yet */
	struct substep_spool spools[SUBSTEP_STREAMS];
	struct substep_drain drains[SUBSTEP_STREAMS];
	int stored; /* bits for the files of the task that are in the store (substep_store.h) */
};

/* A condition of `after`: which sub-step, and what must have become of it. */
struct substep_peer {
	int number;
	char condition; /* 'o' ok, 'a' any, 'f' fail, 's' start */
};

/* The last measurement of what a sub-step's tasks on this node use (substep_usage.c). */
struct substep_measured {
	int run;	  /* run of the sub-step that was measured; 0: none yet */
	int64_t at;	  /* clock_boot_us */
	int64_t cpu_usec; /* CPU time of all processes */
	int64_t sum_usec; /* CPU time of the processes, while a measurement adds it up */
	double cpus_used; /* CPUs used on average since the measurement before this one */
	int64_t rss_kb;
};

/* The tasks of a sub-step on another node, which an agent runs. */
struct substep_part {
	int node;	  /* index in the engine's nodes */
	const char *name; /* name of the node */
	struct substep_ranks ranks;
	struct substep_share share; /* share of that node's pool that the part has */
	int number;		    /* number of the sub-step in the agent that runs this part; 0: not known yet */
	struct substep_feed *feed;  /* input for the tasks of the part; NULL: these tasks get no input of the client */
	bool has_ended;
	int usage_round;  /* substep_usage.c: the last round of measuring for which the agent has answered */
	double cpus_used; /* CPUs that the part used in that round; if rss_kb is -1, the agent's answer did not have the part */
	int64_t rss_kb;
};

struct substep {
	/* links the sub-step into the queue while it waits, and into the list of running sub-steps while it runs */
	TAILQ_ENTRY(substep) next;
	struct substep_engine *engine;
	int number; /* from 1 */
	enum substep_state state;
	const char *
		reason; /* why the sub-step waits: "cpus", "memory", "gres", "nodes", "agents", "disk" or "dependency"; else "" */
	const char *cause; /* why the sub-step ended, or why it is being ended; "" before */
	char *name;
	int ntasks, cpus, run;
	int64_t queued_at, started_at, ended_at; /* clock_boot_us */
	/* when the first task of this run ended while others ran; 0: none did, or nobody asks for the time */
	int64_t first_end_at;
	struct substep_spec *spec; /* request of the client; NULL: the sub-step has ended */
	struct substep_peer *peers;
	int peer_count;
	bool any_peer; /* the sub-step starts when one condition of `after` is met, not all */
	bool fits;     /* the nodes of the step are large enough for the sub-step */
	/* the sub-step may use drained and leaving nodes, since no other nodes are large enough for it */
	bool takes_avoided;
	struct substep_ranks ranks; /* ranks of the tasks on this node */
	struct substep_share share; /* CPUs and generic resources of this node's pool that the tasks here have */
	struct substep_part *parts; /* tasks on other nodes, one part for each node; NULL: none */
	int part_count;
	struct substep_task *tasks; /* tasks on this node; NULL: the sub-step waits, or its output is dropped */
	int live;
	struct evbuffer *early; /* input that came before the tasks started; NULL: none */
	bool input_ended;
	int64_t input_at;	/* how many bytes of input the client has given */
	const char *input_lost; /* name of a node whose tasks do not get all of the input; NULL: all do */
	int exit_code, signal, tasks_failed;
	char message[512]; /* why the program did not start, or whose idle limit ended the sub-step */
	struct stats used;
	struct substep_measured usage;
	struct event *timer;		 /* end of the time limit; after SIGTERM, the time of SIGKILL */
	bool orphaned;			 /* the client has not come back since the step manager was started again */
	char *terminal;			 /* name of the socket of the sub-step's rota-terminal; NULL: no terminal */
	int64_t kept_bytes;		 /* substep_table.c: size of the output when the sub-step had ended */
	bool drops_output;		 /* drop the output when its last reader has gone */
	struct substep_session *session; /* facts about the use of the terminal; NULL: no terminal, or not started */
	void *readers;			 /* struct substep_reader_list of substep_reader.c; NULL: no reader yet */
};

TAILQ_HEAD(substep_list, substep);

static inline bool substep_has_ended(const struct substep *s)
{
	return s->state >= SUBSTEP_COMPLETED;
}

#endif
