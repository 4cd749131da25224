/* driver_dmtcp.c - the driver dmtcp: DMTCP saves all processes of the step as they are, and restores them.
 *
 * Called by: checkpoint.c, through driver.c.
 * DMTCP writes images to the folder next.images, beside ROTA_CHECKPOINT_DIR; those of one of several tasks to a folder task.N in it.
 * The images have that path in them, so it is the same in all attempts. The folder ROTA_CHECKPOINT_DIR.run has the attempt's
 * coordinator, which task 0 starts, and the file "port" with the port of the guard and the pid of task 0.
 * Invariants:
 * - dmtcp_restart becomes the first process of a task, in place of the program. So keeper, cgroup and time limit apply to it.
 * - A checkpoint that would lack a process of the step fails. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/text.h"
#include "lib/trust.h"
#include "procmgr/checkpoint/checkpoint_call.h"
#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/dmtcp_guard.h"
#include "procmgr/checkpoint/dmtcp_process.h"
#include "procmgr/checkpoint/dmtcp_space.h"
#include "procmgr/checkpoint/dmtcp_tasks.h"
#include "procmgr/checkpoint/driver.h"
#include "procmgr/checkpoint/program_file.h"
#include "procmgr/record/bounded_run.h"
#include "procmgr/record/restart_facts.h"

enum { LIST_SIZE = 1 << 20, STATUS_SIZE = 4096, PAUSE_NS = 100000000, TRIES_US = 5000000, COMMAND_S = 10 };

static const char *dmtcp_variable(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "";
}

/* Returns the path of an entry of the folder for this attempt's coordinator, malloc'ed; for the entry "", the path of the
 * folder. */
static char *run_path(const char *entry)
{
	return xasprintf("%s.run%s%s", dmtcp_variable("ROTA_CHECKPOINT_DIR"), *entry ? "/" : "", entry);
}

/* Open a folder of this attempt; make it if it does not exist. Returns a descriptor, -1 with an error. */
static int open_path(const char *path, struct err *e)
{
	return folder_open_own(AT_FDCWD, path, true, e);
}

/* Returns the path of the folder to which DMTCP writes, malloc'ed. */
static char *images_path(void)
{
	const char *next = dmtcp_variable("ROTA_CHECKPOINT_DIR"), *slash = strrchr(next, '/');
	return xasprintf("%.*s/next.images", slash ? (int)(slash - next) : 0, next);
}

static int open_images(struct err *e)
{
	char *path = images_path();
	int fd = open_path(path, e);
	free(path);
	return fd;
}

/* Returns the number of the task in which this process runs. */
static int own_rank(void)
{
	return atoi(dmtcp_variable("ROTA_TASK_ID"));
}

/* Returns the path of the folder of this task in `folder`, a folder of images, which it frees; malloc'ed. */
static char *own_path(char *folder)
{
	char name[DMTCP_TASK_NAME_SIZE], *path = folder;
	if (dmtcp_tasks_folder(own_rank(), name)) {
		path = xasprintf("%s/%s", folder, name);
		free(folder);
	}
	return path;
}

/* Open the folder of a task in `folder`, a folder of images. Returns a descriptor, -1 with an error. */
static int open_task(int folder, int rank, struct err *e)
{
	char name[DMTCP_TASK_NAME_SIZE];
	return folder_open_own(folder, dmtcp_tasks_folder(rank, name) ? name : ".", true, e);
}

/* Open the folder to which DMTCP writes the images of this task. */
static int open_own_images(struct err *e)
{
	int images = open_images(e), own = images >= 0 ? open_task(images, own_rank(), e) : -1;
	if (images >= 0)
		close(images);
	return own;
}

/* Returns true if only root and the user can exchange the folder `dir` or one above it: the script and the images are passed to
 * DMTCP by their paths. A folder that does not exist yet will belong to the user. */
static bool dir_is_safe(const char *dir, struct err *e)
{
	struct err untrusted;
	char *path = xstrdup(dir), *slash;
	bool safe = trust_file(path, geteuid(), &untrusted);
	while (!safe && errno == ENOENT && (slash = strrchr(path, '/')) && slash != path) {
		*slash = '\0';
		safe = trust_file(path, geteuid(), &untrusted);
	}
	free(path);
	return safe ||
	       err_set(e, "others can write to a folder above the step's checkpoints, choose another --checkpoint-dir: %.150s",
		       untrusted.message);
}

