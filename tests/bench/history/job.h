/* job.h - a job of the history with all its events, until its rows are written. Times: microseconds since 2000, as in binary COPY. */
#ifndef ROTA_HISTORY_JOB_H
#define ROTA_HISTORY_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "world.h"

enum { NEVER = 0, SECOND = 1000000 };

/* Ends, in the order of rota.step_state.severity; PENDING and what follows are no ends. */
enum state {
	COMPLETED,
	DEPENDENCY_FAILED,
	CANCELLED,
	PREEMPTED,
	DEADLINE,
	TIMEOUT,
	FAILED,
	OUT_OF_MEMORY,
	NODE_FAIL,
	PENDING,
	STARTING,
	PROLOG,
	RUNNING
};
extern const char *const STATES[];
/* The event that leads to each end, and its cause. */
extern const char *const END_EVENTS[], *const END_CAUSES[];

struct event {
	int64_t id, at;
	int step, attempt;
	enum state from, to;
	const char *event, *actor, *cause, *detail;
};

struct placed {
	int node; /* of world.node */
	unsigned gpus;
};

struct attempt {
	int step, number;
	enum state end;
	const char *cause;
	int exit_code, signal;
	int64_t ordered_at, started_at, ended_at; /* of a lost node: when it was lost */
	int placed, nodes;			  /* from job.placed[placed] on */
	int place;				  /* among all that run; -1: it does not */
	int lost;				  /* which of them was lost; -1: none */
	double user_s, system_s;
	long rss_kb;
};

struct step {
	int id, request, index; /* index: of an array element, else -1 */
	enum state state;
	const char *cause;
	char *message;
	int exit_code, signal; /* -1, 0: none */
	int attempts, retries, requeues;
	int64_t begin_at, eligible_at, ordered_at, started_at, ended_at;
};

struct request {
	int step_id, first; /* first: its step (of an array, the head) in job.step */
	const char *name;
	int nodes, cpus, gpus, array; /* array: elements; 0: none */
	int max_running;
	long mem_mb;
	int64_t limit_s, run_us; /* its run time without a failure */
	int retry;
	int next, live, over; /* of an array: elements begun, not ended, ended */
	bool queued;
};

struct job {
	int64_t id, submit_at, cancel_at;
	const struct user *user;
	int account;
	const char *partition, *qos, *name;
	bool requeue, over;
	int requests, steps, attempts, events, placings;
	int room_steps, room_attempts, room_events, room_placed;
	int requests_left;
	int pending; /* number of its events in the simulation's heap */
	struct request request[4];
	struct step *step;
	struct attempt *attempt;
	struct event *event;
	struct placed *placed;
};

#endif
