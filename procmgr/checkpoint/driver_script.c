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

static bool script_detect(const struct driver_use *use, const char *program, struct err *e)
{
	static const char *const programs[] = {"start", "checkpoint", "restart"};
	(void)program;
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		char *path = script_path(use, programs[i]);
		bool there = access(path, X_OK) == 0 || err_sys(e, "driver script:%s: could not execute \"%s\"", use->name, path);
		free(path);
		if (!there)
			return false;
	}
	return true;
}

static bool script_instead(const struct driver_use *use, const char *program, char ***instead)
{
	*instead = xcalloc(2, sizeof **instead);
	**instead = script_path(use, program);
	return true;
}

static bool script_launch(const struct driver_use *use, char ***instead, struct err *e)
{
	(void)e;
	return script_instead(use, "start", instead);
}

static bool script_restart(const struct driver_use *use, char ***instead, struct err *e)
{
	(void)e;
	return script_instead(use, "restart", instead);
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
	.needs = NULL,
};
