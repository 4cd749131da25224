/* agent.h - procmgrd, the unprivileged half of a node, between database and launcher. */
#ifndef ROTA_PROCMGR_AGENT_H
#define ROTA_PROCMGR_AGENT_H

#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

/* Serve node `node` until SIGTERM or until the launcher has closed its end of `launcher_fd`. */
bool agent_run(const struct conf *conf, const char *node, int launcher_fd, struct err *e);

#endif
