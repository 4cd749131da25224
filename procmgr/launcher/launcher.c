/* launcher.c - the one program that runs as root on a node: its start, its loop, its end.
 *
 * bin/rota-launcher.c calls launcher_run. It speaks to procmgrd over a socket pair, to keepers over their sockets, to nobody
 * else; it opens no file that a user names. What always holds: every attempt that was believed ends in the journal with `end`,
 * whether its keeper writes that or, the keeper having died, the launcher; and the launcher itself may die at any moment, since
 * keepers go on without it and its next start finds everything in the folder and the journal. */
#include "procmgr/launcher/launcher.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/daemon.h"
#include "lib/log.h"
#include "procmgr/launcher/launcher_parts.h"

enum { LOOK_MS = 10000, ENDING_MS = 20 };
#define NEVER INT64_MAX

static bool note_used(const struct fields *record, void *arg)
{
	struct launcher *l = arg;
	struct record_key key;
	struct err e;
	int64_t expires, now = time(NULL);
	const char *kind = fields_get(record, "kind");
	if (kind && strcmp(kind, "used") == 0 && record_key_read(record, &key, &e) &&
	    fields_int(record, "expires", 0, INT64_MAX, &expires, &e) && expires > now)
		attempt_set_add(l->accepted, &key, expires, now);
	return true;
}

static bool open_journal(struct launcher *l, struct err *e)
{
	int64_t position = 0;
	l->journal = journal_open("journal", JOURNAL_WRITE, e);
	l->accepted = attempt_set_new();
	return l->journal && journal_read(l->journal, &position, note_used, l, e);
}

/* The configuration names programs that run as root. */
static bool check_conf(const struct launcher *l, struct err *e)
{
	struct stat st;
	if (geteuid() != 0)
		return true;
	if (stat(l->conf->path, &st) < 0)
		return err_sys(e, "could not look at \"%s\"", l->conf->path);
	if (st.st_uid == 0 && !(st.st_mode & 022))
		return true;
	err_set(e, "\"%s\" can be changed by others than root", l->conf->path);
	return err_hint(e, "chown root and chmod 644 it");
}

static bool open_key(struct launcher *l, struct err *e)
{
	char *path = xasprintf("%s/sign.pub", l->conf->keys_dir);
	l->key = seal_verify_key_load(path, e);
	free(path);
	return l->key != NULL;
}

static bool is_in_use(const char *name)
{
	struct record_key key;
	return record_key_parse(name, &key) && (launcher_spool_has(&key) || launcher_spare_has(&key));
}

static void open_fence(struct launcher *l)
{
	struct err e;
	if (geteuid() != 0 || strcmp(l->conf->node_cgroup, "auto") != 0)
		return;
	l->fence = fence_new(l->conf->instance_name, l->conf->node_state, l->node, &e);
	if (l->fence)
		fence_tidy(l->fence, is_in_use);
	else
		log_info("no control groups, sessions and subreaper only: %s", e.message);
}

static bool open_signals(struct launcher *l, struct err *e)
{
	static const int wanted[] = {SIGTERM, SIGINT, SIGUSR1, SIGCHLD};
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		sigaddset(&set, wanted[i]);
	sigprocmask(SIG_SETMASK, &set, NULL);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL); /* what our parent ignored would never arrive, and tasks start with our settings */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return l->signals >= 0 || err_sys(e, "could not make a signal descriptor");
}

static void look_at(struct launcher *l, const struct record_key *key)
{
	if (launcher_child_has(l, key))
		return;
	launcher_lost_recover(l, key);
	if (launcher_spool_has(key)) {
		l->adopted++;
		launcher_room_adopt(l, key);
	}
}

/* Keepers of an earlier launcher are not our children. Returns how many attempts there are. */
static int look(struct launcher *l)
{
	l->adopted = 0;
	l->room_adopted = 0;
	l->room_unknown = false;
	return launcher_spool_each(l, look_at);
}

static bool open_all(struct launcher *l, struct err *e)
{
	if (!check_conf(l, e) || !launcher_agent_find(l, launcher_control_take, e) || !open_key(l, e) || !launcher_spool_enter(l, e) ||
	    !daemon_lock("launcher.pid", e) || !open_journal(l, e) || !open_signals(l, e) || !launcher_spare_open(l, e))
		return false;
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* what a dead keeper leaves behind comes to us */
	open_fence(l);
	if (l->conf->launcher_dry_run)
		l->dry = launcher_dry_new();
	launcher_limits_write(l);
	look(l);
	launcher_spare_clear(l);
	launcher_spool_tidy(l);
	launcher_room_open(l);
	return true;
}

