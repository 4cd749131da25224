/* launcher.c - the only program that runs as root on a node: its start, its loop, its end.
 *
 * Called by: bin/rota-launcher.c. The launcher exchanges messages with procmgrd over a socket pair and with keepers over their
 * sockets. It opens no file that a user names.
 * Invariants:
 * - Every accepted attempt gets a record `end` in the journal: from its keeper, or from the launcher if the keeper has died.
 * - The launcher may die at any time: keepers continue, and its next start reads everything from the node's folder and the
 *   journal. */
#include "procmgr/launcher/launcher.h"

#include <limits.h>
#include <poll.h>
#include <pwd.h>
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
#include "lib/text.h"
#include "lib/trust.h"
#include "procmgr/keeper/private_folders.h"
#include "procmgr/launcher/launcher_parts.h"

enum { POLL_MS = 10000, ENDING_MS = 20 };
#define NEVER INT64_MAX

struct launcher_loop {
	int signals;	 /* descriptor of signalfd */
	int64_t poll_at; /* when to look for changes that cause no event */
	int adopted;	 /* attempts of an earlier launcher that the last poll found */
};

static bool recall_accepted(const struct fields *record, void *arg)
{
	struct launcher *l = arg;
	struct record_key key;
	struct err e;
	int64_t expires, now = time(NULL);
	if (record_key_read(record, &key, &e) && fields_int(record, "expires", 0, INT64_MAX, &expires, &e) && expires > now)
		attempt_set_add(l->accepted, &key, expires, now);
	return true;
}

static bool open_journal(struct launcher *l, struct err *e)
{
	int64_t position = 0;
	l->journal = journal_open("journal", JOURNAL_WRITE, e);
	l->accepted = attempt_set_new();
	return l->journal && journal_read(l->journal, &position, recall_accepted, l, e);
}

/* Verify that only root can write the configuration file, since the file names programs that run as root. */
static bool check_conf(const struct launcher *l, struct err *e)
{
	struct stat st;
	if (geteuid() != 0)
		return true;
	if (stat(l->conf->path, &st) < 0)
		return err_sys(e, "could not check configuration file \"%s\"", l->conf->path);
	if (st.st_uid == 0 && !(st.st_mode & 022))
		return true;
	err_set(e, "configuration file \"%s\" can be changed by others than root", l->conf->path);
	return err_hint(e, "run chown root and chmod 644 on it");
}

/* The kernel cannot execute a script below /tmp or /dev/shm if the step has its own /tmp and /dev/shm. */
static bool check_private_tmp(const struct launcher *l, struct err *e)
{
	return !l->conf->launcher_private_tmp || geteuid() != 0 || !private_folders_hide(l->dir) ||
	       err_set(e, "launcher.private_tmp would hide folder \"%s\" from steps: move node.state elsewhere", l->dir);
}

static bool check_ports(const struct launcher *l, struct err *e)
{
	int first, last;
	return !*l->conf->node_step_ports || text_range(l->conf->node_step_ports, 1, 65535, &first, &last) ||
	       err_set(e, "node.step_ports is \"%s\": write a range of ports such as 60000-60999", l->conf->node_step_ports);
}

/* Open the key that verifies launch requests. It must belong to root or to instance.account, the account of
 * jobmgrd, so that procmgrd, which may run under another account, cannot replace it. */
static bool open_key(struct launcher *l, struct err *e)
{
	char *path = xasprintf("%s/sign.pub", l->conf->keys_dir);
	const struct passwd *pw = *l->conf->instance_account ? getpwnam(l->conf->instance_account) : NULL;
	if (geteuid() != 0 || trust_file(path, pw ? pw->pw_uid : geteuid(), e))
		l->key = seal_verify_key_load(path, e);
	free(path);
	return l->key != NULL;
}

/* Verify that only root can change the programs that run as root. */
static bool check_hooks(const struct launcher *l, struct err *e)
{
	const char *const paths[] = {l->conf->node_site_prolog, l->conf->node_site_epilog, NULL};
	return geteuid() != 0 || trust_programs(paths, e);
}

static bool is_in_use(const char *name)
{
	struct record_key key;
	return record_key_parse(name, &key) && (launcher_spool_has(&key) || launcher_idle_has(&key));
}

static void open_cgroups(struct launcher *l)
{
	struct err e;
	if (geteuid() != 0 || strcmp(l->conf->node_cgroup, "auto") != 0)
		return;
	const struct cgroups_options options = {l->conf->launcher_max_processes,
						strcmp(l->conf->launcher_devices, "granted") == 0};
	l->cgroups = cgroups_new(l->conf->instance_name, l->conf->node_state, l->node, &options, &e);
	if (l->cgroups)
		cgroups_remove_unused(l->cgroups, is_in_use);
	else
		log_info("steps run without cgroups, in sessions below a subreaper: %s", e.message);
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
		signal(i, SIG_DFL); /* an ignored signal would never arrive here, and tasks inherit the signal settings */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	l->loop->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return l->loop->signals >= 0 || err_sys(e, "could not make a signal descriptor");
}

static void poll_attempt(struct launcher *l, const struct record_key *key)
{
	if (launcher_child_has(l, key))
		return;
	launcher_lost_recover(l, key);
	if (launcher_spool_has(key)) {
		l->loop->adopted++;
		launcher_reservation_adopt(l, key);
	}
}

/* Recover attempts without a keeper, and count those of an earlier launcher, whose keepers are not children of this one. Returns
 * the number of attempts. */
static int poll_attempts(struct launcher *l)
{
	l->loop->adopted = 0;
	launcher_reservation_reset(l);
	return launcher_spool_each(l, poll_attempt);
}

