/* power_start.h - starts the program for one stage of a change of a node, or for a check of it. */
#ifndef ROTA_RUNNER_POWER_START_H
#define ROTA_RUNNER_POWER_START_H

#include <event2/event.h>
#include <libpq-fe.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "runner/hook.h"

/* Start the program for a row of api.power_take or api.check_take. Returns the program as a hook; if it did not start, the hook
 * has no process, and its message has the reason. */
struct hook *power_start(struct event_base *base, const struct conf *conf, const PGresult *result, int row);

/* Returns true if the text can be the name of a node, an image, a preparation or a program, and cannot be taken for an option. */
bool power_name_is_valid(const char *name);

#endif
