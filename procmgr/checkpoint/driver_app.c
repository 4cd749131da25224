/* driver_app.c - the driver app: the program saves itself when it is signalled, and reads what it saved when it starts.
 *
 * Called by: checkpoint.c, through driver.c. */
#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/driver.h"

/* Whether the program handles the signal is seen when it is signalled. */
static bool app_detect(const struct driver_use *use, struct err *e)
{
	(void)use;
	(void)e;
	return true;
}

static char *app_itself(const struct driver_use *use)
{
	(void)use;
	return NULL;
}

const struct driver driver_app = {
	.prefix = "app",
	.detect = app_detect,
	.launch = app_itself,
	.restart = app_itself,
	.checkpoint = NULL,
	.verify = folder_compare,
	.discard = folder_remove,
};
