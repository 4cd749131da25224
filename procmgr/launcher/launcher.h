/* launcher.h - the root half of a node: verifies signed orders, forks keepers, keeps procmgrd running. */
#ifndef ROTA_PROCMGR_LAUNCHER_H
#define ROTA_PROCMGR_LAUNCHER_H

#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

/* Serve node `node` until SIGTERM, after which keepers continue, or until SIGUSR1, after which all steps are ended first. */
bool launcher_run(const struct conf *conf, const char *node, struct err *e);

#endif
