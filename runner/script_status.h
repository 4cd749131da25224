/* script_status.h - calls of slurm_bb_get_status, for users who ask with `rota admin hook status`. */
#ifndef ROTA_RUNNER_SCRIPT_STATUS_H
#define ROTA_RUNNER_SCRIPT_STATUS_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/conf.h"
#include "runner/script_worker.h"

struct script_statuses;

/* Make the list of calls. The caller keeps `conf`. */
struct script_statuses *script_statuses_new(struct event_base *base, const struct conf *conf);

/* Kill the processes of calls under way. Their clients get an error. */
void script_statuses_free(struct script_statuses *statuses);

/* Call the function with the arguments "args" of the request, a JSON object. The first argument is the id of the user who asks.
 * `done` is called exactly once, maybe inside this function. */
void script_status_request(struct script_statuses *statuses, const char *request, size_t length, script_work_done *done,
			   void *arg);

/* Kill the function of the request that was made with this `arg`, if it has not ended. `done` is called as for a function that
 * failed. */
void script_status_cancel(struct script_statuses *statuses, const void *arg);

/* Reap the process `pid` if it is that of a call. Returns false if it is not. */
bool script_status_reap(struct script_statuses *statuses, pid_t pid);

#endif
