/* jobmgrd.c - the job manager's main: configuration, keys, gate and leadership on one loop, and the way out.
 *
 * Started by `rota up` or systemd. What always holds: it is unprivileged; SIGTERM ends it within JOBMGRD_PATIENCE, with every
 * request under way answered if that is possible; a start needs neither the database nor munged to be there already. */
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "jobmgr/gate/gate.h"
#include "jobmgr/lead/lead.h"
#include "lib/conf.h"
#include "lib/daemon.h"
#include "lib/log.h"
#include "lib/seal.h"

enum { JOBMGRD_PATIENCE = 5 }; /* seconds for requests under way at the end */

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
			    "The job manager: serves the gate, schedules while it leads, signs launch orders.\n\n"
			    "Options:\n"
			    "  --config FILE  configuration (else as every program of Rota finds it)\n"
			    "  --name NAME    name of this one among several (else host:pid)\n"
			    "  --verbose      log more\n"
			    "  --help         print this help\n"
			    "  --version      print the version\n";

static void ended(void *arg)
{
	struct jobmgrd *j = arg;

	event_base_loopbreak(j->base);
}

static void out_of_patience(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	log_warning("requests were under way for more than %d s", JOBMGRD_PATIENCE);
	ended(arg);
}

static void told_to_end(evutil_socket_t number, short what, void *arg)
{
	struct jobmgrd *j = arg;
	struct timeval patience = {.tv_sec = JOBMGRD_PATIENCE};

	(void)what;
	if (j->ending)
		return;
	j->ending = true;
	log_info("ending on signal %d", (int)number);
	lead_close(j->lead);
	j->lead = NULL;
	event_base_once(j->base, -1, EV_TIMEOUT, out_of_patience, j, &patience);
	gate_drain(j->gate, ended, j);
}

static void leadership_changed(bool leader, void *arg)
{
	struct jobmgrd *j = arg;

	gate_set_leader(j->gate, leader);
}

static bool load_keys(struct jobmgrd *j, struct err *e)
{
	char *mac = xasprintf("%s/auth.key", j->conf->keys_dir), *sign = xasprintf("%s/sign.key", j->conf->keys_dir);

	j->mac = seal_mac_key_load(mac, e);
	j->sign = j->mac ? seal_sign_key_load(sign, e) : NULL;
	free(mac);
	free(sign);
	return j->sign != NULL;
}

/* As many open files as we may have: each client is one. */
static void raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

static bool serve(struct jobmgrd *j, struct err *e)
{
	struct event *term, *interrupt;

	j->base = event_base_new();
	if (!j->base)
		return err_set(e, "could not make an event loop");
	j->gate = gate_open(j->base, j->conf, j->mac, e);
	if (!j->gate)
		return false;
	j->lead = lead_open(j->base, j->conf, j->name, j->mac, j->sign, leadership_changed, j);
	term = evsignal_new(j->base, SIGTERM, told_to_end, j);
	interrupt = evsignal_new(j->base, SIGINT, told_to_end, j);
	evsignal_add(term, NULL);
	evsignal_add(interrupt, NULL);
	log_info("jobmgrd %s \"%s\" started", ROTA_VERSION, j->name);
	event_base_dispatch(j->base);
	event_free(term);
	event_free(interrupt);
	return true;
}

static void clear(struct jobmgrd *j)
{
	lead_close(j->lead);
	gate_close(j->gate);
	if (j->base)
		event_base_free(j->base);
	seal_mac_key_free(j->mac);
	seal_sign_key_free(j->sign);
}

static bool run(const struct conf *conf, const char *name, int launcher_fd, struct err *e)
{
	struct jobmgrd j = {.conf = conf, .name = name};
	(void)launcher_fd;
	raise_files();
	bool good = daemon_become(conf->instance_account, e) && load_keys(&j, e) &&
		    daemon_lock_instance(conf, "jobmgrd", name, e) && serve(&j, e);
	clear(&j);
	return good;
}

int main(int argc, char **argv)
{
	static const struct daemon_program program = {"jobmgrd", usage, "name", run};
	return daemon_main(&program, argc, argv);
}
