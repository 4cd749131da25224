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
/* For each final state: the event that leads to it, and its cause. */
extern const char *const END_EVENTS[], *const END_CAUSES[];

struct event {
	int64_t id, at;
	int step, attempt;
	enum state from, to;
	const char *event, *actor, *cause, *detail;
};

struct placed {
	int node; /* index of the node in world.node */
	unsigned gpus;
};

struct attempt {
	int step, number;
	enum state end;
	const char *cause;
	int exit_code, signal;
	int64_t ordered_at, started_at, ended_at; /* ended_at: if a node was lost, the time of the loss */
	int placed, nodes; /* the attempt's nodes are `nodes` elements of job.placed, from index `placed` on */
	int place;	   /* index in sim.running (simulate.c); -1: the attempt does not run */
	int lost;	   /* which of the attempt's nodes was lost, counted from 0; -1: none */
	double user_s, system_s;
	long rss_kb;
};

struct step {
	int id, request, index; /* index: array index of an element; -1: no element */
	enum state state;
	const char *cause;
	char *message;
	int exit_code, signal; /* -1, 0: none */
	int attempts, retries, requeues;
	int64_t begin_at, eligible_at, ordered_at, started_at, ended_at;
};

struct request {
	int step_id, first; /* first: index of its first step in job.step; of an array, of the head row */
	const char *name;
	int nodes, cpus, gpus, array; /* array: number of elements; 0: no array */
	int max_running;
	long mem_mb;
	int64_t limit_s, run_us; /* run_us: run time of a step that does not fail */
	int retry;
	int next, live, over; /* how many elements of the array have begun; have begun and not ended; have ended */
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
	int pending; /* how many events of the job are in the simulation's heap */
	struct request request[4];
	struct step *step;
	struct attempt *attempt;
	struct event *event;
	struct placed *placed;
};

#endif
