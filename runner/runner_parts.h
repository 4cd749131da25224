/* runner_parts.h - what the files of the runner share, and nobody else includes.
 *
 * runner.c: who leads, and the way in and out; runner_turn.c: reports and what is taken, in turns; runner_child.c: the hooks under way;
 * runner_mail.c: mail. */
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

enum { RUNNER_MARGIN = 10 }; /* seconds: the lease is so much longer than a hook may run */

struct runner {
	struct event_base *base;
	const struct conf *conf;
	char *name;
	struct db *db;
	struct db_watcher watcher;
	struct event *beat, *pause, *children, *turn;
	int64_t term; /* 0: somebody else leads, or nobody */
	char term_text[24];
	bool ready; /* the pause is over */
	bool claiming, rung, look;
	int waiting;		 /* answers of the turn under way */
	int64_t turned_at, took; /* when the last turn began and how long its answers took; boot microseconds */
	struct hook *running, *ended, *told, *dying; /* told: their report is on its way; dying: of an old term, killed */
	int running_count;
	struct runner_mail *mail;
	int64_t registered_at; /* boot microseconds */
};

/* The term is over: nothing of it goes on, and nothing of it is said. */
void runner_drop(struct runner *r, const char *why);

/* Of whatever failed: what is to be done about it. */
void runner_failed(struct runner *r, const char *what, const struct err *e);

/* runner_turn.c: whatever is to be done and can be done now, at once or with what else comes soon. */
void runner_work(struct runner *r);

/* The clock of a turn that waits. */
void runner_turn_due(evutil_socket_t fd, short what, void *arg);

/* runner_child.c: what one row of api.hook_take says is done. */
void runner_child_begin(struct runner *r, const PGresult *result, int row);

/* SIGCHLD. */
void runner_child_ended(evutil_socket_t number, short what, void *arg);

void runner_child_free(struct hook **list);

/* runner_mail.c: mail about jobs, which needs no term. */
struct runner_mail *runner_mail_new(struct runner *r);
void runner_mail_free(struct runner_mail *m);

/* Take what is due, and report what was sent. */
void runner_mail_beat(struct runner *r);

/* Whether a mail is being sent or is not reported yet. */
bool runner_mail_busy(const struct runner *r);

/* A process has ended that is not reaped. False: it is no mail program. */
bool runner_mail_ended(struct runner *r, pid_t pid);

#endif
