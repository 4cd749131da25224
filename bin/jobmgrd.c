/* jobmgrd.c - the main of the job manager: configuration, keys, HTTP API and leadership on one event loop, and the shutdown.
 *
 * Called by: `rota up` or systemd.
 * Invariants:
 * - jobmgrd runs without privileges.
 * - SIGTERM ends jobmgrd within JOBMGRD_SHUTDOWN seconds. Open requests are answered in that time.
 * - jobmgrd starts without the database and without munged, and waits for both. */
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "jobmgr/gate/gate.h"
#include "jobmgr/lead/lead.h"
#include "lib/conf.h"
#include "lib/daemon.h"
#include "lib/db.h"
#include "lib/db_seen.h"
#include "lib/log.h"
#include "lib/seal.h"

enum { JOBMGRD_SHUTDOWN = 5 }; /* seconds that open requests get at shutdown */

struct jobmgrd {
	struct event_base *base;
	const struct conf *conf;
	const char *name;
	struct seal_mac_key *mac;
	struct seal_sign_key *sign;
	struct gate *gate;
	struct lead *lead;
	bool ending;
};

static const char usage[] = "usage: jobmgrd [--config FILE] [--name NAME] [--verbose]\n\n"
			    "The job manager: serves the HTTP API. One jobmgrd leads: it schedules steps and signs launch "
			    "requests.\n\n" DAEMON_NAME_OPTIONS;

static void jobmgrd_stop_loop(void *arg)
{
	struct jobmgrd *j = arg;

	event_base_loopbreak(j->base);
}

static void jobmgrd_force_end(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	log_warning("ending with unanswered requests: they did not end within %d s; their clients send them again",
		    JOBMGRD_SHUTDOWN);
	jobmgrd_stop_loop(arg);
}

static void jobmgrd_end(evutil_socket_t number, short what, void *arg)
{
	struct jobmgrd *j = arg;
	struct timeval limit = {.tv_sec = JOBMGRD_SHUTDOWN};

	(void)what;
	if (j->ending)
		return;
	j->ending = true;
	log_info("ending on signal %d", (int)number);
	lead_close(j->lead);
	j->lead = NULL;
	event_base_once(j->base, -1, EV_TIMEOUT, jobmgrd_force_end, j, &limit);
	gate_drain(j->gate, jobmgrd_stop_loop, j);
}

static void jobmgrd_set_leader(bool leader, void *arg)
{
	struct jobmgrd *j = arg;

	gate_set_leader(j->gate, leader);
}

static bool jobmgrd_load_keys(struct jobmgrd *j, struct err *e)
{
	char *mac = xasprintf("%s/auth.key", j->conf->keys_dir), *sign = xasprintf("%s/sign.key", j->conf->keys_dir);

	j->mac = seal_mac_key_load(mac, e);
	j->sign = j->mac ? seal_sign_key_load(sign, e) : NULL;
	free(mac);
	free(sign);
	return j->sign != NULL;
}

/* Raise the limit of open files to its maximum, because each client takes a descriptor. */
static void jobmgrd_raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

static bool jobmgrd_serve(struct jobmgrd *j, struct err *e)
{
	struct event *term, *interrupt;

	j->base = event_base_new();
	if (!j->base)
		return err_set(e, "could not make an event loop; raise the limit of open files (ulimit -n)");
	db_seen_keep_account(j->conf);
	j->gate = gate_open(j->base, j->conf, j->name, j->mac, j->sign, e);
	if (!j->gate)
		return false;
	j->lead = lead_open(j->base, j->conf, j->name, j->mac, j->sign, jobmgrd_set_leader, j);
	term = evsignal_new(j->base, SIGTERM, jobmgrd_end, j);
	interrupt = evsignal_new(j->base, SIGINT, jobmgrd_end, j);
	evsignal_add(term, NULL);
	evsignal_add(interrupt, NULL);
	log_info("jobmgrd %s \"%s\" started", ROTA_VERSION, j->name);
	event_base_dispatch(j->base);
	event_free(term);
	event_free(interrupt);
	return true;
}

static void jobmgrd_clear(struct jobmgrd *j)
{
	lead_close(j->lead);
	gate_close(j->gate);
	if (j->base)
		event_base_free(j->base);
	seal_mac_key_free(j->mac);
	seal_sign_key_free(j->sign);
}

static bool jobmgrd_run(const struct conf *conf, const char *name, int launcher_fd, struct err *e)
{
	struct jobmgrd j = {.conf = conf, .name = name};
	(void)launcher_fd;
	jobmgrd_raise_file_limit();
	bool good = db_conninfo_check(conf, e) && daemon_become(conf->instance_account, e) && jobmgrd_load_keys(&j, e) &&
		    daemon_lock_instance(conf, "jobmgrd", name, e) && jobmgrd_serve(&j, e);
	jobmgrd_clear(&j);
	return good;
}

int main(int argc, char **argv)
{
	static const struct daemon_program program = {"jobmgrd", usage, "name", jobmgrd_run};
	return daemon_main(&program, argc, argv);
}