static bool dmtcp_detect(const struct driver_use *use, const char *program, struct err *e)
{
	static const char *const programs[] = {"dmtcp_launch", "dmtcp_coordinator", "dmtcp_command", "dmtcp_restart"};
	if (!*use->folder)
		return err_set(e, "node.checkpoint_dmtcp is not set here, so there is no driver \"dmtcp\"");
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		char *path = xasprintf("%s/%s", use->folder, programs[i]);
		bool there = access(path, X_OK) == 0 || err_sys(e, "could not execute \"%s\"", path);
		free(path);
		if (!there)
			return false;
	}
	bool several = dmtcp_tasks_count() > 1;
	if (program && use->is_task && atoi(dmtcp_variable("ROTA_NNODES")) > 1)
		return err_set(e, "DMTCP saves tasks of one node together, and this step has several nodes");
	if (program && !use->is_task && (several || atoi(dmtcp_variable("ROTA_NNODES")) > 1))
		return err_set(e, "the step has several tasks, and MPI programs need MANA, which a driver script:NAME of the "
				  "site may start");
	return !program || (dir_is_safe(use->dir, e) && program_file_is_dynamic(program, e));
}

/* Read the port of the guard and the pid of the program from the file "port". Returns false if this attempt has no such file
 * yet. */
static bool read_port(int *port, int *root)
{
	char *path = run_path("port");
	FILE *file = fopen(path, "re");
	bool good = file && fscanf(file, "%d %d", port, root) == 2;
	if (file)
		fclose(file);
	free(path);
	return good;
}

bool driver_dmtcp_is_used(void)
{
	int port, root;
	return read_port(&port, &root);
}

static bool write_port(int port, struct err *e)
{
	char *path = run_path("port");
	FILE *file = fopen(path, "wxe");
	bool good = file && fprintf(file, "%d %d\n", port, (int)getpid()) > 0;
	good = file && fclose(file) == 0 && good;
	if (!good)
		err_sys(e, "could not write \"%s\"", path);
	free(path);
	return good;
}

/* Find the coordinator of this attempt, which task 0 starts. `watch`: a function to run beside the coordinator of a program that
 * is restored; NULL: none. Returns the port of its guard, -1 with an error. */
static int find_coordinator(const struct driver_use *use, const char *folder, void (*watch)(int port, void *arg), struct err *e)
{
	int port = -1, root;
	if (own_rank() > 0 && !read_port(&port, &root))
		err_set(e, "task 0 has started no coordinator");
	else if (own_rank() == 0)
		port = dmtcp_guard_start(&(struct dmtcp_guard){use->folder, folder, watch, (void *)use}, e);
	bool good = port > 0 && (own_rank() > 0 || write_port(port, e)) &&
		    (dmtcp_tasks_count() == 1 || dmtcp_tasks_note(folder, own_rank(), watch != NULL, e));
	return good ? port : -1;
}

/* Returns the command line with which `program`, one of DMTCP's programs, joins the coordinator of this attempt, malloc'ed with room
 * for `count` further arguments; NULL with an error. */
static char **join_coordinator(const struct driver_use *use, const char *program, void (*watch)(int port, void *arg),
			       size_t count, struct err *e)
{
	char *folder = run_path("");
	int port = find_coordinator(use, folder, watch, e);
	char **all = NULL;
	if (port > 0) {
		char *list[] = {xasprintf("%s/%s", use->folder, program),
				xstrdup("--quiet"),
				xstrdup("--quiet"),
				xstrdup("--join-coordinator"),
				xstrdup("--coord-host"),
				xstrdup("127.0.0.1"),
				xstrdup("--coord-port"),
				xasprintf("%d", port),
				xstrdup("--ckptdir"),
				own_path(images_path()),
				xstrdup("--tmpdir"),
				xstrdup(folder)};
		all = xcalloc(sizeof list / sizeof *list + count + 1, sizeof *all);
		memcpy(all, list, sizeof list);
	}
	free(folder);
	return all;
}

