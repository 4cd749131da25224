/* cgroups_devices.h - lets the processes of a cgroup use some devices only. */
#ifndef ROTA_PROCMGR_CGROUPS_DEVICES_H
#define ROTA_PROCMGR_CGROUPS_DEVICES_H

#include <stdbool.h>

#include "procmgr/keeper/devices.h"

/* Restrict the new cgroup `key` in the folder `dir` to the devices of the list: with files in version 1, with a BPF program in
 * version 2. Returns false with errno set if that fails. */
bool cgroups_devices_restrict(const char *dir, const char *key, bool is_v2, const struct device *list, int count);

/* Restrict the cgroup `key`, which is restricted already, to the devices of the list instead. Meanwhile its processes can use at most the
 * devices that both lists have. Returns false with errno set. */
bool cgroups_devices_change(const char *dir, const char *key, bool is_v2, const struct device *list, int count);

#endif
