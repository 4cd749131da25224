/* runner_parts.h - structs and functions that the files of the runner share. No other file includes this header.
 *
 * runner.c starts and ends the runner and receives events; runner_poll.c exchanges hooks with the database; runner_mail.c
 * exchanges mail with the database; runner_child.c starts and reaps hooks; runner_term.c claims leadership. Calls go down this
 * list, never up. runner_trigger.c exchanges deliveries of triggers with the database, runner_power.c programs that change and
 * check nodes, runner_pool.c and runner_staging.c functions of burst_buffer.lua, of which runner_staging_call.c runs one. */
#ifndef ROTA_RUNNER_PARTS_H
#define ROTA_RUNNER_PARTS_H

#include <event2/event.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/conf.h"
#include "lib/db.h"
#include "lib/err.h"
#include "runner/hook.h"
#include "runner/hook_set.h"

struct runner {
	struct event_base *base;
	const struct conf *conf;
	char *name;
	struct db *db;
	struct db_watcher watcher;
	struct event *beat, *pause, *children, *poll_timer;
	int64_t term; /* term of leadership; 0 if this runner does not lead */
	char term_text[24];
	void (*term_ended)(struct runner *r); /* kills the programs that need a term, except hooks */
	bool ready;			      /* the pause after the claim of a term is over, so hooks may start */
	bool claiming;			      /* a claim of leadership is under way */
	bool may_be_due;		      /* the database may have hooks that are due */
	bool more_is_due;		      /* the latest answer had as many hooks as the poll asked for */
	bool check_running;		      /* running hooks may have become unwanted: ask the database */
	int answers_pending;		      /* database answers that the poll under way still waits for */
	int asked;			      /* most hooks that the poll under way asked for */
	/* in microseconds: start of the last poll (since boot), and time that the database took to answer */
	int64_t polled_at_us, poll_us;
	struct hook_bound bound; /* limit of all running programs together */
	struct hook_set hooks;	 /* prologs and epilogs of the controller */
	struct hook *dying;	 /* programs of an old term that are killed but not reaped yet */
	struct runner_mail *mail;
	struct runner_staging *staging;
	struct runner_pool *pool;
	struct runner_trigger *trigger;
	struct runner_power *power, *checks; /* programs that change nodes, and programs that check nodes */
	struct script_socket *scripts;	     /* NULL: no script is configured */
	int64_t registered_at_us;	     /* last registration of this daemon, as time since boot */
};

/* runner_term.c: claim leadership, or renew the claim. */
void runner_term_claim(struct runner *r);

/* Start the pause between claiming a term and running the first hook of that term. */
void runner_term_pause(struct runner *r);

/* End the term of this runner, if it leads. Kill its hooks without reporting them. */
void runner_term_end(struct runner *r, const char *why);

/* Log a failed database call, and end the term if another runner leads. */
void runner_term_failed(struct runner *r, const char *what, const struct err *e);

/* runner_child.c: add the hook that a row of api.hook_take names to the waiting hooks; or, if the row says that the hook is not
 * wanted any more, kill or drop it. */
void runner_child_apply(struct runner *r, const PGresult *result, int row);

/* Start waiting hooks, as many as hook_set_room() allows. */
void runner_child_start(struct runner *r);

/* Reap the process `pid` if it is that of a hook, or of a program of an old term. Returns false if it is not. */
bool runner_child_reap(struct runner *r, pid_t pid);

/* runner_poll.c: report ended hooks to the database and take new hooks, now or as soon as a poll may begin. May be called at any
 * time. */
void runner_poll(struct runner *r);

/* Callback of poll_timer: the pause after the last poll is over. */
void runner_poll_timer(evutil_socket_t fd, short what, void *arg);

/* runner_mail.c: mail about jobs, which needs no term. */
struct runner_mail *runner_mail_new(struct runner *r);
void runner_mail_free(struct runner_mail *m);

/* Take mail that is due from the database, and report sent mail. */
void runner_mail_beat(struct runner *r);

/* Returns true if a mail program runs, or has ended and is not reported to the database yet. */
bool runner_mail_busy(const struct runner *r);

/* Reap the process `pid` if it is a mail program; otherwise return false. */
bool runner_mail_reap(struct runner *r, pid_t pid);

