/* driver_app.c - the driver app: the program saves itself when it is signalled, and reads what it saved when it starts.
 *
 * Called by: checkpoint.c, through driver.c. */
#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/driver.h"

/* Returns true for every step: whether the program handles the signal shows only when it is signalled. */
static bool app_detect(const struct driver_use *use, const char *program, struct err *e)
{
	(void)use;
	(void)program;
	(void)e;
	return true;
}

static bool app_itself(const struct driver_use *use, char ***instead, struct err *e)
{
	(void)use;
	(void)e;
	*instead = NULL;
	return true;
}

const struct driver driver_app = {
	.prefix = "app",
	.detect = app_detect,
	.launch = app_itself,
	.restart = app_itself,
	.checkpoint = NULL,
	.verify = folder_compare,
	.discard = folder_remove,
	.needs = NULL,
};
