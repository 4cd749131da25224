/* devices.h - which devices a step may use (launcher.devices). */
#ifndef ROTA_PROCMGR_DEVICES_H
#define ROTA_PROCMGR_DEVICES_H

#include <stdbool.h>

#include "lib/err.h"

enum { DEVICES_MOST = 256, DEVICES_ANY_MINOR = -1 };

struct device {
	char type; /* 'c' or 'b' */
	int major, minor;
};

/* Returns the devices of one generic resource, such as "0,3" for gpu in "gpu:0+3,fpga:1", malloc'ed. Returns NULL if there are
 * none. */
char *devices_of_gres(const char *gres, const char *kind);

/* Returns gres without one generic resource, malloc'ed: "fpga:1" for "gpu:0+3,fpga:1" without gpu. */
char *devices_without(const char *gres, const char *kind);

/* Fill `list` with the devices that every process needs, and those that `files` (launcher.device_files) names for a step that has the
 * devices `gres`. Returns their number, or -1 if there is no file for a device of the step, or too many. */
int devices_granted(const char *files, const char *gres, struct device list[DEVICES_MOST], struct err *e);

/* Fill `list` with the devices that `files` names for the devices of one generic resource in `gres`. Returns their number, or -1 as
 * above; 0 if `files` names no path for that resource. */
int devices_of_kind(const char *files, const char *gres, const char *kind, struct device list[DEVICES_MOST], struct err *e);

/* Remove from the list the devices of another list. Returns the number of those that are left. */
int devices_remove(struct device *list, int count, const struct device *others, int other_count);

#endif
