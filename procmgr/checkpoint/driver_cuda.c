/* driver_cuda.c - the driver cuda: while a step is suspended, the GPU memory of its CUDA programs is in the memory of the host. The program
 * cuda-checkpoint moves it there and back.
 *
 * Called by: checkpoint_devices.c.
 * Invariants:
 * - Either all CUDA programs of the step leave the GPUs, or none.
 * - cuda-checkpoint runs as the owner of the step, in its cgroup.
 * - A program that does not get its memory back is killed: its next call of CUDA would wait for ever. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/driver.h"
#include "procmgr/checkpoint/process_tree.h"
#include "procmgr/record/bounded_run.h"

enum { STATE_S = 10, TOGGLE_S = 120, TRIES = 3, TEXT_SIZE = 512 };

/* States of CUDA in a process, as cuda-checkpoint --get-state prints them: the process is on its GPUs, or was moved to the memory
 * of the host. */
static const char on_gpu[] = "running", on_host[] = "checkpointed";

static char *cuda_path(const struct driver_use *use)
{
	return xasprintf("%s/cuda-checkpoint", use->folder);
}

static bool cuda_detect(const struct driver_use *use, const char *program, struct err *e)
{
	(void)program;
	if (!*use->folder)
		return err_set(e, "node.checkpoint_cuda is not set here");
	char *path = cuda_path(use);
	bool there = access(path, X_OK) == 0 || err_sys(e, "could not execute \"%s\"", path);
	free(path);
	return there;
}

/* Run cuda-checkpoint with the option `what` for a process. Result, `seconds` and `text` are as for bounded_run(). */
static int run_cuda(const struct driver_use *use, const char *what, pid_t pid, int seconds, char text[TEXT_SIZE])
{
	char number[16], *path = cuda_path(use);
	snprintf(number, sizeof number, "%d", (int)pid);
	int code = bounded_run((char *[]){path, (char *)what, (char *)"--pid", number, NULL}, seconds, text, TEXT_SIZE);
	text[strcspn(text, "\n")] = '\0';
	free(path);
	return code;
}

/* Is CUDA of a process in this state? A process that does not use CUDA is in no state. */
static bool process_is(const struct driver_use *use, pid_t pid, const char *state)
{
	char text[TEXT_SIZE];
	return run_cuda(use, "--get-state", pid, STATE_S, text) == 0 && strcmp(text, state) == 0;
}

/* Toggle a process. Returns true also if the process has ended meanwhile. */
static bool process_toggle(const struct driver_use *use, pid_t pid, struct err *e)
{
	char text[TEXT_SIZE] = "";
	int code = run_cuda(use, "--toggle", pid, TOGGLE_S, text);
	return code == 0 || process_tree_parent(pid) == 0 ||
	       err_set(e, "cuda-checkpoint did not toggle process %d: %s", (int)pid,
		       code == BOUNDED_RUN_LATE ? "it did not end in time" : text);
}

/* Returns the processes of the step with this state of CUDA, malloc'ed. The caller runs in a child of the keeper. */
static pid_t *list_processes(const struct driver_use *use, const char *state, int *found)
{
	int count;
	struct process_item *all = process_tree_read(&count);
	pid_t *list = xcalloc((size_t)count + 1, sizeof *list), keeper = getppid();
	*found = 0;
	for (int i = 0; i < count; i++)
		if (all[i].pid != keeper && process_tree_has(all, count, all[i].pid, keeper) &&
		    !process_tree_is_own(all[i].pid) && process_is(use, all[i].pid, state))
			list[(*found)++] = all[i].pid;
	free(all);
	return list;
}

/* Move a process that has left its GPUs back to them. If that fails TRIES times, kill it. */
static bool process_return(const struct driver_use *use, pid_t pid, struct err *e)
{
	bool returned = process_toggle(use, pid, e);
	for (int i = 1; i < TRIES && !returned; i++) {
		nanosleep(&(struct timespec){1, 0}, NULL);
		returned = process_toggle(use, pid, e);
	}
	if (!returned)
		kill(pid, SIGKILL);
	return returned;
}

static bool cuda_suspend(const struct driver_use *use, struct err *e)
{
	int count, left = 0;
	struct err unsent;
	pid_t *list = list_processes(use, on_gpu, &count);
	while (left < count && process_toggle(use, list[left], e))
		left++;
	for (int i = 0; i < left && left < count; i++)
		process_return(use, list[i], &unsent);
	bool all = left == count;
	free(list);
	return all;
}

static bool cuda_resume(const struct driver_use *use, struct err *e)
{
	int count;
	bool all = true;
	pid_t *list = list_processes(use, on_host, &count);
	for (int i = 0; i < count; i++)
		all = process_return(use, list[i], e) && all;
	free(list);
	return all;
}

/* This driver saves nothing into files, so --checkpoint cannot name it. */
const struct driver driver_cuda = {
	.prefix = "cuda",
	.detect = cuda_detect,
	.suspend = cuda_suspend,
	.resume = cuda_resume,
};
