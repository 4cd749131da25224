/* trigger_start.h - starts the program that makes one delivery of a trigger, and reads its outcome. */
#ifndef ROTA_RUNNER_TRIGGER_START_H
#define ROTA_RUNNER_TRIGGER_START_H

#include <event2/event.h>
#include <libpq-fe.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "runner/hook.h"

/* Make the delivery that a row of api.trigger_take names, and start its program: that of the trigger, curl or the mail program.
 * Returns the program as a hook; if it did not start, the hook has no process, and its message has the reason. */
struct hook *trigger_start(struct event_base *base, const struct conf *conf, const PGresult *result, int row);

/* Read the outcome of a delivery that has ended. Returns why it failed, malloc'ed, or NULL if it was made. Sets *code to the HTTP
 * status or the exit code, -1 if there is none. */
char *trigger_outcome(const struct hook *h, int *code);

#endif