static bool open_all(struct launcher *l, struct err *e)
{
	if (!check_conf(l, e) || !check_hooks(l, e) || !check_ports(l, e) || !launcher_agent_find(l, launcher_control_take, e) ||
	    !launcher_spool_enter(l, e) || !check_private_tmp(l, e) || !open_key(l, e) || !daemon_lock("launcher.pid", e) ||
	    !open_journal(l, e) || !open_signals(l, e) || !launcher_idle_open(l, e))
		return false;
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* makes orphaned processes of a dead keeper children of the launcher */
	open_cgroups(l);
	if (l->conf->launcher_dry_run)
		l->dry = launcher_dry_new();
	launcher_limits_write(l);
	launcher_credential_open(l);
	poll_attempts(l);
	launcher_credential_tidy(l);
	launcher_idle_clear(l);
	launcher_spool_tidy(l);
	launcher_tmpdir_sweep(l);
	launcher_reservation_open(l);
	return true;
}

static void close_all(struct launcher *l)
{
	if (l->idle)
		launcher_idle_clear(l);
	if (l->cgroups) {
		cgroups_remove_unused(l->cgroups, is_in_use);
		cgroups_remove_node(l->cgroups);
	}
	cgroups_free(l->cgroups);
	journal_close(l->journal);
	seal_verify_key_free(l->key);
	launcher_credential_free(l);
	attempt_set_free(l->accepted);
	free(l->dry);
	launcher_child_free(l->children);
	launcher_agent_free(l);
	free(l->idle);
	free(l->reservation);
	free(l->tmpdir);
	free(l->lease);
	free(l->control);
	free(l->dir);
}

static void reap_children(struct launcher *l)
{
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		if (pid == launcher_agent_pid(l))
			launcher_agent_reaped(l);
		else if (!launcher_tmpdir_reaped(l, pid))
			launcher_order_reaped(l, pid);
	}
}

static void take_signals(struct launcher *l)
{
	struct signalfd_siginfo info;
	while (read(l->loop->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
			l->stop = true;
		if (info.ssi_signo == SIGUSR1 && !l->end_all) {
			l->end_all = true;
			launcher_control_end_all(l);
		}
	}
	reap_children(l);
}

static int64_t launcher_earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns how many milliseconds the loop may sleep without an event; -1 means without limit. */
static int timeout_ms(const struct launcher *l)
{
	if (l->end_all)
		return ENDING_MS;
	int64_t next = launcher_earlier(l->loop->poll_at, launcher_agent_next(l));
	if (launcher_child_count(l) > 0 || l->loop->adopted > 0)
		next = launcher_earlier(next, launcher_lease_next(l));
	if (next == NEVER)
		return -1;
	int64_t wait = (next - clock_boot_us()) / 1000 + 1;
	return wait < 0 ? 0 : wait < INT_MAX ? (int)wait : INT_MAX;
}

/* Schedule a poll for attempts, cgroups and idle keepers that an event may leave to clean up. */
static void poll_later(struct launcher *l)
{
	l->loop->poll_at = launcher_earlier(l->loop->poll_at, clock_boot_us() + POLL_MS * 1000LL);
}

static void poll_once(struct launcher *l)
{
	struct pollfd fds[] = {
		{.fd = l->loop->signals, .events = POLLIN},
		{.fd = launcher_agent_socket(l), .events = POLLIN},
		{.fd = launcher_idle_socket(l), .events = POLLIN},
	};
	int ready = poll(fds, 3, timeout_ms(l));
	if (ready > 0)
		poll_later(l);
	if (ready > 0 && fds[2].revents) /* read idle keepers before the launch requests that can use them */
		launcher_idle_read(l);
	if (ready > 0 && fds[1].revents)
		launcher_agent_read(l, false);
	if (ready > 0 && fds[0].revents)
		take_signals(l);
	launcher_agent_poll(l);
	launcher_lease_poll(l);
}

/* Poll for changes that cause no event: attempts whose keepers are not children, cgroups that are not empty yet, idle keepers. If
 * there are none of them, only the next event schedules a poll. */
static int poll_attempts_again(struct launcher *l)
{
	launcher_idle_trim(l);
	if (launcher_control_is_end_unsent(l))
		launcher_control_end_all(l);
	bool left = l->cgroups && !l->end_all && cgroups_remove_unused(l->cgroups, is_in_use);
	int count = poll_attempts(l);
	l->loop->poll_at = NEVER;
	if (left || l->loop->adopted > 0 || launcher_idle_count(l) > 0)
		poll_later(l);
	return count;
}

static void launcher_serve(struct launcher *l)
{
	poll_later(l);
	while (!l->stop) {
		poll_once(l);
		if ((clock_boot_us() >= l->loop->poll_at || l->end_all) && poll_attempts_again(l) == 0 && l->end_all)
			break;
	}
}

bool launcher_run(const struct conf *conf, const char *node, struct err *e)
{
	if (!*node || *node == '.' || strchr(node, '/'))
		return err_set(e, "\"%s\" is not a node name", node);
	struct launcher_loop loop = {.poll_at = NEVER};
	struct launcher l = {.conf = conf,
			     .node = node,
			     .loop = &loop,
			     .children = launcher_child_new(),
			     .reservation = launcher_reservation_new(),
			     .tmpdir = launcher_tmpdir_new(),
			     .lease = launcher_lease_new(),
			     .control = launcher_control_new()};
	bool served = open_all(&l, e);
	if (served) {
		log_info("serving node \"%s\" in \"%s\"%s", node, l.dir, l.cgroups ? ", with cgroups" : "");
		launcher_serve(&l);
		launcher_dry_end_all(&l);
		l.stop = true;
		launcher_agent_stop(&l);
		log_info("%s", l.end_all ? "the launcher ends; every step has been ended"
					 : "the launcher ends; running steps continue");
	}
	close_all(&l);
	return served;
}
