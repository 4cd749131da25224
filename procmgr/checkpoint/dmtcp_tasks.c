/* dmtcp_tasks.c - the tasks of a step that DMTCP saves together.
 *
 * Called by: driver_dmtcp.c, bin/rota-checkpoint.c.
 * The folder ROTA_CHECKPOINT_DIR.run of the attempt has files for each task if there are several: task.N with the task's process
 * and, if the step has several nodes, the number of its node; joined.N when this process has joined the coordinator; lost.N when its
 * node has found that it has ended. The link `decision` says whether their programs begin.
 * Invariants:
 * - A process number is used only on the node of the process.
 * - No program of a task begins before all tasks have joined, and none of them is saved before that. */
#include "procmgr/checkpoint/dmtcp_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/text.h"
#include "procmgr/checkpoint/dmtcp_process.h"

enum { PAUSE_NS = 20000000 };

static int number_of(const char *variable)
{
	const char *value = getenv(variable);
	return value ? atoi(value) : 0;
}

int dmtcp_tasks_count(void)
{
	int count = number_of("ROTA_NTASKS");
	return count > 1 ? count : 1;
}

int dmtcp_tasks_nodes(void)
{
	int count = number_of("ROTA_NNODES");
	return count > 1 ? count : 1;
}

int dmtcp_tasks_node(void)
{
	return number_of("ROTA_NODE_INDEX");
}

bool dmtcp_tasks_folder(int rank, char name[DMTCP_TASK_NAME_SIZE])
{
	snprintf(name, DMTCP_TASK_NAME_SIZE, "task.%d", rank);
	return dmtcp_tasks_count() > 1;
}

bool dmtcp_tasks_make_file(const char *run, const char *name, struct err *e)
{
	char *path = xasprintf("%s/%s", run, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool good = fd >= 0 || err_sys(e, "could not make \"%s\"", path);
	if (fd >= 0)
		close(fd);
	free(path);
	return good;
}

static bool note_joined(const char *run, int rank, struct err *e)
{
	char name[DMTCP_TASK_NAME_SIZE];
	snprintf(name, sizeof name, "joined.%d", rank);
	return dmtcp_tasks_make_file(run, name, e);
}

bool dmtcp_tasks_note(const char *run, int rank, bool joined, struct err *e)
{
	char *path = xasprintf("%s/task.%d", run, rank);
	FILE *file = fopen(path, "wxe");
	bool good = file && (dmtcp_tasks_nodes() > 1 ? fprintf(file, "%d %d\n", (int)getpid(), dmtcp_tasks_node())
						     : fprintf(file, "%d\n", (int)getpid())) > 0;
	good = file && fclose(file) == 0 && good;
	if (!good)
		err_sys(e, "could not write \"%s\"", path);
	free(path);
	return good && (!joined || note_joined(run, rank, e));
}

/* Read the process of a task, and the number of its node. Returns 0 if the task has not written down its process. */
static pid_t read_task(const char *run, int rank, int *node)
{
	int pid = 0;
	char *path = xasprintf("%s/task.%d", run, rank);
	FILE *file = fopen(path, "re");
	*node = 0;
	bool good = file && fscanf(file, "%d %d", &pid, node) >= 1 && pid > 0;
	if (file)
		fclose(file);
	free(path);
	return good ? pid : 0;
}

pid_t dmtcp_tasks_process(const char *run, int rank)
{
	int node;
	pid_t pid = read_task(run, rank, &node);
	return node == dmtcp_tasks_node() ? pid : 0;
}

/* Returns the lowest number of a task that has not joined the coordinator, -1: all have. */
static int task_missing(const char *run)
{
	int count = dmtcp_tasks_count(), rank = 0;
	bool joined = true;
	for (; rank < count && joined; rank++) {
		char *path = xasprintf("%s/joined.%d", run, rank);
		joined = access(path, F_OK) == 0;
		free(path);
	}
	return joined ? -1 : rank - 1;
}

/* Decide whether the programs of all tasks begin, or that of none. The first task that makes the link decides: the kernel makes a
 * link and its text at once. `begins`: what this task decides if it is the first. Returns the decision; `begins` if the folder of
 * the attempt is gone. */
static bool decide_begin(const char *run, bool begins)
{
	static const char begin[] = "begin";
	char text[sizeof begin] = "", *path = xasprintf("%s/decision", run);
	if (symlink(begins ? begin : "end", path) < 0 && errno == EEXIST && readlink(path, text, sizeof text - 1) > 0)
		begins = strcmp(text, begin) == 0;
	free(path);
	return begins;
}

bool dmtcp_tasks_join(int seconds, struct err *e)
{
	const char *next = getenv("ROTA_CHECKPOINT_DIR");
	char *run = xasprintf("%s.run", next ? next : "");
	int64_t until = clock_boot_us() + (int64_t)seconds * 1000000;
	bool good = note_joined(run, number_of("ROTA_TASK_ID"), e);
	int missing = -1;
	/* The folder is gone where this process was saved while it was waiting here, and goes on in a later attempt. */
	while (good && (missing = task_missing(run)) >= 0 && access(run, F_OK) == 0 && clock_boot_us() < until)
		nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	if (good && !decide_begin(run, missing < 0 || access(run, F_OK) < 0))
		good = missing < 0
			       ? err_set(e, "not all tasks have started within %d second%s", seconds, text_plural(seconds))
			       : err_set(e, "task %d has not started within %d second%s", missing, seconds, text_plural(seconds));
	free(run);
	return good;
}

/* Has the process of a task ended? On another node, that node says so by a file. */
static bool is_lost(const char *run, int rank, pid_t pid, int node)
{
	if (node == dmtcp_tasks_node())
		return kill(pid, 0) < 0 && errno == ESRCH;
	char *path = xasprintf("%s/lost.%d", run, rank);
	bool lost = access(path, F_OK) == 0;
	free(path);
	return lost;
}

int dmtcp_tasks_lost(const char *run, bool all_due)
{
	int count = dmtcp_tasks_count(), node;
	for (int rank = 0; count > 1 && rank < count; rank++) {
		pid_t pid = read_task(run, rank, &node);
		if (pid == 0 ? all_due : is_lost(run, rank, pid, node))
			return rank;
	}
	return -1;
}

void dmtcp_tasks_say_lost(const char *run, int rank)
{
	char name[DMTCP_TASK_NAME_SIZE];
	struct err e;
	snprintf(name, sizeof name, "lost.%d", rank);
	dmtcp_tasks_make_file(run, name, &e);
}

bool dmtcp_tasks_run_here(const char *run)
{
	bool runs = false;
	for (int rank = 0; !runs && rank < dmtcp_tasks_count(); rank++) {
		pid_t pid = dmtcp_tasks_process(run, rank);
		runs = pid > 0 && kill(pid, 0) == 0;
	}
	return runs;
}

bool dmtcp_tasks_all_listed(const char *run, const char *list, struct err *e)
{
	int count = dmtcp_tasks_count(), missing = count > 1 ? task_missing(run) : -1, node;
	if (missing >= 0)
		return err_set(e, "task %d has not started yet", missing);
	for (int rank = 0; count > 1 && rank < count; rank++) {
		pid_t pid = read_task(run, rank, &node);
		if (node == dmtcp_tasks_node() && !dmtcp_process_is_listed(list, pid))
			return err_set(e, "task %d has ended, so the tasks cannot be saved together any more", rank);
	}
	return true;
}
