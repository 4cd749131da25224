/* rolling_admin.h - `rota admin node change-all`: changes of many nodes, some at a time. */
#ifndef ROTA_ADMIN_ROLLING_ADMIN_H
#define ROTA_ADMIN_ROLLING_ADMIN_H

#include <jansson.h>
#include <stdbool.h>

/* Do "start" (`values`: image or reboot, at_most, nodes, failures, reason), "cancel" or "list" of rolling changes; `change` is the number of
 * one, and may be NULL but for "cancel". Returns the exit code. */
int rolling_admin_run(const char *action, const char *change, json_t *values, bool json);

#endif
