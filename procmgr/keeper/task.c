/* task.c - starts one process of a step.
 *
 * Called by: the keeper for tasks and hooks. Invariants, in this order:
 * - Limits and cgroups are set as root. Then the groups, gid and uid of the user are set, and root cannot be regained.
 * - Only after that, the folder is entered and files are opened, so the kernel checks every path with the user's rights.
 * - A user's process has a session keyring of its own, and no other process can read its memory before it runs the program.
 * - The program gets no descriptor but 0, 1 and 2, and no signal setting of the keeper. */
#include "procmgr/keeper/task.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>

#include "lib/file.h"
#include "procmgr/keeper/restore_right.h"
#include "procmgr/keeper/spawn.h"

/* Find all groups of the user, as initgroups() does. A keeper that is not root sets no groups. */
static bool find_groups(struct task_owner *owner, struct err *e)
{
	int capacity = 32, count = capacity;
	owner->groups = xcalloc((unsigned long)capacity, sizeof *owner->groups);
	while (geteuid() == 0 && getgrouplist(owner->user, owner->login_gid, owner->groups, &count) < 0) {
		if (count <= capacity)
			return err_set(e, "could not look up the groups of user \"%s\"", owner->user);
		capacity = count;
		owner->groups = xrealloc(owner->groups, (unsigned long)capacity * sizeof *owner->groups);
	}
	owner->group_count = count;
	return true;
}

/* Is the user a member, on this node, of the group under which the job was submitted? The groups of the user may have changed
 * since, and may differ between nodes. Root may have any group, and a keeper that is not root keeps its own. */
static bool check_group(const struct order *order, const struct task_owner *owner, struct err *e)
{
	bool is_member = geteuid() != 0 || owner->uid == 0;
	for (int i = 0; !is_member && i < owner->group_count; i++)
		is_member = owner->groups[i] == owner->gid;
	return is_member ||
	       err_set(e, "user \"%s\" is not a member of group %ld on node \"%s\"", order->user, (long)owner->gid, order->node);
}

bool task_owner_find(const struct order *order, struct task_owner *owner, struct err *e)
{
	errno = 0;
	const struct passwd *pw = getpwnam(order->user);
	if (!pw && errno && errno != ENOENT)
		return err_sys(e, "could not look up user \"%s\" on node \"%s\"", order->user, order->node);
	if (!pw)
		return err_set(e, "user \"%s\" is unknown on node \"%s\"", order->user, order->node);
	if (pw->pw_uid != order->uid)
		return err_set(e, "user \"%s\" has uid %ld on node \"%s\", not %ld", order->user, (long)pw->pw_uid, order->node,
			       (long)order->uid);
	owner->uid = order->uid;
	owner->gid = order->gid;
	owner->login_gid = pw->pw_gid;
	owner->user = xstrdup(pw->pw_name);
	owner->home = xstrdup(pw->pw_dir && *pw->pw_dir ? pw->pw_dir : "/");
	owner->shell = xstrdup(pw->pw_shell && *pw->pw_shell ? pw->pw_shell : "/bin/sh");
	return find_groups(owner, e) && check_group(order, owner, e);
}

void task_owner_clear(struct task_owner *owner)
{
	free(owner->user);
	free(owner->home);
	free(owner->shell);
	free(owner->groups);
	memset(owner, 0, sizeof *owner);
}

static const int ignored[] = {SIGTERM, SIGUSR1, SIGINT, SIGHUP, SIGPIPE};

void task_ignore_signals(void)
{
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
}

static void reset_signals(void)
{
	sigset_t none;
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Reset the OOM score of a task: the kernel must not kill the keeper when memory is out, but may kill tasks. */
static void reset_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (write(fd, "0", 1) < 0)
			errno = 0; /* a kernel without oom_score_adj has nothing to reset */
		close(fd);
	}
}

/* Become the user by system calls. The C library's functions would try to change all threads of the keeper, whose memory the
 * child may share. */
