/* evacuate_admin.h - `rota admin node evacuate`, `evacuations` and `cancel-evacuation`. */
#ifndef ROTA_BIN_EVACUATE_ADMIN_H
#define ROTA_BIN_EVACUATE_ADMIN_H

#include <jansson.h>
#include <stdbool.h>

/* Evacuate nodes after printing the plan; with "dry_run" among the values, only print it. Returns the exit status. */
int evacuate_admin_run(const char *nodes, json_t *values, bool json);

/* List evacuations, of these nodes (NULL: of all). */
int evacuate_admin_list(const char *nodes, bool json);

int evacuate_admin_cancel(const char *number, bool json);

#endif
