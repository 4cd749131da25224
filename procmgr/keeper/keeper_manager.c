/* keeper_manager.c - listens for programs of the job that want to run sub-steps, and keeps a step manager running for them.
 *
 * Called by: keeper.c and, through the handlers, the loop.
 * Invariants:
 * - The first connection to the socket starts the step manager (procmgr/stepmgr/). It is a process of the user inside the step.
 * - The keeper reads nothing that the step manager writes.
 * - A step manager that has died is started again when the next connection comes, or at once if it has ever started a process. It
 *   finds all that it needs in its files (keeper_manager_files.c), and reads them again at SIGTERM.
 * - The file of orphans says that the step is ended, before its processes get a signal for that. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/daemon.h"
#include "lib/log.h"
#include "procmgr/keeper/keeper_manager_files.h"
#include "procmgr/keeper/keeper_parts.h"

enum { BACKLOG = 4096, AGAIN_USEC = 200000, JOIN_USEC = 30000000 };

struct keeper_manager {
	pid_t pid;  /* process of the step manager; 0 if it does not run */
	int report; /* descriptor of task_start that reports the start; -1 once the program runs */
	struct keeper_manager_files files;
	int64_t start_at; /* when the step manager may be started again */
	bool wanted;	  /* start the step manager again without a connection: sub-steps may be under way */
	bool given_up;	  /* the step manager cannot be started */
	/* true for an agent if a program on this node wants sub-steps, and the step manager of the step has not called this
	 * node */
	bool joins;
	int64_t joins_by; /* if `joins`: time until which the keeper waits for the call of the step manager */
	/* environment variable ROTA_STEP_HEAD=..., by which an agent connects to the step manager; NULL: the step manager has
	 * not called this node to have its agent connect */
	char *call;
	bool calls;   /* the step manager has been asked to call its agents */
	bool listens; /* the step manager has been asked to listen for clients on other machines */
};

static void socket_path(const struct keeper *k, char path[RECORD_KEY_SIZE + 16])
{
	snprintf(path, RECORD_KEY_SIZE + 16, "spool/%s/steps", k->name);
}

/* Make the socket for sub-steps, to which only the owner of the step can connect. Returns -1 on an error. */
static int make_socket(const struct keeper *k)
{
	char path[RECORD_KEY_SIZE + 16];
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socket_path(k, path);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t before = umask(077);
	bool made = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
	umask(before);
	made = made && (geteuid() != 0 || lchown(path, k->owner.uid, k->owner.gid) == 0) && listen(fd, BACKLOG) == 0;
	if (made)
		return fd;
	log_warning("attempt %s cannot run sub-steps: %m", k->name);
	if (fd >= 0)
		close(fd);
	return -1;
}

static void remove_socket(const struct keeper *k, int fd)
{
	char path[RECORD_KEY_SIZE + 16];
	socket_path(k, path);
	close(fd);
	unlink(path);
}

static bool has_connection(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	return poll(&poll_fd, 1, 0) != 0;
}

void keeper_manager_close(struct keeper *k, struct keeper_cache *cache)
{
	struct keeper_manager *m = k->manager;
	if (k->step_socket >= 0 && !m && !has_connection(k->step_socket)) {
		/* no program has connected, so the next attempt of the user can have the socket */
		cache->step_socket = k->step_socket;
		cache->step_uid = k->owner.uid;
		cache->step_gid = k->owner.gid;
	} else if (k->step_socket >= 0) {
		remove_socket(k, k->step_socket);
	}
	k->step_socket = -1;
	free(k->step_path);
	k->step_path = NULL;
	free(k->early_call);
	k->early_call = NULL;
	if (m) {
		keeper_manager_files_close(&m->files);
		free(m->call);
	}
	free(m);
	k->manager = NULL;
}

/* Does an agent run on this node, not the step manager? The step manager runs on the first node of the step, its agents run on
 * the other nodes, and on all nodes of growths of the step. */
static bool is_agent(const struct keeper *k)
{
	return k->order->node_index > 0 || k->order->spec.grows;
}

/* Returns the first line of the file of orphans (substep_orphans.c). `ends`: the keeper ends the step. */
static const char *manager_head(const struct keeper *k, bool ends)
{
	const struct keeper_manager *m = k->manager;
	if (ends)
		return "ends\n";
	if (m->calls)
		return m->listens ? "both\n" : "call\n";
	return m->listens ? "port\n" : "open\n";
}

static bool make_files(struct keeper *k, struct err *e)
{
	return keeper_manager_files_make(k, &k->manager->files, is_agent(k), manager_head(k, *k->cause), e);
}

void keeper_manager_end(const struct keeper *k)
{
	if (k->manager && !keeper_manager_files_set_head(&k->manager->files, manager_head(k, true)))
		log_warning("attempt %s: its step manager does not see that it ends: %m", k->name);
}