static void add_argument(char **all, char *text)
{
	while (*all)
		all++;
	*all = text;
}

/* Returns the path of the file that a descriptor reads or writes, malloc'ed; "" if it is no file that can be opened again. */
static char *path_of(int fd)
{
	char link[32], path[PATH_MAX];
	struct stat open_one, found;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t size = readlink(link, path, sizeof path - 1);
	path[size > 0 ? size : 0] = '\0';
	bool same = fstat(fd, &open_one) == 0 && S_ISREG(open_one.st_mode) && stat(path, &found) == 0 &&
		    open_one.st_dev == found.st_dev && open_one.st_ino == found.st_ino;
	return xstrdup(same ? path : "");
}

static bool dmtcp_launch(const struct driver_use *use, char ***instead, struct err *e)
{
	char self[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
	self[size > 0 ? size : 0] = '\0';
	setenv("DMTCP_GZIP", "0", 1); /* compression takes seconds */
	int images = open_own_images(e);
	char **all = *instead = images >= 0 ? join_coordinator(use, "dmtcp_launch", NULL, 6, e) : NULL;
	if (images >= 0)
		close(images);
	if (!all)
		return false;
	add_argument(all, xstrdup(self));
	add_argument(all, xstrdup(dmtcp_tasks_count() > 1 ? "join" : "run"));
	if (dmtcp_tasks_count() > 1)
		add_argument(all, xasprintf("%d", use->wait_s));
	for (int fd = 0; fd <= 2; fd++)
		add_argument(all, path_of(fd));
	return true;
}

/* Run `dmtcp_command COMMAND` for the coordinator behind this port. Result, `seconds`, `text` and `size` are as for
 * bounded_run(). */
static int dmtcp_command(const struct driver_use *use, int port, const char *command, int seconds, char *text, size_t size)
{
	char *program = xasprintf("%s/dmtcp_command", use->folder), *number = xasprintf("%d", port);
	int code = bounded_run((char *[]){program, (char *)"--coord-host", (char *)"127.0.0.1", (char *)"--coord-port", number,
					  (char *)command, NULL},
			       seconds, text, size);
	free(number);
	free(program);
	return code;
}

/* Is the program still being restored? Returns false if the program goes on, or if it has ended, and the coordinator with it. */
static bool is_restoring(const struct driver_use *use, int port)
{
	char text[STATUS_SIZE];
	int code = dmtcp_command(use, port, "--status", COMMAND_S, text, sizeof text);
	return code == 0 && !strstr(text, "RUNNING=yes");
}

/* Kill the program of the step, or all of its tasks. Task 0 is also in the file "port". */
static void kill_tasks(void)
{
	int port, root = 0;
	char *run = run_path("");
	if (read_port(&port, &root) && root > 0)
		kill(root, SIGKILL);
	for (int rank = 1; rank < dmtcp_tasks_count(); rank++) {
		pid_t pid = dmtcp_tasks_process(run, rank);
		if (pid > 0)
			kill(pid, SIGKILL);
	}
	free(run);
}

/* Returns the report that the program was not restored, and in *action its name: the checkpoint is useless, unless a task of several,
 * `lost`, was not there to be restored. */
static json_t *describe_failure(const struct driver_use *use, int lost, const char **action)
{
	json_t *report = json_pack("{s:i}", "generation", atoi(dmtcp_variable("ROTA_CHECKPOINT_GENERATION")));
	char *message = lost < 0 ? xasprintf("DMTCP did not restore the program within %d second%s", use->wait_s,
					     text_plural(use->wait_s))
				 : xasprintf("task %d ended before DMTCP had restored the tasks", lost);
	*action = lost < 0 ? "refused" : "unmet";
	json_object_set_new(report, "message", json_string(message));
	free(message);
	return report;
}

/* Wait until the restored program goes on. If it does not go on in time, or if one of several tasks has ended, report that: the step
 * is queued again. */
static void watch_restart(int port, void *arg)
{
	const struct driver_use *use = arg;
	int64_t until = clock_boot_us() + (int64_t)use->wait_s * 1000000;
	int lost = -1;
	const char *action;
	char *run = run_path("");
	struct err e;
	while (is_restoring(use, port) && clock_boot_us() < until && (lost = dmtcp_tasks_lost(run, false)) < 0)
		nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	bool failed = is_restoring(use, port);
	if (failed && lost < 0)
		lost = dmtcp_tasks_lost(run, true);
	free(run);
	if (!failed)
		return;
	json_t *report = describe_failure(use, lost, &action);
	json_t *answer = checkpoint_call(getenv("ROTA_CONFIG"), action, report, CALL_LONG_S, &e);
	if (!answer)
		kill_tasks();
	json_decref(answer);
}

/* Copy the file `name` of a folder into the folder *arg. DMTCP looks for its copies of open files in the folder to which it
 * writes next. */
static void copy_file(int folder, const char *name, void *arg)
{
	struct err e;
	char *path = xasprintf("/proc/self/fd/%d/%s", folder, name);
	folder_copy(path, *(int *)arg, name, &e);
	free(path);
}

static void copy_folder(int folder, const char *name, void *arg)
{
	static const char ending[] = "_files";
	size_t length = strlen(name), tail = sizeof ending - 1;
	struct err e;
	if (length <= tail || strcmp(name + length - tail, ending) != 0)
		return;
	int from = folder_open_own(folder, name, false, &e), to = folder_open_own(*(int *)arg, name, true, &e);
	if (from >= 0 && to >= 0)
		folder_each(from, copy_file, &to);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
}

/* Copy the folders with copies of open files from the checkpoint in the folder `from`, as copy_file() says. */
static bool copy_folders(const char *from, struct err *e)
{
	int old = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC), images = open_own_images(e);
	bool opened = images >= 0 && (old >= 0 || err_sys(e, "could not open folder \"%s\"", from));
	if (opened)
		folder_each(old, copy_folder, &images);
	if (old >= 0)
		close(old);
	if (images >= 0)
		close(images);
	return opened;
}

