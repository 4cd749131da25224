/* driver_script.c - the driver script:NAME: programs of the site in the folder NAME of node.checkpoint_folder: start, checkpoint
 * and restart, and perhaps needs, which prints what a restart needs.
 *
 * Called by: checkpoint.c, through driver.c.
 * Invariants:
 * - The programs run as the owner of the step, in its cgroup. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/driver.h"
#include "procmgr/record/bounded_run.h"

enum { NEEDS_S = 10, NEEDS_SIZE = 8192, NEEDS_MOST = 32, NEED_NAME_LENGTH = 32, NEED_VALUE_LENGTH = 200 };

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

/* Add to `needs` one line "NAME VALUE". Returns false if the line is malformed. */
static bool needs_add_line(json_t *needs, char *line)
{
	size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_");
	if (length == 0 || length > NEED_NAME_LENGTH || line[length] != ' ' || json_object_size(needs) >= NEEDS_MOST)
		return false;
	const char *value = line + length + 1;
	if (!*value || strlen(value) > NEED_VALUE_LENGTH)
		return false;
	line[length] = '\0';
	return json_object_set_new(needs, line, json_string(value)) == 0;
}

/* Have the program needs of the driver, if there is one, print what this node has that a restart needs: lines "NAME VALUE". */
static bool script_needs(const struct driver_use *use, json_t **needs, struct err *e)
{
	char text[NEEDS_SIZE], *path = script_path(use, "needs"), *rest = NULL;
	bool there = access(path, F_OK) == 0;
	int code = there ? bounded_run((char *[]){path, NULL}, NEEDS_S, text, sizeof text) : 0;
	free(path);
	*needs = NULL;
	if (code == BOUNDED_RUN_LATE)
		return err_set(e, "driver script:%s: its program needs did not end within %d seconds", use->name, NEEDS_S);
	if (code < 0)
		return err_set(e, "driver script:%s: its program needs was killed, or could not be started", use->name);
	if (code > 0)
		return err_set(e, "driver script:%s: its program needs ended with exit code %d", use->name, code);
	json_t *lines = there ? json_object() : NULL;
	for (char *line = there ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
		if (!needs_add_line(lines, line)) {
			json_decref(lines);
			return err_set(e, "driver script:%s: its program needs printed \"%.60s\", which is not NAME VALUE",
				       use->name, line);
		}
	*needs = lines;
	return true;
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
	.needs = script_needs,
};
