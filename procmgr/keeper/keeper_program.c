/* keeper_program.c - finds the program of a task that CRIU saves, which is a child of the task's process, and how it ended.
 *
 * Called by: keeper_control.c, keeper_nodes.c and keeper_checkpoint.c (signals to the program alone), keeper_task.c (its end).
 * Invariants:
 * - The process of such a task is the first of a PID namespace (criu_init.c). It ignores signals from outside, and no signal ends it.
 * - A signal goes to the process that was checked, or to none: a pidfd is opened before the check. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "lib/proc_file.h"
#include "procmgr/checkpoint/criu_init.h"
#include "procmgr/keeper/handles.h"
#include "procmgr/keeper/keeper_parts.h"

enum { TEXT_SIZE = 8192 };

/* Is the process a child of `parent`, with the program's number in the namespace? */
static bool process_is_program(pid_t pid, pid_t parent)
{
	char text[TEXT_SIZE];
	proc_file_read(pid, "status", text, sizeof text);
	const char *inside = proc_file_field(text, "NSpid:"), *end = inside ? strchr(inside, '\n') : NULL;
	while (end && end > inside && end[-1] != '\t')
		end--;
	return proc_file_number(text, "PPid:") == parent && end && atol(end) == CRIU_INIT_PROGRAM;
}

pid_t keeper_program_pid(const struct keeper_task *t)
{
	char name[64], text[TEXT_SIZE], *rest = NULL;
	snprintf(name, sizeof name, "task/%ld/children", (long)t->pid);
	if (t->pid <= 0 || !t->may_restore || !proc_file_read(t->pid, name, text, sizeof text))
		return t->pid;
	for (char *child = strtok_r(text, " ", &rest); child; child = strtok_r(NULL, " ", &rest))
		if (process_is_program((pid_t)atol(child), t->pid))
			return (pid_t)atol(child);
	return t->pid;
}

bool keeper_program_signal(const struct keeper_task *t, int signal, bool only_handled)
{
	pid_t pid = keeper_program_pid(t);
	int fd = pid > 0 ? pidfd_open(pid, 0) : -1;
	if (fd < 0)
		return false;
	bool sent = (pid == t->pid || process_is_program(pid, t->pid)) && (!only_handled || handles_signal(pid, signal)) &&
		    pidfd_send_signal(fd, signal, NULL, 0) == 0;
	close(fd);
	return sent;
}

int keeper_program_end(const struct keeper_task *t)
{
	char text[TEXT_SIZE];
	static const char before[] = CRIU_INIT_SIGNALLED;
	if (!t->may_restore || !proc_file_read(t->pid, "comm", text, sizeof text) ||
	    strncmp(text, before, sizeof before - 1) != 0)
		return 0;
	int signal = atoi(text + sizeof before - 1);
	return signal > 0 && signal < NSIG ? signal : 0;
}
