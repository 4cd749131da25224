/* warden.h - a second process that ends what the runner started, when the runner is no more. */
#ifndef ROTA_RUNNER_WARDEN_H
#define ROTA_RUNNER_WARDEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* Fork it; once, before anything else is opened. */
bool warden_start(struct err *e);

/* Its process, to be known when it ends. */
pid_t warden_pid(void);

/* A process group is ours, or nothing of it is left. Without a warden that hears it the runner ends. */
void warden_told(pid_t group, bool runs);

#endif
