/* driver_script.c - the driver script:NAME: three programs of the site, start, checkpoint and restart, in the folder NAME of
 * node.checkpoint_folder.
 *
 * Called by: checkpoint.c, through driver.c.
 * Invariants:
 * - The programs run as the owner of the step, in its cgroup. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/driver.h"

static char *script_path(const struct driver_use *use, const char *program)
{
	return xasprintf("%s/%s", use->folder, program);
}

static bool script_detect(const struct driver_use *use, struct err *e)
{
	static const char *const programs[] = {"start", "checkpoint", "restart"};
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		char *path = script_path(use, programs[i]);
		bool there = access(path, X_OK) == 0 || err_sys(e, "driver script:%s: could not execute \"%s\"", use->name, path);
		free(path);
		if (!there)
			return false;
	}
	return true;
}

static char *script_launch(const struct driver_use *use)
{
	return script_path(use, "start");
}

static char *script_restart(const struct driver_use *use)
{
	return script_path(use, "restart");
}

static bool script_checkpoint(const struct driver_use *use, struct err *e)
{
	char *path = script_path(use, "checkpoint");
	int status = -1;
	pid_t pid = fork();
	if (pid == 0) {
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	free(path);
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	return err_set(e, "driver script:%s: its program checkpoint ended with %s %d", use->name,
		       WIFSIGNALED(status) ? "signal" : "exit code",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

const struct driver driver_script = {
	.prefix = "script:",
	.detect = script_detect,
	.launch = script_launch,
	.restart = script_restart,
	.checkpoint = script_checkpoint,
	.verify = folder_compare,
	.discard = folder_remove,
};
