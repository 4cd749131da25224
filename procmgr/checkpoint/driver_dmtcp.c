/* driver_dmtcp.c - the driver dmtcp: DMTCP saves all processes of the step as they are, and restores them.
 *
 * Called by: checkpoint.c, through driver.c.
 * The folder ROTA_CHECKPOINT_DIR.run has the attempt's coordinator, which task 0 starts, and the file "port" with the port of the
 * guard and the pid of task 0. Other nodes of the step have the same of their own (dmtcp_nodes.c).
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
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/text.h"
#include "lib/trust.h"
#include "procmgr/checkpoint/checkpoint_call.h"
#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/checkpoint_tasks.h"
#include "procmgr/checkpoint/dmtcp_guard.h"
#include "procmgr/checkpoint/dmtcp_images.h"
#include "procmgr/checkpoint/dmtcp_nodes.h"
#include "procmgr/checkpoint/dmtcp_process.h"
#include "procmgr/checkpoint/dmtcp_space.h"
#include "procmgr/checkpoint/dmtcp_tasks.h"
#include "procmgr/checkpoint/driver.h"
#include "procmgr/checkpoint/program_file.h"
#include "procmgr/record/bounded_run.h"
#include "procmgr/record/restart_facts.h"

enum { LIST_SIZE = 1 << 20, STATUS_SIZE = 4096, PAUSE_NS = 100000000, TRIES_US = 5000000, COMMAND_S = 10, GIVE_UP_S = 30 };

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
	bool several = dmtcp_tasks_count() > 1 || dmtcp_tasks_nodes() > 1;
	if (program && !use->is_task && several)
		return err_set(e, "the step has several tasks, and MPI programs need MANA, which a driver script:NAME of the "
				  "site may start");
	if (program && dmtcp_tasks_nodes() > 1 && *dmtcp_variable("ROTA_TMPDIR"))
		return err_set(e, "DMTCP does not save what the nodes of a step have in TMPDIR (--tmpdir)");
	if (program && dmtcp_tasks_nodes() > 1 && !dmtcp_nodes_library_fits(use->folder, e))
		return false;
	return !program || (dir_is_safe(use->dir, e) && program_file_is_dynamic(program, e));
}

/* Read the port by which this node reaches the coordinator, and the pid of its first task. Returns false if this attempt has none
 * yet. */
