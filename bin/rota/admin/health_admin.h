/* health_admin.h - `rota admin node health`: what checks say about nodes. */
#ifndef ROTA_ADMIN_HEALTH_ADMIN_H
#define ROTA_ADMIN_HEALTH_ADMIN_H

#include <stdbool.h>

/* List what the latest run of each check said about nodes (NULL: all). Returns the exit code. */
int health_admin_run(const char *nodes, bool json);

#endif
