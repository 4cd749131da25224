/* runner.h - the script runner: runs controller prologs and epilogs, and sends mail about jobs. */
#ifndef ROTA_RUNNER_H
#define ROTA_RUNNER_H

#include <event2/event.h>

#include "lib/conf.h"

struct runner;

/* Start a runner of this name. The supervisor must run already. The caller keeps `conf` for as long as the runner lives. */
struct runner *runner_open(struct event_base *base, const struct conf *conf, const char *name);

/* Kill the hooks that are running and free the runner. The next leader runs these hooks again. */
void runner_close(struct runner *runner);

#endif