static bool read_port(int *port, int *root)
{
	char *run = run_path("");
	bool good = dmtcp_nodes_read_port(run, port, root);
	free(run);
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

/* Kill the program of the step, or all of its tasks on this node. The first one is also in the file "port". */
static void kill_tasks(void)
{
	int port, root = 0;
	char *run = run_path("");
	if (read_port(&port, &root) && root > 0)
		kill(root, SIGKILL);
	for (int rank = 0; rank < dmtcp_tasks_count(); rank++) {
		pid_t pid = dmtcp_tasks_process(run, rank);
		if (pid > 0)
			kill(pid, SIGKILL);
	}
	free(run);
}

/* End all tasks, also those of other nodes, which look for the file. */
static void give_up(void)
{
	char *run = run_path("");
	struct err e;
	if (dmtcp_tasks_nodes() > 1)
		dmtcp_tasks_make_file(run, "given_up", &e);
	free(run);
	kill_tasks();
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
		give_up();
	json_decref(answer);
}

/* Have all processes of the step joined the coordinator? Stores the coordinator's list of processes in `list`. `root`: the
 * process of task 0. */
static bool all_are_known(const struct driver_use *use, int port, int root, char *list, struct err *e)
{
	struct utsname own;
	if (dmtcp_command(use, port, "--list", COMMAND_S, list, LIST_SIZE) != 0)
		return err_set(e, "the coordinator of DMTCP does not answer");
	if (dmtcp_tasks_nodes() > 1 && uname(&own) == 0)
		dmtcp_process_keep_host(list, own.nodename);
	char *coordinator = xasprintf("%s/dmtcp_coordinator", use->folder), *run = run_path("");
	bool known = dmtcp_tasks_all_listed(run, list, e) && dmtcp_process_all_listed(root, list, coordinator, e);
	free(run);
	free(coordinator);
	return known;
}

/* On another node than the first one: wait until the tasks run. Say which of this node's tasks has ended before, and end all of them if
 * the first node gives up. */
static void watch_node(int port, void *arg)
{
	const struct driver_use *use = arg;
	int64_t until = clock_boot_us() + (int64_t)(use->wait_s + GIVE_UP_S) * 1000000;
	char *run = run_path(""), *given_up = run_path("given_up");
	bool restores;
	while ((restores = is_restoring(use, port)) && clock_boot_us() < until && access(given_up, F_OK) < 0) {
		int lost = dmtcp_tasks_lost(run, false);
		if (lost >= 0)
			dmtcp_tasks_say_lost(run, lost);
		nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	}
	free(given_up);
	free(run);
	if (restores)
		kill_tasks();
}

/* On another node than the first one: would all of its processes be saved? */
static bool check_node(int64_t *bytes, void *arg, struct err *e)
{
	const struct driver_use *use = arg;
	int port, root;
	char *list = xmalloc(LIST_SIZE);
	bool good = (read_port(&port, &root) || err_set(e, "the program has not started yet")) &&
		    all_are_known(use, port, root, list, e);
	if (good)
		*bytes = dmtcp_space_count(root);
	free(list);
	return good;
}

/* Start the coordinator of this attempt, in task 0. Returns the port of its guard, -1 with an error. */
static int start_coordinator(const struct driver_use *use, const char *folder, void (*watch)(int port, void *arg), struct err *e)
{
	bool several = dmtcp_tasks_nodes() > 1;
	char *link = several ? dmtcp_nodes_program("rota-link", e) : NULL;
	struct dmtcp_guard guard = {use->folder, folder, watch, (void *)use, link, getenv("ROTA_CONFIG")};
	int port = !several || link ? dmtcp_guard_start(&guard, e) : -1;
	bool good = port > 0 && (!several || (dmtcp_nodes_prepare(folder, e) && dmtcp_nodes_await_link(folder, e))) &&
		    write_port(port, e);
	free(link);
	return good ? port : -1;
}

/* Reach the coordinator of this attempt, on another node than the first one. Returns the port that leads there, -1 with an error. */
static int reach_coordinator(const struct driver_use *use, const char *folder, bool restores, struct err *e)
{
	struct dmtcp_node node = {.run = folder,
				  .first = json_string_value(json_array_get(use->hosts, 0)),
				  .watch = restores ? watch_node : NULL,
				  .check = check_node,
				  .arg = (void *)use};
	bool is_first = atoi(dmtcp_variable("SLURM_LOCALID")) == 0;
	return is_first && !dmtcp_nodes_begin(&node, e) ? -1 : dmtcp_nodes_await_port(folder, e);
}

/* Find the coordinator of this attempt, which task 0 starts. `watch`: a function to run beside the coordinator of a program that
 * is restored; NULL: none. Returns the port by which this node reaches it, -1 with an error. */
static int find_coordinator(const struct driver_use *use, const char *folder, void (*watch)(int port, void *arg), struct err *e)
{
	int port = -1, root;
	if (checkpoint_tasks_rank() == 0)
		port = start_coordinator(use, folder, watch, e);
	else if (dmtcp_tasks_node() > 0)
		port = reach_coordinator(use, folder, watch != NULL, e);
	else if (!read_port(&port, &root))
		err_set(e, "task 0 has started no coordinator");
	bool good = port > 0 && (dmtcp_tasks_count() == 1 || dmtcp_tasks_note(folder, checkpoint_tasks_rank(), watch != NULL, e));
	return good ? port : -1;
}

/* Returns the path of the folder for what processes of this node share, malloc'ed; NULL with an error. It cannot be one folder for all
 * nodes, as DMTCP maps a file there. */
static char *shared_path(const char *folder, struct err *e)
{
	if (dmtcp_tasks_nodes() == 1)
		return xstrdup(folder);
	char *path = xasprintf("%s/node.%d", folder, dmtcp_tasks_node());
	int fd = folder_open_own(AT_FDCWD, path, true, e);
	if (fd >= 0) {
		close(fd);
		return path;
	}
	free(path);
	return NULL;
}

/* Returns the command line with which `program`, one of DMTCP's programs, joins the coordinator of this attempt, malloc'ed with room
 * for `count` further arguments; NULL with an error. */
static char **join_coordinator(const struct driver_use *use, const char *program, void (*watch)(int port, void *arg),
			       size_t count, struct err *e)
{
	char *folder = run_path(""), *shared = NULL;
	bool good = dmtcp_tasks_nodes() == 1 || dmtcp_nodes_export(use->hosts, e);
	int port = good ? find_coordinator(use, folder, watch, e) : -1;
	char **all = NULL;
	if (port > 0 && (shared = shared_path(folder, e))) {
		char *list[] = {xasprintf("%s/%s", use->folder, program),
				xstrdup("--quiet"),
				xstrdup("--quiet"),
				xstrdup("--join-coordinator"),
				xstrdup("--coord-host"),
				xstrdup("127.0.0.1"),
				xstrdup("--coord-port"),
				xasprintf("%d", port),
				xstrdup("--ckptdir"),
				dmtcp_images_path(),
				xstrdup("--tmpdir"),
				shared};
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
	bool several = dmtcp_tasks_nodes() > 1;
	char *plugin = several ? dmtcp_nodes_program("rota-dmtcp-nodes.so", e) : NULL;
	bool good = (!several || plugin) && dmtcp_images_make(e);
	char **all = *instead = good ? join_coordinator(use, "dmtcp_launch", NULL, 8, e) : NULL;
	if (!all) {
		free(plugin);
		return false;
	}
	if (plugin) {
		add_argument(all, xstrdup("--with-plugin"));
		add_argument(all, plugin);
	}
	add_argument(all, xstrdup(self));
	add_argument(all, xstrdup(dmtcp_tasks_count() > 1 ? "join" : "run"));
	if (dmtcp_tasks_count() > 1)
		add_argument(all, xasprintf("%d", use->wait_s));
	for (int fd = 0; fd <= 2; fd++)
		add_argument(all, path_of(fd));
	return true;
}

static bool dmtcp_restart(const struct driver_use *use, char ***instead, struct err *e)
{
	setenv("DMTCP_FAIL_RC", "85",
	       1); /* if the restore fails, end with CHECKPOINT_EXIT_AGAIN, so that the step is queued again */
	if (!dmtcp_images_fit_nodes(e))
		return false;
	char *from = dmtcp_images_restart_path();
	char **all = *instead =
		dmtcp_images_copy_files(from, e) ? join_coordinator(use, "dmtcp_restart", watch_restart, 2, e) : NULL;
	if (all) {
		add_argument(all, xstrdup("--restartdir"));
		add_argument(all, xstrdup(from));
	}
	free(from);
	return all != NULL;
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

/* Wait until all processes of the other nodes would be saved, for TRIES_US as save_processes() does. Stores the bytes that they need at
 * most. */
static bool wait_nodes(int64_t until, int64_t *bytes, struct err *e)
{
	int64_t tries_until = clock_boot_us() + TRIES_US;
	char *run = run_path("");
	bool ready;
	while (*bytes = 0, !(ready = dmtcp_nodes_ask(run, bytes, e)) && clock_boot_us() < until && clock_boot_us() < tries_until)
		nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	free(run);
	return ready;
}

static bool dmtcp_checkpoint(const struct driver_use *use, struct err *e)
{
	int port, root, images = dmtcp_images_open(e),
			next = images >= 0 ? folder_open_own(AT_FDCWD, dmtcp_variable("ROTA_CHECKPOINT_DIR"), true, e) : -1;
	int64_t until = clock_boot_us() + (int64_t)use->wait_s * 1000000, bytes;
	bool good = next >= 0 && (read_port(&port, &root) || err_set(e, "the program has not started yet")) &&
		    wait_running(use, port, until, e);
	if (good) {
		/* After an error the coordinator may still be saving, so its files stay where they are until the next
		 * checkpoint. */
		good = dmtcp_images_remove(images, e) && wait_nodes(until, &bytes, e) &&
		       dmtcp_space_suffices(images, dmtcp_space_count(root) + bytes, e) &&
		       save_processes(use, port, root, until, e) && dmtcp_images_move(images, next, e);
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