/* runner_trigger.c: deliveries of triggers, which need no term. */
struct runner_trigger *runner_trigger_new(struct runner *r);
void runner_trigger_free(struct runner_trigger *t);

/* Take deliveries that are due from the database, and report ended ones. `look`: also have triggers checked that fire at a length of the queue. */
void runner_trigger_poll(struct runner *r, bool look);

/* Returns true if a delivery of a trigger is under way, is not reported yet, or is due soon. */
bool runner_trigger_busy(const struct runner *r);

/* Reap the process `pid` if it is that of a delivery of a trigger. Returns false if it is not. */
bool runner_trigger_reap(struct runner *r, pid_t pid);

/* runner_power.c: programs that change nodes, and programs that check them, which need the same term as prologs and epilogs. */
enum runner_power_kind { RUNNER_CHANGES, RUNNER_CHECKS };
struct runner_power *runner_power_new(struct runner *r, enum runner_power_kind kind);
void runner_power_free(struct runner_power *p);

/* Report ended programs that change or check nodes to the database, and take those that are due. */
void runner_power_poll(struct runner_power *p);

/* At the end of the term: kill the running programs that change or check nodes, without reporting them. */
void runner_power_end(struct runner_power *p);

/* Returns true if a program of this kind runs, or has ended and is not reported yet. */
bool runner_power_busy(const struct runner_power *p);

/* Reap the process `pid` if it is that of a program of this kind. Returns false if it is not. */
bool runner_power_reap(struct runner_power *p, pid_t pid);

/* runner_staging.c: functions of burst_buffer.lua, which need the same term as prologs and epilogs. */
struct runner_staging *runner_staging_new(struct runner *r);
void runner_staging_free(struct runner_staging *s);

/* Report ended calls of burst_buffer.lua to the database, and take calls that are due. `look`: also ask whether running calls are
 * not wanted any more. */
void runner_staging_poll(struct runner *r, bool look);

/* At the end of the term: kill the processes of running calls, without reporting them. */
void runner_staging_end(struct runner *r);

/* Returns true if a call of burst_buffer.lua is under way, is not reported yet, or is due soon. */
bool runner_staging_busy(const struct runner *r);

/* Reap the process `pid` if it makes a call of burst_buffer.lua. Returns false if it does not. */
bool runner_staging_reap(struct runner *r, pid_t pid);

/* runner_pool.c: the function pools of burst_buffer.lua, at the start of a term and then every hooks.pool_interval seconds. */
struct runner_pool *runner_pool_new(struct runner *r);
void runner_pool_free(struct runner_pool *p);

/* Start a call of the Lua function pools now, unless one is running. */
void runner_pool_poll(struct runner *r);

/* At the end of the term: kill the process of a running call of pools, without reporting it. */
void runner_pool_end(struct runner *r);

/* Reap the process `pid` if it calls the function pools. Returns false if it does not. */
bool runner_pool_reap(struct runner *r, pid_t pid);

/* A function of burst_buffer.lua that runs or has ended. */
struct staging_call {
	struct hook *hook; /* process of the call; hook->about is this call, and hook_free() frees it too */
	int64_t job;
	char *function, *script_path, *variables_path;
	int result; /* memory file with what rota-lua wrote to descriptor 3; -1: none */
	/* outcome: the call has ended; the function returned that it is busy, and must be called again */
	bool ended, busy;
	int rc; /* return code of the function; -2: the function did not run to its end */
	char *message;
	char *answer; /* of the function paths: the environment variables; of real_size and pools: the returned text; else NULL */
};

/* runner_staging_call.c: make a struct for the call that a row of api.staging_take names. staging_call_start() starts it. */
struct staging_call *staging_call_new(const struct runner *r, const PGresult *result, int row);

/* Start rota-lua for a call. Returns false if it did not start; the call's outcome has the reason. */
bool staging_call_start(struct staging_call *call, struct runner *r, const PGresult *result, int row);

/* Start rota-lua for the function pools, which belongs to no job. If the returned call has no process, rota-lua did not start,
 * and the outcome has the reason. */
struct staging_call *staging_call_start_pools(struct runner *r);

/* Read the outcome of a call whose process was reaped, and remove the call's files. */
void staging_call_finish(struct staging_call *call);

#endif