static bool dmtcp_restart(const struct driver_use *use, char ***instead, struct err *e)
{
	setenv("DMTCP_FAIL_RC", "85",
	       1); /* if the restore fails, end with CHECKPOINT_EXIT_AGAIN, so that the step is queued again */
	char *from = own_path(xstrdup(dmtcp_variable("ROTA_RESTART_DIR")));
	char **all = *instead = copy_folders(from, e) ? join_coordinator(use, "dmtcp_restart", watch_restart, 2, e) : NULL;
	if (all) {
		add_argument(all, xstrdup("--restartdir"));
		add_argument(all, xstrdup(from));
	}
	free(from);
	return all != NULL;
}

/* Have all processes of the step joined the coordinator? Stores the coordinator's list of processes in `list`. `root`: the
 * process of task 0. */
static bool all_are_known(const struct driver_use *use, int port, int root, char *list, struct err *e)
{
	if (dmtcp_command(use, port, "--list", COMMAND_S, list, LIST_SIZE) != 0)
		return err_set(e, "the coordinator of DMTCP does not answer");
	char *coordinator = xasprintf("%s/dmtcp_coordinator", use->folder), *run = run_path("");
	bool known = dmtcp_tasks_all_listed(run, list, e) && dmtcp_process_all_listed(root, list, coordinator, e);
	free(run);
	free(coordinator);
	return known;
}

/* Have the coordinator save all processes that have joined it. It refuses while one of them is being restored, or goes on from
 * the last checkpoint. */
static bool ask_coordinator(const struct driver_use *use, int port, int64_t until, struct err *e)
{
	char text[STATUS_SIZE];
	int64_t left_s = (until - clock_boot_us()) / 1000000;
	int code = dmtcp_command(use, port, "--bcheckpoint", left_s > 1 ? (int)left_s : 1, text, sizeof text);
	text[strcspn(text, "\n")] = '\0';
	return code == 0 || err_set(e, "dmtcp_command failed: %s", code < 0 ? "it did not end in time" : text);
}

/* Wait until the program runs. While DMTCP restores the program, DMTCP still has the files of the checkpoint open. */
static bool wait_running(const struct driver_use *use, int port, int64_t until, struct err *e)
{
	while (is_restoring(use, port)) {
		if (clock_boot_us() >= until)
			return err_set(e, "the program is still being restored");
		nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	}
	return true;
}

