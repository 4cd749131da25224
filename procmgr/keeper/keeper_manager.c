/* keeper_manager.c - listens for programs of the job that want to run sub-steps, and keeps a step manager running for them.
 *
 * Called by: keeper.c and, through the handlers, the loop.
 * Invariants:
 * - The first connection to the socket starts the step manager (procmgr/stepmgr/). It is a process of the user inside the step.
 * - The keeper reads nothing that the step manager writes.
 * - A step manager that has died is started again when the next connection comes, or at once if it has ever started a process. It
 *   finds the ends of its tasks, which the keeper has reaped, in the file of orphans.
 * - The first line of this file says that the step is ended, before its processes get a signal for that.
 * - The file of growths has a line for each node that has come or gone, in order. The step manager reads it again at SIGTERM. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/daemon.h"
#include "lib/log.h"
#include "procmgr/keeper/keeper_parts.h"

enum {
	BACKLOG = 4096,
	AGAIN_USEC = 200000,
	JOIN_USEC = 30000000,
	ORPHANS_MOST = 4 << 20,
	JOURNAL_MOST = 256 << 20,
	HEAD_SIZE = 5
};

struct keeper_manager {
	pid_t pid;	   /* process of the step manager; 0 if it does not run */
	int report;	   /* descriptor of task_start; -1 once the program runs */
	int journal;	   /* the step manager's journal; -1 before its first start */
	int orphans;	   /* file of orphans; -1 before the first start */
	off_t orphans_end; /* size of the file of orphans */
	int growths;	   /* file of growths; -1 before the first start */
	int64_t start_at;  /* when the step manager may be started again */
	bool wanted;	   /* start again without a connection: sub-steps may be under way */
	bool given_up;	   /* it cannot be started */
	bool joins;	   /* an agent that is wanted, and was not called, */
	int64_t joins_by;  /* and is waited for until then */
	char *call;	   /* variable ROTA_STEP_HEAD of an agent; NULL: it was not called */
	bool calls;	   /* the step manager has been asked to call its agents */
	bool listens;	   /* the same to listen for clients on other machines */
	bool has_store;
	int store[2]; /* a socket pair in which the step manager keeps output of tasks open (substep_store.c) */
};

static void socket_path(const struct keeper *k, char path[RECORD_KEY_SIZE + 16])
{
	snprintf(path, RECORD_KEY_SIZE + 16, "spool/%s/steps", k->name);
}

/* Bind the socket for the owner of the step alone. Returns -1 on an error. */
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
		cache->step_socket = k->step_socket; /* nobody has used the socket, so the next attempt of the user gets it */
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
	if (m && m->journal >= 0)
		close(m->journal);
	if (m && m->orphans >= 0)
		close(m->orphans);
	if (m && m->growths >= 0)
		close(m->growths);
	for (int i = 0; m && m->has_store && i < 2; i++)
		close(m->store[i]);
	if (m)
		free(m->call);
	free(m);
	k->manager = NULL;
}

/* Make the step manager's journal: the user writes it, procmgrd's account reads it (docs/formats.md). */
static int make_journal(const struct keeper *k, struct err *e)
{
	char path[RECORD_KEY_SIZE + 16];
	struct stat folder;
	snprintf(path, sizeof path, "substeps/%s", k->name);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640);
	bool made =
		fd >= 0 && (geteuid() != 0 || (stat("substeps", &folder) == 0 && fchown(fd, k->owner.uid, folder.st_gid) == 0));
	if (made && fchmod(fd, 0640) == 0)
		return fd;
	err_sys(e, "could not make \"%s\"", path);
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Write the first line of the file of orphans (substep_orphans.c). */
static bool write_head(const struct keeper *k, bool ends)
{
	const struct keeper_manager *m = k->manager;
	const char *word = ends			    ? "ends\n"
			   : m->calls && m->listens ? "both\n"
			   : m->calls		    ? "call\n"
			   : m->listens		    ? "port\n"
						    : "open\n";
	return pwrite(m->orphans, word, HEAD_SIZE, 0) == HEAD_SIZE;
}

void keeper_manager_end(const struct keeper *k)
{
	if (k->manager && k->manager->orphans >= 0 && !write_head(k, true))
		log_warning("attempt %s: its step manager does not see that it ends: %m", k->name);
}

