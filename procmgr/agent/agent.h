/* agent.h - procmgrd: a node's unprivileged half between database and launcher. */
#ifndef ROTA_PROCMGR_AGENT_H
#define ROTA_PROCMGR_AGENT_H

#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

/* Serve node `node` until SIGTERM or until the launcher behind `launcher_fd` is gone. */
bool agent_run(const struct conf *conf, const char *node, int launcher_fd, struct err *e);

#endif