/* Have the coordinator save all processes. On an error, tries again for TRIES_US: a process that was just forked may not have
 * joined the coordinator yet, and another may still be about to go on after the last checkpoint. */
static bool save_processes(const struct driver_use *use, int port, int root, int64_t until, struct err *e)
{
	int64_t tries_until = clock_boot_us() + TRIES_US;
	char *list = xmalloc(LIST_SIZE);
	bool saved;
	while (!(saved = all_are_known(use, port, root, list, e) && ask_coordinator(use, port, until, e)) &&
	       clock_boot_us() < until && clock_boot_us() < tries_until)
		nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	free(list);
	return saved;
}

static void remove_any(int folder, const char *name, void *arg)
{
	(void)arg;
	folder_remove(folder, name);
}

/* Remove the entry `name` if it is the script that DMTCP writes: it would restart the images at the path where they were. */
static void remove_script(int folder, const char *name, void *arg)
{
	(void)arg;
	if (strncmp(name, "dmtcp_restart_script", 20) == 0)
		folder_remove(folder, name);
}

/* A move of all images into the folder `to` of the checkpoint. */
struct image_move {
	int to;
	bool failed;
};

static void move_entry(int folder, const char *name, void *arg)
{
	struct image_move *move = arg;
	if (renameat(folder, name, move->to, name) < 0)
		move->failed = true;
}

/* Empty the folders of the tasks' images. The folders stay, as the tasks have them open. */
static bool remove_images(int images, struct err *e)
{
	bool good = true;
	for (int rank = 0; good && rank < dmtcp_tasks_count(); rank++) {
		int own = open_task(images, rank, e);
		good = own >= 0;
		if (good)
			folder_each(own, remove_any, NULL);
		if (good)
			close(own);
	}
	return good;
}

/* Move the images of a task into the folder `next`, into a folder of the task's own if there are several tasks. */
static bool move_task(int images, int next, int rank, struct err *e)
{
	int from = open_task(images, rank, e);
	struct image_move move = {.to = from >= 0 ? open_task(next, rank, e) : -1};
	bool opened = move.to >= 0;
	if (opened) {
		folder_each(from, remove_script, NULL);
		folder_each(from, move_entry, &move);
		close(move.to);
	}
	if (from >= 0)
		close(from);
	return opened && (!move.failed || err_set(e, "could not move the images of DMTCP to the checkpoint"));
}

/* Move the images into the folder `next`, where the files of the checkpoint are gathered. Removes all files there first: those of
 * a checkpoint that failed would be restored too. */
static bool move_images(int images, int next, struct err *e)
{
	bool good = true;
	folder_each(next, remove_any, NULL);
	for (int rank = 0; good && rank < dmtcp_tasks_count(); rank++)
		good = move_task(images, next, rank, e);
	return good;
}

static bool dmtcp_checkpoint(const struct driver_use *use, struct err *e)
{
	int port, root, images = open_images(e), next = images >= 0 ? open_path(dmtcp_variable("ROTA_CHECKPOINT_DIR"), e) : -1;
	int64_t until = clock_boot_us() + (int64_t)use->wait_s * 1000000;
	bool good = next >= 0 && (read_port(&port, &root) || err_set(e, "the program has not started yet")) &&
		    wait_running(use, port, until, e);
	if (good) {
		/* After an error the coordinator may still be saving, so its files stay where they are until the next
		 * checkpoint. */
		good = remove_images(images, e) && dmtcp_space_suffices(images, root, e) &&
		       save_processes(use, port, root, until, e) && move_images(images, next, e);
	}
	if (images >= 0)
		close(images);
	if (next >= 0)
		close(next);
	return good;
}

static bool dmtcp_needs(const struct driver_use *use, json_t **needs, struct err *e)
{
	(void)e;
	*needs = restart_facts(use->folder, "");
	return true;
}

const struct driver driver_dmtcp = {
	.prefix = "dmtcp",
	.detect = dmtcp_detect,
	.launch = dmtcp_launch,
	.restart = dmtcp_restart,
	.restores_processes = true,
	.checkpoint = dmtcp_checkpoint,
	.verify = folder_compare_whole,
	.discard = folder_remove,
	.needs = dmtcp_needs,
};