static bool make_orphans(struct keeper *k, struct err *e)
{
	struct keeper_manager *m = k->manager;
	m->orphans = memfd_create("rota-orphans", MFD_CLOEXEC);
	m->orphans_end = HEAD_SIZE;
	return (m->orphans >= 0 && write_head(k, *k->cause)) || err_sys(e, "could not make a file for orphans");
}

/* What an agent knows is for the step manager alone, so its journal is in memory. */
static int make_agent_journal(struct err *e)
{
	int fd = memfd_create("rota-journal", MFD_CLOEXEC);
	if (fd < 0 || fcntl(fd, F_SETFL, O_APPEND) < 0)
		err_sys(e, "could not make a journal");
	return fd;
}

/* On the first node of the step runs its step manager, on the others agents of it. On all nodes of a growth run agents of the step
 * manager of the attempt that it grows. */
static bool is_agent(const struct keeper *k)
{
	return k->order->node_index > 0 || k->order->spec.grows;
}

static bool make_files(struct keeper *k, struct err *e)
{
	struct keeper_manager *m = k->manager;
	if (m->journal < 0)
		m->journal = is_agent(k) ? make_agent_journal(e) : make_journal(k, e);
	if (m->journal < 0)
		return false;
	if (m->orphans < 0 && !make_orphans(k, e))
		return false;
	if (m->growths < 0)
		m->growths = memfd_create("rota-growths", MFD_CLOEXEC);
	if (m->growths < 0 || fcntl(m->growths, F_SETFL, O_APPEND) < 0)
		return err_sys(e, "could not make a file for growths");
	return m->has_store || (m->has_store = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, m->store) == 0) ||
	       err_sys(e, "could not make a store for output");
}

/* Returns the environment with one more variable, which is freed with it. */
static char **add_variable(char **environment, char *variable)
{
	size_t count = 0;
	while (environment[count])
		count++;
	environment = xrealloc(environment, (count + 2) * sizeof *environment);
	environment[count] = variable;
	environment[count + 1] = NULL;
	return environment;
}

/* Drop what the user has exported under names that only the keeper sets: the first variable of a name counts. */
static void drop_variables(char **environment)
{
	static const char *const names[] = {"ROTA_STEP_HEAD=", "ROTA_STEP_PORTS=", "ROTA_STEP_IDLE=", "ROTA_STEP_TASKS="};
	size_t kept = 0;
	for (size_t at = 0; environment[at]; at++) {
		bool drops = false;
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			drops = drops || strncmp(environment[at], names[i], strlen(names[i])) == 0;
		if (drops)
			free(environment[at]);
		else
			environment[kept++] = environment[at];
	}
	environment[kept] = NULL;
}

/* Add the shortest idle limit of its sessions, and whose it is: "3600 partition debug". */
static char **add_idle_limit(char **environment, const struct order *order)
{
	int job = order->spec.idle_timeout_s, site = order->idle_timeout_s;
	if (job > 0 && (site == 0 || job <= site))
		return add_variable(environment, xasprintf("ROTA_STEP_IDLE=%d job", job));
	if (site > 0 && order->idle_timeout_of)
		return add_variable(environment, xasprintf("ROTA_STEP_IDLE=%d %s", site, order->idle_timeout_of));
	return environment;
}