/* Open the key with which the step manager verifies tokens of clients on other machines. Returns -1 on an error. */
static int open_sign_key(const struct keeper *k)
{
	char *path = xasprintf("%s/sign.pub", k->job->conf->keys_dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	return fd;
}

static bool start_program(struct keeper *k, struct err *e)
{
	struct keeper_manager *m = k->manager;
	int key = open_sign_key(k);
	const struct keeper_manager_files *f = &m->files;
	int passed[] = {k->step_socket, f->journal, f->orphans, f->store[0], f->store[1], f->growths, keeper_nodes_file(k), key};
	char *path = daemon_beside("rota-stepmgr", e);
	if (!path || key < 0) {
		free(path);
		return key < 0 ? err_sys(e, "could not open sign.pub") : false;
	}
	char **argv = xcalloc(2, sizeof *argv);
	char **environment = keeper_manager_environment(k, m->call);
	struct task_start start = {.path = path, .argv = argv, .passed = passed, .passed_count = sizeof passed / sizeof *passed};
	bool in_use;
	argv[0] = path;
	start.environment = environment;
	keeper_place_process(k, &start);
	start.out = 1; /* /dev/null: what a process of the user prints is not for the log of the keeper */
	keeper_sweep_expect(k);
	m->pid = task_start(&start, &m->report, &in_use, e);
	close(key);
	if (in_use) {
		k->has_slow_start = true; /* the process reads all that `start` points to later, so it is never freed */
		return m->pid > 0;
	}
	task_environment_free(environment);
	free(argv);
	free(path);
	return m->pid > 0;
}

/* Close the socket, so that programs of the job get an error and do not wait. */
static void give_up(struct keeper *k)
{
	k->manager->given_up = true;
	if (k->step_socket < 0)
		return;
	remove_socket(k, k->step_socket);
	k->step_socket = -1;
}

static void start_manager(struct keeper *k)
{
	struct err e;
	struct keeper_manager *m = k->manager;
	m->start_at = clock_boot_us() + AGAIN_USEC;
	m->wanted = true;
	if (make_files(k, &e) && start_program(k, &e))
		return;
	m->pid = 0;
	log_warning("attempt %s cannot run sub-steps: %s", k->name, e.message);
	give_up(k);
}

/* May the step manager run? Sub-steps run only as long as tasks of the step may. A step manager that was killed with the step is not
 * started again: it would start waiting sub-steps. */
static bool may_run(const struct keeper *k)
{
	return k->step_socket >= 0 && k->phase < KEEPER_DONE && k->killed_at == 0 && !k->lingers && !k->lease_lost &&
	       !(k->manager && k->manager->given_up);
}

int keeper_manager_descriptor(const struct keeper *k)
{
	const struct keeper_manager *m = k->manager;
	bool waits = may_run(k) && (!m || (m->pid == 0 && !m->joins && clock_boot_us() >= m->start_at));
	return waits ? k->step_socket : -1;
}

static void make_manager(struct keeper *k)
{
	if (k->manager)
		return;
	k->manager = xcalloc(1, sizeof *k->manager);
	k->manager->files = keeper_manager_files_none;
	k->manager->report = -1;
}

/* Write a record by which procmgrd and the database have the step manager on the step's first node call an agent on this node.
 * Connections to the socket wait meanwhile. On a node of a growth no record is needed, since the step manager calls it in any
 * case. */
static void manager_join(struct keeper *k)
{
	static const char line[] = "{\"kind\":\"join\",\"at\":0}\n";
	struct err e;
	if (k->order->spec.grows) {
		k->manager->joins = true;
		k->manager->joins_by = INT64_MAX;
		return;
	}
	int fd = keeper_manager_files_journal(k, &e);
	k->manager->joins = true;
	k->manager->joins_by = clock_boot_us() + JOIN_USEC;
	if (fd >= 0 && write(fd, line, sizeof line - 1) == (ssize_t)sizeof line - 1) {
		close(fd);
		return;
	}
	log_warning("attempt %s cannot run sub-steps from this node: %s", k->name, fd < 0 ? e.message : strerror(errno));
	if (fd >= 0)
		close(fd);
	give_up(k);
}

void keeper_manager_open(struct keeper *k, struct keeper_cache *cache)
{
	bool same = cache->step_socket > 0 && cache->step_uid == k->owner.uid && cache->step_gid == k->owner.gid;
	if (cache->step_socket > 0 && !same)
		remove_socket(k, cache->step_socket);
	k->step_socket = same ? cache->step_socket : make_socket(k);
	cache->step_socket = 0;
	if (k->step_socket >= 0)
		k->step_path = xasprintf("%s/spool/%s/steps", k->job->dir, k->name);
	if (!k->early_call || !may_run(k))
		return;
	make_manager(k);
	k->manager->call = k->early_call;
	k->early_call = NULL;
	start_manager(k);
}

void keeper_manager_connect(struct keeper *k)
{
	make_manager(k);
	if (is_agent(k) && !k->manager->call)
		manager_join(k);
	else
		start_manager(k);
}

void keeper_manager_begin(struct keeper *k)
{
	if (k->order->spec.step_manager && !is_agent(k))
		keeper_manager_want_agents(k);
}

/* Returns true if this is the node of the step manager, and it may run. Makes k->manager then. */
static bool takes_orders(struct keeper *k)
{
	if (is_agent(k) || *k->cause || !may_run(k))
		return false;
	make_manager(k);
	return true;
}

/* Signal the step manager to read its files, or start it if it does not run. */
static void notify_manager(struct keeper *k)
{
	if (k->manager->pid == 0)
		start_manager(k);
	else
		kill(k->manager->pid, SIGTERM);
}

/* Write the first line of the file of orphans, which `calls` and `listens` determine, and have the step manager read it. */
static void send_head(struct keeper *k)
{
	struct err e;
	if (make_files(k, &e) && (keeper_manager_files_set_head(&k->manager->files, manager_head(k, false)) ||
				  err_sys(&e, "could not write the file of orphans")))
		notify_manager(k);
	else
		log_warning("attempt %s: its step manager does not get an order: %s", k->name, e.message);
}

bool keeper_manager_want_agents(struct keeper *k)
{
	if (!takes_orders(k))
		return false;
	k->manager->calls = true;
	send_head(k);
	return true;
}

bool keeper_manager_want_port(struct keeper *k)
{
	if (!takes_orders(k))
		return false;
	k->manager->listens = true;
	send_head(k);
	return true;
}

bool keeper_manager_grow(struct keeper *k, const char *what, const char *growth, const char *on)
{
	struct err e;
	if (!growth || !on || !takes_orders(k))
		return false;
	if (make_files(k, &e) &&
	    (dprintf(k->manager->files.growths, "%s %s %s\n", what, growth, on) >= 0 || err_sys(&e, "could not write"))) {
		crash_point(CRASH_growth_ordered);
		notify_manager(k);
	} else {
		log_warning("attempt %s does not use a node that has come, or uses one that has gone: %s", k->name, e.message);
	}
	return true;
}

/* Returns true if the socket of the step is not made yet on this node but may be made later. Tasks on other nodes may run
 * already. */
static bool may_run_later(const struct keeper *k)
{
	return k->step_socket < 0 && k->phase < KEEPER_DONE && k->killed_at == 0 && !k->lease_lost;
}

/* A step manager that was killed and could not listen at its port again calls its agents anew. Each agent then starts again too,
 * and tasks run on. A call that comes during the prologs is kept until the socket is made. */
bool keeper_manager_call(struct keeper *k, const char *host, const char *port, const char *key)
{
	bool later = may_run_later(k);
	if (!host || !port || !key || !is_agent(k) || !(may_run(k) || later))
		return false;
	char *call = xasprintf("ROTA_STEP_HEAD=%s %s %s %s", host, port, key, k->order->spec.grows ? k->name : "-");
	if (later) {
		free(k->early_call);
		k->early_call = call;
		return true;
	}
	make_manager(k);
	struct keeper_manager *m = k->manager;
	bool same = m->call && strcmp(m->call, call) == 0;
	free(m->call);
	m->call = call;
	m->joins = false;
	if (m->pid == 0)
		start_manager(k);
	else if (!same)
		kill(m->pid, SIGKILL);
	return true;
}

void keeper_manager_wake(const struct keeper *k)
{
	if (k->manager && k->manager->pid > 0 && !is_agent(k))
		kill(k->manager->pid, SIGTERM);
}

int64_t keeper_manager_next(const struct keeper *k)
{
	const struct keeper_manager *m = k->manager;
	if (m && m->joins)
		return may_run(k) ? m->joins_by : 0;
	return m && m->pid == 0 && m->wanted && may_run(k) ? m->start_at : 0;
}

void keeper_manager_poll(struct keeper *k)
{
	int64_t at = keeper_manager_next(k);
	if (at == 0 || clock_boot_us() < at)
		return;
	if (!k->manager->joins) {
		start_manager(k);
		return;
	}
	log_warning("attempt %s cannot run sub-steps from this node: its first node did not answer", k->name);
	give_up(k);
}

/* Note that the step manager's program did not start, or that its journal has become too large. */
static void check_end(struct keeper *k)
{
	struct keeper_manager *m = k->manager;
	char text[256];
	ssize_t size = m->report >= 0 ? read(m->report, text, sizeof text - 1) : 0;
	if (m->report >= 0)
		close(m->report);
	m->report = -1;
	text[size > 0 ? size : 0] = '\0';
	bool large = keeper_manager_files_are_large(&m->files);
	if (!*text && !large)
		return;
	log_warning("attempt %s runs no more sub-steps: %s", k->name, *text ? text : "the step manager's journal is full");
	give_up(k);
}

bool keeper_manager_reap(struct keeper *k, pid_t pid)
{
	struct keeper_manager *m = k->manager;
	struct stats stats;
	int status;
	if (!m || m->pid != pid)
		return false;
	if (!stats_reap(pid, -1, &status, &stats))
		die("could not reap the step manager of attempt %s", k->name);
	stats_add(&k->used, &stats);
	m->pid = 0;
	check_end(k);
	return true;
}

void keeper_manager_orphan(struct keeper *k, pid_t pid, int64_t started, int status, const struct stats *s)
{
	if (k->manager)
		keeper_manager_files_add_orphan(&k->manager->files, pid, started, status, s);
}
