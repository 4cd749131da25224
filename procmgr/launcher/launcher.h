/* launcher.h - root's half of a node: believes signed orders, forks keepers, keeps procmgrd running. */
#ifndef ROTA_PROCMGR_LAUNCHER_H
#define ROTA_PROCMGR_LAUNCHER_H

#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

/* Serve node `node` until a signal ends it: SIGTERM (keepers go on), SIGUSR1 (everything is ended first). */
bool launcher_run(const struct conf *conf, const char *node, struct err *e);

#endif
