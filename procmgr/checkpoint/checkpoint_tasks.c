/* checkpoint_tasks.c - has all tasks of a step start from one checkpoint: task 0 chooses it, and tells the others by a file.
 *
 * Called by: checkpoint_start.c, checkpoint.c, driver_dmtcp.c, dmtcp_images.c.
 * The file is next.ATTEMPT.tasks in the folder of the step.
 * Invariants:
 * - Task 0 has locked the file before it has its name, and the kernel removes the lock when task 0 ends. So whoever finds the file
 *   and gets the lock knows that task 0 has written it, or never will.
 * - Only task 0 asks the database, removes files of earlier attempts, and reports that the step begins. */
#include "procmgr/checkpoint/checkpoint_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/text.h"
#include "procmgr/checkpoint/checkpoint_step.h"

/* BEGIN_S: seconds within which task 0 makes the file. The keeper has started task 0 before this task. */
enum { BEGIN_S = 60, PAUSE_NS = 20000000 };

bool checkpoint_tasks_are_several(const struct checkpoint *c)
{
	return c->is_task && atoi(checkpoint_step_variable("ROTA_NTASKS")) > 1;
}

int checkpoint_tasks_rank(void)
{
	return atoi(checkpoint_step_variable("ROTA_TASK_ID"));
}

static void name_file(char name[CHECKPOINT_NAME_SIZE])
{
	snprintf(name, CHECKPOINT_NAME_SIZE, "next.%.32s.tasks", checkpoint_step_variable("ROTA_ATTEMPT"));
}

bool checkpoint_tasks_is_file(const char *name)
{
	char own[CHECKPOINT_NAME_SIZE];
	name_file(own);
	return strcmp(name, own) == 0;
}

/* Wait for a lock on a file. The locks of fcntl(2) belong to the process: no child inherits them. */
static bool lock_file(int fd, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
	int locked;
	while ((locked = fcntl(fd, F_SETLKW, &lock)) < 0 && errno == EINTR)
		;
	return locked == 0;
}

int checkpoint_tasks_lead(const struct checkpoint *c, struct err *e)
{
	char name[CHECKPOINT_NAME_SIZE], part[CHECKPOINT_NAME_SIZE + 8];
	int step = checkpoint_step_open(c, true, e);
	if (step < 0)
		return -1;
	name_file(name);
	snprintf(part, sizeof part, "%s.part", name);
	int fd = openat(step, part, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || !lock_file(fd, F_WRLCK) || renameat(step, part, step, name) < 0) {
		err_sys(e, "could not make file \"%s\" for the other tasks", name);
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	close(step);
	return fd;
}

bool checkpoint_tasks_tell(int fd, const json_t *from, bool restores, struct err *e)
{
	json_t *message = json_pack("{s:O, s:b}", "from", from, "restores", restores);
	bool good = json_dumpfd(message, fd, JSON_COMPACT) == 0;
	if (!good)
		err_sys(e, "could not write for the other tasks from which checkpoint they start");
	json_decref(message);
	return close(fd) == 0 && good;
}

/* Make the file NAME.ROLE beside the one by which task 0 tells the others. Returns false if it exists already. */
static bool note_over(int step, const char *role)
{
	char name[2 * CHECKPOINT_NAME_SIZE];
	snprintf(name, sizeof name, "next.%.32s.%.32s", checkpoint_step_variable("ROTA_ATTEMPT"), role);
	int fd = openat(step, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool is_over(int step, int node)
{
	char name[CHECKPOINT_NAME_SIZE];
	snprintf(name, sizeof name, "next.%.32s.over.%d", checkpoint_step_variable("ROTA_ATTEMPT"), node);
	return faccessat(step, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool checkpoint_tasks_are_over(const struct checkpoint *c)
{
	char role[CHECKPOINT_NAME_SIZE];
	struct err e;
	int count = atoi(checkpoint_step_variable("ROTA_NNODES")), node = 0;
	if (count <= 1)
		return true;
	int step = checkpoint_step_open(c, false, &e);
	if (step < 0)
		return false;
	snprintf(role, sizeof role, "over.%.8s", checkpoint_step_variable("ROTA_NODE_INDEX"));
	note_over(step, role);
	while (node < count && is_over(step, node))
		node++;
	bool first = node == count && note_over(step, "over"); /* two nodes may find this at the same time */
	close(step);
	return first;
}

/* Open the file of task 0 as soon as it is there. Returns a descriptor, -1 with an error. */
static int await_file(const struct checkpoint *c, struct err *e)
{
	char name[CHECKPOINT_NAME_SIZE];
	int64_t until = clock_boot_us() + (int64_t)BEGIN_S * 1000000;
	int fd = -1;
	name_file(name);
	while (fd < 0 && clock_boot_us() < until) {
		int step = checkpoint_step_open(c, true, e);
		if (step < 0)
			return -1;
		fd = openat(step, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		close(step);
		if (fd < 0)
			nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	}
	if (fd < 0)
		err_set(e, "task 0 has not begun within %d second%s%s", BEGIN_S, text_plural(BEGIN_S),
			atoi(checkpoint_step_variable("ROTA_NNODES")) > 1
				? ", or --checkpoint-dir is not one folder for all nodes"
				: "");
	return fd;
}

json_t *checkpoint_tasks_await(const struct checkpoint *c, bool *restores, struct err *e)
{
	json_error_t malformed;
	int fd = await_file(c, e);
	if (fd < 0)
		return NULL;
	bool locked = lock_file(fd, F_RDLCK) || err_sys(e, "could not lock the file of task 0");
	json_t *message = locked ? json_loadfd(fd, 0, &malformed) : NULL, *from = json_object_get(message, "from");
	close(fd);
	if (locked && !json_is_object(from))
		err_set(e, "task 0 has not started");
	*restores = json_is_true(json_object_get(message, "restores"));
	from = json_is_object(from) ? json_incref(from) : NULL;
	json_decref(message);
	return from;
}
