/* power_start.h - starts the program for one stage of a change of a node, or for a check of it. */
#ifndef ROTA_RUNNER_POWER_START_H
#define ROTA_RUNNER_POWER_START_H

#include <event2/event.h>
#include <libpq-fe.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "runner/hook.h"

/* Start the program for a row of api.power_take or api.check_take. Returns it; one that did not start has no process, and a message. */
struct hook *power_start(struct event_base *base, const struct conf *conf, const PGresult *result, int row);

/* Is the text the name of a node, an image, a preparation or a program, which no program takes for an option? */
bool power_name_is_valid(const char *name);

#endif