/* Returns the environment of the step manager. */
static char **make_environment(const struct keeper *k)
{
	struct task_facts facts = {k->order, &k->owner,	  k->job->conf->instance_name, k->tag, -1, k->node_file, k->step_path,
				   NULL,     k->delivered};
	char **environment = task_environment(k->environment->bytes, k->environment->size, &facts);
	drop_variables(environment);
	if (k->manager->call)
		environment = add_variable(environment, xstrdup(k->manager->call));
	if (k->order->spec.per_task)
		environment =
			add_variable(environment, xstrdup("ROTA_STEP_TASKS=1")); /* the step has tasks on all of its nodes */
	if (*k->job->conf->node_step_ports)
		environment = add_variable(environment, xasprintf("ROTA_STEP_PORTS=%s", k->job->conf->node_step_ports));
	return add_idle_limit(environment, k->order);
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
	int passed[] = {k->step_socket, m->journal, m->orphans, m->store[0], m->store[1], m->growths, keeper_nodes_file(k), key};
	char *path = daemon_beside("rota-stepmgr", e);
	if (!path || key < 0) {
		free(path);
		return key < 0 ? err_sys(e, "could not open sign.pub") : false;
	}
	char **argv = xcalloc(2, sizeof *argv);
	char **environment = make_environment(k);
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
		k->has_slow_start = true; /* all that `start` points to stays */
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
 * started again: it would start what waits. */
static bool may_run(const struct keeper *k)
{
	return k->step_socket >= 0 && k->phase < KEEPER_DONE && k->killed_at == 0 && !k->lease_lost &&
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
	k->manager->journal = k->manager->orphans = k->manager->growths = k->manager->report = -1;
}

/* Tell the step's first node through procmgrd and the database that an agent is wanted here. Connections wait meanwhile. The agent of a
 * growth is called in any case. */
static void join(struct keeper *k)
{
	static const char line[] = "{\"kind\":\"join\",\"at\":0}\n";
	struct err e;
	if (k->order->spec.grows) {
		k->manager->joins = true;
		k->manager->joins_by = INT64_MAX;
		return;
	}
	int fd = make_journal(k, &e);
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
		join(k);
	else
		start_manager(k);
}

void keeper_manager_begin(struct keeper *k)
{
	if (k->order->spec.step_manager && !is_agent(k))
		keeper_manager_want_agents(k);
}

/* Can an order for the step manager be carried out here? Makes what it needs if so. */
static bool takes_orders(struct keeper *k)
{
	if (is_agent(k) || *k->cause || !may_run(k))
		return false;
	make_manager(k);
	return true;
}

/* Have the step manager read its files. */
static void notify_manager(struct keeper *k)
{
	if (k->manager->pid == 0)
		start_manager(k);
	else
		kill(k->manager->pid, SIGTERM);
}

/* Have the step manager read the first line of the file of orphans, which `calls` and `listens` say. */
static void send_head(struct keeper *k)
{
	struct err e;
	if (make_files(k, &e) && (write_head(k, false) || err_sys(&e, "could not write the file of orphans")))
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
	    (dprintf(k->manager->growths, "%s %s %s\n", what, growth, on) >= 0 || err_sys(&e, "could not write"))) {
		crash_point(CRASH_growth_ordered);
		notify_manager(k);
	} else {
		log_warning("attempt %s does not use a node that has come, or uses one that has gone: %s", k->name, e.message);
	}
	return true;
}

/* Is the socket of the step still to come? Other nodes may have their tasks already. */
static bool may_run_later(const struct keeper *k)
{
	return k->step_socket < 0 && k->phase < KEEPER_DONE && k->killed_at == 0 && !k->lease_lost;
}

/* A step manager that was killed and could not listen at its port again calls anew. Its agent then starts again too; tasks run on. A call
 * that comes during the prologs is kept. */
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
	struct stat st;
	ssize_t size = m->report >= 0 ? read(m->report, text, sizeof text - 1) : 0;
	if (m->report >= 0)
		close(m->report);
	m->report = -1;
	text[size > 0 ? size : 0] = '\0';
	bool large = fstat(m->journal, &st) == 0 && st.st_size > JOURNAL_MOST;
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
	struct keeper_manager *m = k->manager;
	char line[256];
	if (!m || m->orphans < 0)
		return;
	if (m->orphans_end > ORPHANS_MOST && ftruncate(m->orphans, HEAD_SIZE) == 0)
		m->orphans_end = HEAD_SIZE; /* the step manager has read what it needs long ago */
	int size = snprintf(line, sizeof line, "%ld %lld %d %lld %lld %lld %lld %lld %lld %lld\n", (long)pid, (long long)started,
			    status, (long long)s->user_usec, (long long)s->system_usec, (long long)s->max_rss_kb,
			    (long long)s->minflt, (long long)s->majflt, (long long)s->nvcsw, (long long)s->nivcsw);
	if (pwrite(m->orphans, line, (size_t)size, m->orphans_end) == size)
		m->orphans_end += size;
}
