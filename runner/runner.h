/* runner.h - the script runner: takes the controller's prologs and epilogs from the database and runs them. */
#ifndef ROTA_RUNNER_H
#define ROTA_RUNNER_H

#include <event2/event.h>

#include "lib/conf.h"

struct runner;

/* Begin, under `name`; `conf` is the caller's and outlives it. The warden runs already. */
struct runner *runner_open(struct event_base *base, const struct conf *conf, const char *name);

/* Kill what is under way: it is run again by whoever leads next. */
void runner_close(struct runner *runner);

#endif
