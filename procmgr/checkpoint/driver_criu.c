/* driver_criu.c - the driver criu: CRIU saves all processes of the step as they are, also of static programs, and restores them.
 *
 * Called by: checkpoint.c, through driver.c.
 * Invariants:
 * - The step's processes are in a PID namespace of their own, where each restored process gets its number back. The first process
 *   of the namespace (criu_init.c) is a child of the keeper, in the step's cgroup, and all restored processes are in that cgroup
 *   too.
 * - CRIU runs as the owner, and nothing is restored for root. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/checkpoint_step.h"
#include "procmgr/checkpoint/criu_init.h"
#include "procmgr/checkpoint/criu_socket.h"
#include "procmgr/checkpoint/driver.h"
#include "procmgr/checkpoint/process_tree.h"
#include "procmgr/checkpoint/program_file.h"
#include "procmgr/record/restart_facts.h"

enum { MORE_S = 10 };

/* Does Yama let only an ancestor of a process debug it? CRIU debugs the processes that it saves, and is no ancestor of them. */
static bool yama_forbids(void)
{
	char text[8] = "";
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	bool known = fd >= 0 && read(fd, text, sizeof text - 1) > 0;
	if (fd >= 0)
		close(fd);
	return known && atoi(text) > 0;
}

static bool criu_is_allowed(const struct driver_use *use, struct err *e)
{
	if (!*use->folder)
		return err_set(e,
			       "node.checkpoint_criu is not set here, so the administrator has not allowed the driver \"criu\"");
	char *path = xasprintf("%s/criu", use->folder);
	bool there = access(path, X_OK) == 0 || err_sys(e, "could not execute \"%s\"", path);
	free(path);
	return there;
}

/* Can CRIU save a step that starts now? */
static bool criu_fits(const struct driver_use *use, struct err *e)
{
	if (geteuid() == 0)
		return err_set(e, "CRIU restores nothing for root");
	if (yama_forbids())
		return err_set(e, "kernel.yama.ptrace_scope is not 0 on this node, so CRIU may not read the program");
	if (!use->is_choice && getpid() != 1)
		return err_set(e, "the process manager of this node is not root, so the step has no PID namespace");
	return (atoi(checkpoint_step_variable("ROTA_NNODES")) <= 1 && atoi(checkpoint_step_variable("ROTA_NTASKS")) <= 1) ||
	       err_set(e, "the step has several tasks, and CRIU saves one");
}

static bool criu_detect(const struct driver_use *use, const char *program, struct err *e)
{
	return criu_is_allowed(use, e) && (!program || (program_file_is_plain(program, e) && criu_fits(use, e)));
}

/* Returns the command line {path of rota-checkpoint, "criu", `command`, path of CRIU's folder, `more`}, malloc'ed. */
static char **criu_argv(const struct driver_use *use, const char *command, char *more)
{
	char self[PATH_MAX], **all = xcalloc(6, sizeof *all);
	ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
	self[size > 0 ? size : 0] = '\0';
	all[0] = xstrdup(self);
	all[1] = xstrdup("criu");
	all[2] = xstrdup(command);
	all[3] = xstrdup(use->folder);
	all[4] = more;
	return all;
}

static bool criu_launch(const struct driver_use *use, char ***instead, struct err *e)
{
	(void)e;
	*instead = criu_argv(use, "launch", NULL);
	return true;
}

static bool criu_restart(const struct driver_use *use, char ***instead, struct err *e)
{
	(void)e;
	*instead = criu_argv(use, "restore", xasprintf("%d", use->wait_s));
	return true;
}

/* Open the folder ROTA_CHECKPOINT_DIR, with `tail` added to its path. */
static int open_folder(const char *tail, struct err *e)
{
	char *path = xasprintf("%s%s", checkpoint_step_variable("ROTA_CHECKPOINT_DIR"), tail);
	int fd = folder_open_own(AT_FDCWD, path, false, e);
	free(path);
	return fd;
}

bool driver_criu_is_used(void)
{
	char *path = xasprintf("%s.run/%s", checkpoint_step_variable("ROTA_CHECKPOINT_DIR"), CRIU_INIT_SOCKET);
	struct stat s;
	bool used = stat(path, &s) == 0 && S_ISSOCK(s.st_mode);
	free(path);
	return used;
}

/* Is each process of the step, except programs of Rota, in the PID namespace whose first process is `init`? If not, the error
 * names one that is not. The caller is a child of the keeper. */
static bool all_are_inside(pid_t init, struct err *e)
{
	int count;
	bool good = true;
	char path[PATH_MAX];
	struct process_item *all = process_tree_read(&count);
	pid_t keeper = getppid();
	for (int i = 0; i < count && good; i++) {
		pid_t pid = all[i].pid;
		if (pid == keeper || !process_tree_has(all, count, pid, keeper) || process_tree_has(all, count, pid, init))
			continue;
		good = process_tree_is_shown(pid, e);
		if (good && process_tree_program(pid, path) && !process_tree_is_own(pid))
			good = err_set(e,
				       "process %d would not be saved: \"%.300s\" is of a shell or sub-step (rota shell, rota "
				       "run), also one from outside; end it",
				       (int)pid, path);
	}
	free(all);
	return good;
}

/* Ask the first process of the step's namespace, by the socket `fd`, to have CRIU save the step, and wait for its answer. */
static bool ask_init(const struct driver_use *use, int fd, struct err *e)
{
	char text[CRIU_INIT_MESSAGE_SIZE] = "";
	struct timeval wait = {.tv_sec = use->wait_s + MORE_S};
	size_t used = 0;
	ssize_t got;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	snprintf(text, sizeof text, "%d", use->wait_s);
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return err_sys(e, "the first process of the step does not answer");
	while (used < sizeof text - 1 && (got = recv(fd, text + used, sizeof text - 1 - used, 0)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	return strcmp(text, "ok") == 0 || err_set(e, "%s", used ? text : "the first process of the step does not answer");
}

static void remove_any(int folder, const char *name, void *arg)
{
	(void)arg;
	folder_remove(folder, name);
}

static bool criu_checkpoint(const struct driver_use *use, struct err *e)
{
	int run = open_folder(".run", e), next = run >= 0 ? open_folder("", e) : -1,
	    fd = next >= 0 ? criu_socket_connect(run, e) : -1;
	if (next >= 0)
		folder_each(next, remove_any, NULL); /* files of a checkpoint that failed would become part of this one */
	bool good = fd >= 0 && all_are_inside(criu_socket_peer(fd), e) && ask_init(use, fd, e);
	if (next >= 0 && !good)
		folder_each(next, remove_any, NULL);
	if (fd >= 0)
		close(fd);
	if (next >= 0)
		close(next);
	if (run >= 0)
		close(run);
	return good;
}

static bool criu_needs(const struct driver_use *use, json_t **needs, struct err *e)
{
	(void)e;
	*needs = restart_facts("", use->folder);
	return true;
}

const struct driver driver_criu = {
	.prefix = "criu",
	.detect = criu_detect,
	.launch = criu_launch,
	.restart = criu_restart,
	.restores_processes = true,
	.checkpoint = criu_checkpoint,
	.verify = folder_compare_whole,
	.discard = folder_remove,
	.needs = criu_needs,
};
