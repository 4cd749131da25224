/* driver.c - finds the driver that a step asks for.
 *
 * Called by: checkpoint.c. */
#include "procmgr/checkpoint/driver.h"

#include <stdio.h>
#include <string.h>

static const struct driver *const drivers[] = {&driver_app, &driver_script};

bool driver_find(const char *named, const char *scripts, struct driver_use *use, struct err *e)
{
	/* What a program cannot do itself, auto has no driver for, so it means app. */
	if (strcmp(named, "auto") == 0)
		named = "app";
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
		size_t length = strlen(drivers[i]->prefix);
		bool has_name = drivers[i]->prefix[length - 1] == ':';
		if (has_name ? strncmp(named, drivers[i]->prefix, length) != 0 : strcmp(named, drivers[i]->prefix) != 0)
			continue;
		use->driver = drivers[i];
		use->name = named + (has_name ? length : 0);
		snprintf(use->folder, sizeof use->folder, "%s/%s", scripts, use->name);
		return (!has_name || *scripts) ||
		       err_set(e, "node.checkpoint_folder is not set here, so there is no driver \"%s\"", named);
	}
	return err_set(e, "there is no driver \"%s\"", named);
}
