/* device_users.h - finds processes that have devices open. */
#ifndef ROTA_PROCMGR_DEVICE_USERS_H
#define ROTA_PROCMGR_DEVICE_USERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "procmgr/keeper/devices.h"

struct device_set {
	const struct device *list;
	int count;
};

/* Does the process have a device of the set (struct device_set) open, or mapped into its memory? True also if the kernel does not
 * say. Memory maps are read only by root: the kernel shows the files of maps to nobody else. */
bool device_users_has(pid_t process, const void *set);

#endif
