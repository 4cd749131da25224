/* launcher.h - the root half of a node: verifies signed orders, forks keepers, keeps procmgrd running. */
#ifndef ROTA_PROCMGR_LAUNCHER_H
#define ROTA_PROCMGR_LAUNCHER_H

#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

/* Serve node `node` until a signal ends it: SIGTERM (keepers continue), or SIGUSR1 (all steps are ended first). */
bool launcher_run(const struct conf *conf, const char *node, struct err *e);

#endif