static void close_all(struct launcher *l)
{
	launcher_spare_clear(l);
	if (l->fence) {
		fence_tidy(l->fence, is_in_use);
		fence_leave(l->fence);
	}
	fence_free(l->fence);
	journal_close(l->journal);
	seal_verify_key_free(l->key);
	attempt_set_free(l->accepted);
	free(l->dry);
	free(l->children);
	free(l->agent_path);
	free(l->dir);
}

static void reap(struct launcher *l)
{
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		if (pid == l->agent_pid)
			launcher_agent_reaped(l);
		else
			launcher_order_reaped(l, pid);
	}
}

static void take_signals(struct launcher *l)
{
	struct signalfd_siginfo info;
	while (read(l->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
			l->stop = true;
		if (info.ssi_signo == SIGUSR1 && !l->end_all) {
			l->end_all = true;
			launcher_control_end_all(l);
		}
	}
	reap(l);
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Until when nothing has to be done that nobody wakes us for; -1: for as long as that. */
static int timeout_ms(const struct launcher *l)
{
	if (l->end_all)
		return ENDING_MS;
	int64_t next = l->look_at;
	if (l->agent_pid == 0)
		next = sooner(next, l->agent_start_at);
	if (l->child_count > 0 || l->adopted > 0)
		next = sooner(next, l->lease_at);
	if (next == NEVER)
		return -1;
	int64_t wait = (next - clock_boot_us()) / 1000 + 1;
	return wait < 0 ? 0 : wait < INT_MAX ? (int)wait : INT_MAX;
}

/* What ends or is left behind may leave something to be tidied up later. */
static void look_later(struct launcher *l)
{
	l->look_at = sooner(l->look_at, clock_boot_us() + LOOK_MS * 1000LL);
}

static void turn(struct launcher *l)
{
	struct pollfd fds[] = {
		{.fd = l->signals, .events = POLLIN},
		{.fd = l->agent_socket, .events = POLLIN},
		{.fd = l->spare_ends[0], .events = POLLIN},
	};
	int ready = poll(fds, 3, timeout_ms(l));
	if (ready > 0)
		look_later(l);
	if (ready > 0 && fds[2].revents) /* before the orders that can use them */
		launcher_spare_read(l);
	if (ready > 0 && fds[1].revents)
		launcher_agent_read(l, false);
	if (ready > 0 && fds[0].revents)
		take_signals(l);
	launcher_agent_turn(l);
	launcher_lease_turn(l);
}

/* Those that are not our children are looked at from time to time, as is what may be left of those that have ended; where there is
 * neither, the next thing that happens brings the next look. */
static int look_again(struct launcher *l)
{
	launcher_spare_trim(l);
	if (l->end_again)
		launcher_control_end_all(l);
	bool left = l->fence && !l->end_all && fence_tidy(l->fence, is_in_use);
	int count = look(l);
	l->look_at = NEVER;
	if (left || l->adopted > 0 || l->spare_count > 0)
		look_later(l);
	return count;
}

static void serve(struct launcher *l)
{
	look_later(l);
	while (!l->stop) {
		turn(l);
		if ((clock_boot_us() >= l->look_at || l->end_all) && look_again(l) == 0 && l->end_all)
			break;
	}
}

bool launcher_run(const struct conf *conf, const char *node, struct err *e)
{
	struct launcher l = {.conf = conf, .node = node, .agent_socket = -1, .look_at = NEVER};
	if (!*node || *node == '.' || strchr(node, '/'))
		return err_set(e, "\"%s\" is not a node name", node);
	bool served = open_all(&l, e);
	if (served) {
		log_info("serving node \"%s\" in \"%s\"%s", node, l.dir, l.fence ? ", with control groups" : "");
		serve(&l);
		launcher_dry_end_all(&l);
		launcher_agent_stop(&l);
		log_info("%s", l.end_all ? "every step has been ended" : "steps under way go on");
	}
	close_all(&l);
	return served;
}
