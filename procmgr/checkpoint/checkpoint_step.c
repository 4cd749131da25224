/* checkpoint_step.c - the step of an attempt that starts or makes checkpoints: its folder, its variables, its errors.
 *
 * Called by: checkpoint.c, checkpoint_start.c.
 * Below --checkpoint-dir there is a folder for each step, LABEL. In it, next.ATTEMPT is what the program writes to (ROTA_CHECKPOINT_DIR), and
 * each checkpoint is a folder with the number of its generation. */
#include "procmgr/checkpoint/checkpoint_step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int checkpoint_step_error(const struct err *e)
{
	fprintf(stderr, "rota-checkpoint: %s\n", e->message);
	return CHECKPOINT_EXIT_WRONG;
}

const char *checkpoint_step_variable(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "";
}

void checkpoint_step_next(char name[CHECKPOINT_NAME_SIZE])
{
	snprintf(name, CHECKPOINT_NAME_SIZE, "next.%s", checkpoint_step_variable("ROTA_ATTEMPT"));
}

char *checkpoint_step_path(const struct checkpoint *c, const char *name)
{
	return xasprintf("%s/%s/%s", c->dir, checkpoint_step_variable("ROTA_STEP_LABEL"), name);
}

int checkpoint_step_open(const struct checkpoint *c, bool make, struct err *e)
{
	int above = make ? folder_open(c->dir, e) : open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (above < 0 && !make)
		err_sys(e, "could not open folder \"%s\"", c->dir);
	int fd = above < 0 ? -1 : folder_open_own(above, checkpoint_step_variable("ROTA_STEP_LABEL"), make, e);
	if (above >= 0)
		close(above);
	return fd;
}

enum folder_match checkpoint_step_compare(const struct driver *driver, const char *path, const json_t *files, struct err *e)
{
	char *above = xstrdup(path), *slash = strrchr(above, '/');
	*slash = '\0';
	int parent = open(*above ? above : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool opened = parent >= 0 || err_sys(e, "could not open folder \"%s\"", above);
	int folder = opened ? folder_open_own(parent, slash + 1, false, e) : -1;
	enum folder_match match = folder >= 0			  ? driver->verify(folder, files, e)
				  : opened && folder_lacks(errno) ? FOLDER_DIFFERS
								  : FOLDER_UNREADABLE;
	if (folder >= 0)
		close(folder);
	if (parent >= 0)
		close(parent);
	free(above);
	return match;
}

void checkpoint_step_export(const struct checkpoint *c, const json_t *from)
{
	char number[CHECKPOINT_NAME_SIZE], name[CHECKPOINT_NAME_SIZE];
	const char *path = json_string_value(json_object_get(from, "path"));
	snprintf(number, sizeof number, "%lld", (long long)json_integer_value(json_object_get(from, "generation")));
	checkpoint_step_next(name);
	char *next = checkpoint_step_path(c, name);
	setenv("ROTA_CONFIG", c->config, 0);
	setenv("ROTA_CHECKPOINT_DRIVER", c->driver, 1);
	setenv("ROTA_CHECKPOINT", c->asked, 1);
	setenv("ROTA_CHECKPOINT_DIR", next, 1);
	setenv("ROTA_CHECKPOINT_GENERATION", number, 1);
	if (path) {
		setenv("ROTA_RESTART", "1", 1);
		setenv("ROTA_RESTART_DIR", path, 1);
	}
	free(next);
}

/* The answer of the database has how many seconds a step may take to be saved or restored, and the hosts of several nodes. */
void checkpoint_step_wait(struct driver_use *use, const json_t *answer)
{
	use->hosts = json_object_get(answer, "hosts");
	use->wait_s = (int)json_integer_value(json_object_get(answer, "wait_s"));
}