static bool become_owner(const struct task_owner *owner, struct err *e)
{
	uid_t uid = owner->uid;
	gid_t gid = owner->gid;
	if (geteuid() != 0)
		return uid == geteuid() || err_set(e, "only root can start tasks of another user");
	if (syscall(SYS_setgroups, (size_t)owner->group_count, owner->groups) < 0 || syscall(SYS_setresgid, gid, gid, gid) < 0 ||
	    syscall(SYS_setresuid, uid, uid, uid) < 0)
		return err_sys(e, "could not become user \"%s\"", owner->user);
	/* The memory is that of a keeper until the program runs. The change of uid keeps users from it only where the kernel's
	 * setting fs.suid_dumpable is 0. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(e, "could not keep the keeper's memory from user \"%s\"", owner->user);
	if (uid != 0 && (syscall(SYS_setuid, 0) == 0 || syscall(SYS_setresuid, -1, 0, -1) == 0))
		return err_set(e, "user \"%s\" can become root", owner->user);
	return true;
}

/* Join a new session keyring, for a process shares the keys of the launcher's otherwise. Root makes the keyring, since a user may
 * have few of them. Nothing is shared where the kernel has no keyrings, or a container denies them. */
static bool leave_keyring(const struct task_owner *owner, struct err *e)
{
	if (geteuid() != 0 || !owner || syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0 || errno == ENOSYS ||
	    errno == EOPNOTSUPP || errno == EPERM)
		return true;
	return err_sys(e, "could not make a session keyring");
}

/* Let the process find the keys of its user, as a login does. A user without keys needs no link. */
static void link_user_keyring(const struct task_owner *owner)
{
	if (owner)
		syscall(SYS_keyctl, KEYCTL_LINK, KEY_SPEC_USER_KEYRING, KEY_SPEC_SESSION_KEYRING);
}

/* Open `path` as descriptor `fd`. An output FIFO without a reader is an error: a step that waits for a reader would look like a
 * step that works. */
static bool open_as(int fd, const char *path, int flags, const char *what, struct err *e)
{
	int wait = flags & O_ACCMODE ? O_NONBLOCK : 0;
	int opened = open(path, flags | wait | O_NOCTTY | O_CLOEXEC, 0666);
	if (opened < 0)
		return err_sys(e, "could not open %s \"%s\"", what, path);
	if (wait && fcntl(opened, F_SETFL, flags & O_APPEND) < 0)
		return err_sys(e, "could not set up %s \"%s\"", what, path);
	if (opened == fd)
		return fcntl(fd, F_SETFD, 0) == 0 || err_sys(e, "could not keep %s \"%s\"", what, path);
	if (dup2(opened, fd) < 0)
		return err_sys(e, "could not use %s \"%s\" as a standard stream", what, path);
	close(opened);
	return true;
}

static bool open_streams(const struct task_start *s, struct err *e)
{
	const int flags = O_WRONLY | O_CREAT | O_APPEND;
	if (!open_as(0, s->input ? s->input : "/dev/null", O_RDONLY, "input file", e))
		return false;
	if (s->output ? !open_as(1, s->output, flags | (s->truncate_output ? O_TRUNC : 0), "output file", e)
		      : dup2(s->out, 1) < 0 && !err_sys(e, "could not set up standard output"))
		return false;
	if (s->error)
		return open_as(2, s->error, flags | (s->truncate_error ? O_TRUNC : 0), "error file", e);
	return dup2(1, 2) >= 0 || err_sys(e, "could not set up standard error");
}

/* Has the keeper died? In another PID namespace, getppid() is always 0. The pipe `report` has a reader as long as the keeper lives, after this
 * process has closed its own copy of the reading end, `reader`. */
static bool pipe_has_no_reader(int report, int reader)
{
	struct pollfd p = {.fd = report};
	close(reader);
	return poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}

/* The argument of run_child. */
struct child_start {
	struct task_start start;
	pid_t keeper;
	int report, reader; /* the ends of the pipe: the child's own, and the keeper's */
};

static bool become_task(const struct child_start *b, struct err *e)
{
	const struct task_start *s = &b->start;
	if (setsid() < 0)
		return err_sys(e, "could not start a session");
	reset_signals();
	reset_oom_score();
	if (s->cgroups && !cgroups_enter(s->cgroups, s->key, s->pinned, e))
		return false;
	if (s->cores)
		sched_setaffinity(0, sizeof *s->cores,
				  s->cores); /* fails if a core has gone offline; then the task runs on any core */
	if ((s->folders && !private_folders_enter(s->folders, e)) || (s->may_restore && !restore_right_prepare(e)) ||
	    !leave_keyring(s->owner, e) || !task_limit_apply(s->limits, s->limit_count, e) ||
	    (s->owner && !become_owner(s->owner, e)))
		return false;
	if (s->may_restore && !restore_right_take(e))
		return false;
	link_user_keyring(s->owner);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* set after the change of user, which clears this setting */
	if (s->may_restore ? pipe_has_no_reader(b->report, b->reader) : getppid() != b->keeper)
		return err_set(e, "the keeper died");
	umask((mode_t)s->umask);
	if (chdir(s->folder) < 0)
		return err_sys(e, "could not enter folder \"%s\"", s->folder);
	return open_streams(s, e);
}

/* Read what stands after #! in the first line of a script. Returns false if the script has no such line. */
static bool read_first_line(const char *path, char line[PATH_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t size = fd < 0 ? -1 : read(fd, line, PATH_MAX - 1);
	if (fd >= 0)
		close(fd);
	line[size > 0 ? size : 0] = '\0';
	if (strncmp(line, "#!", 2) != 0)
		return false;
	char *from = line + 2 + strspn(line + 2, " \t");
	from[strcspn(from, "\n")] = '\0';
	memmove(line, from, strlen(from) + 1);
	return *line != '\0';
}

/* Read the interpreter from the first line of a script. Returns false if the script names none. */
static bool read_interpreter(const char *path, char interpreter[PATH_MAX])
{
	if (!read_first_line(path, interpreter))
		return false;
	interpreter[strcspn(interpreter, " \t")] = '\0';
	return true;
}

/* Is a program in a folder of this list, as PATH has it? */
static bool list_has(const char *list, const char *name)
{
	char path[PATH_MAX];
	for (const char *end = list; *end; list = end + 1) {
		end = strchrnul(list, ':');
		snprintf(path, sizeof path, "%.*s/%s", end > list ? (int)(end - list) : 1, end > list ? list : ".", name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* Does env find the interpreter that the script names? Otherwise only the step's output would say that it did not. A line with more
 * than a name is left to env. */
static bool env_has_program(const struct task_start *s, struct err *e)
{
	char line[PATH_MAX];
	const char *name, *list = NULL;
	if (!read_first_line(s->path, line) || !(name = strpbrk(line, " \t")))
		return true;
	name += strspn(name, " \t");
	for (char *const *variable = s->environment; *variable; variable++)
		if (strncmp(*variable, "PATH=", strlen("PATH=")) == 0)
			list = *variable + strlen("PATH=");
	if (!list || !*list || !*name || *name == '-' || strpbrk(name, " \t=/\r") || list_has(list, name))
		return true;
	return err_set(e, "interpreter \"%.256s\" not found in PATH on node %s", name, s->node);
}

/* Describe why execve() failed. A missing script and a missing interpreter give the same error. The function runs as the user, so
 * it opens no file that the user cannot open. */
static void describe_failure(const struct task_start *s, struct err *e)
{
	char interpreter[PATH_MAX];
	int failed = errno;
	if (failed != ENOEXEC && read_interpreter(s->path, interpreter) && access(interpreter, X_OK) < 0) {
		if (errno == ENOENT)
			err_set(e, "interpreter \"%.256s\" not found on node %s", interpreter, s->node);
		else
			err_sys(e, "interpreter \"%.256s\" cannot be executed on node %s", interpreter, s->node);
		return;
	}
	errno = failed;
	err_sys(e, "could not execute \"%s\"", s->path);
}

/* Move the descriptors for the program to 3, 4 and so on. All other descriptors close when the program starts. Returns the new
 * number of `report`, or -1. */
static int pass_descriptors(const struct task_start *s, int report)
{
	enum { FIRST = 3, PASSED_MOST = 8, ASIDE = FIRST + PASSED_MOST };
	int aside[PASSED_MOST], moved = fcntl(report, F_DUPFD_CLOEXEC, ASIDE);
	for (int i = 0; i < s->passed_count; i++)
		aside[i] = fcntl(s->passed[i], F_DUPFD_CLOEXEC, ASIDE);
	for (int i = 0; i < s->passed_count; i++)
		if (aside[i] < 0 || dup2(aside[i], FIRST + i) < 0)
			return -1;
	close_range((unsigned)(FIRST + s->passed_count), ~0U, CLOSE_RANGE_CLOEXEC);
	return moved;
}

static int run_child(void *arg)
{
	const struct child_start *b = arg;
	const struct task_start *s = &b->start;
	struct err e;
	int report = b->report;
	if (become_task(b, &e) && (!s->by_env || env_has_program(s, &e))) {
		if (s->function) {
			close_range(3, ~0U, 0);
			_exit(s->function(s->argument));
		}
		report = pass_descriptors(s, report);
		execve(s->path, s->argv, s->environment);
		describe_failure(s, &e);
	}
	if (write(report, e.message, strlen(e.message)) < 0)
		_exit(TASK_NOT_STARTED - 1);
	_exit(TASK_NOT_STARTED);
}

pid_t task_start(const struct task_start *start, int *report, bool *in_use, struct err *e)
{
	int ends[2];
	*in_use = false;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		err_sys(e, "could not make a pipe on node %s", start->node);
		return -1;
	}
	struct child_start *b = xmalloc(sizeof *b);
	*b = (struct child_start){*start, getpid(), ends[1], ends[0]};
	pid_t pid = start->function ? fork() : spawn_child(run_child, b, start->may_restore ? CLONE_NEWPID : 0, in_use);
	if (start->function && pid == 0)
		_exit(run_child(b));
	if (pid < 0)
		err_sys(e, "could not fork a process on node %s", start->node);
	if (!*in_use)
		free(b);
	close(ends[1]);
	if (pid < 0 || !file_set_blocking(ends[0], false))
		close(ends[0]);
	else
		*report = ends[0];
	return pid;
}
