/* checkpoint_devices.c - frees the devices of a step before it is suspended, and gives them back to its programs when it is resumed.
 *
 * Called by: bin/rota-checkpoint.c. */
#include <stdio.h>
#include <string.h>

#include "lib/conf.h"
#include "procmgr/checkpoint/checkpoint.h"
#include "procmgr/checkpoint/checkpoint_step.h"
#include "procmgr/checkpoint/driver.h"

int checkpoint_devices(const char *config, const char *command)
{
	struct err e;
	struct conf conf;
	struct driver_use use = {.driver = &driver_cuda};
	bool suspends = strcmp(command, "suspend") == 0;
	if (!suspends && strcmp(command, "resume") != 0)
		return CHECKPOINT_EXIT_WRONG;
	if (!conf_load(&conf, config, &e))
		return checkpoint_step_error(&e);
	snprintf(use.folder, sizeof use.folder, "%s", conf.node_checkpoint_cuda);
	conf_clear(&conf);
	bool good =
		use.driver->detect(&use, NULL, &e) && (suspends ? use.driver->suspend(&use, &e) : use.driver->resume(&use, &e));
	return good ? 0 : checkpoint_step_error(&e);
}
