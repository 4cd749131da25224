/* reboot_admin.h - `rota admin node reboot`: nodes rebooted by the program of the site. */
#ifndef ROTA_ADMIN_REBOOT_ADMIN_H
#define ROTA_ADMIN_REBOOT_ADMIN_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"

/* Returns true if the instance has a program that reboots nodes. */
bool reboot_admin_is_possible(struct err *e);

/* Do "reboot" (`values`: reason, asap, next), "cancel" or "list" of reboots of nodes; `nodes` may be NULL for a list. Returns the exit
 * code. */
int reboot_admin_run(const char *action, const char *nodes, json_t *values, bool json);

#endif
