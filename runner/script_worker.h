/* script_worker.h - the processes that call functions of the site's scripts for runnerd: `rota-lua serve`. */
#ifndef ROTA_RUNNER_SCRIPT_WORKER_H
#define ROTA_RUNNER_SCRIPT_WORKER_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/conf.h"

struct script_workers;

/* Called when a request has ended. `answer` is a JSON object {"rc", ...} or {"error"} without a newline, as rota-lua wrote it. */
typedef void script_work_done(const char *answer, void *arg);

/* Returns {"error": TEXT}, malloc'ed. */
char *script_work_error(const char *text);

/* Make the workers that hooks.workers, hooks.call_seconds and hooks.memory_mb describe. No worker starts before the first
 * request. `conf` must stay valid until script_workers_free(). */
struct script_workers *script_workers_new(struct event_base *base, const struct conf *conf);

/* Kill the workers. Requests that have no answer get an error. */
void script_workers_free(struct script_workers *workers);

/* Pass a request "SCRIPT FUNCTION BODY" to a worker as soon as one is free. The request is copied, and not parsed. `done` is
 * called exactly once, maybe inside this function. */
void script_worker_request(struct script_workers *workers, const char *request, size_t length, script_work_done *done, void *arg);

/* Reap the process `pid` if it is a worker. Returns false if it is not. */
bool script_worker_reap(struct script_workers *workers, pid_t pid);

#endif
