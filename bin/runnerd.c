/* runnerd.c - the script runner's main: a warden, and one loop with the runner on it.
 *
 * Started by `rota up` or systemd. What always holds: it is unprivileged and keeps nothing; SIGTERM ends it and what it runs at once. */
#include <event2/event.h>
#include <signal.h>

#include "lib/conf.h"
#include "lib/daemon.h"
#include "lib/log.h"
#include "runner/runner.h"
#include "runner/warden.h"

static const char usage[] = "usage: runnerd [--config FILE] [--name NAME]\n\n"
			    "The script runner: runs the controller's prolog and epilog of each attempt of a step.\n\n"
			    "  --config FILE  configuration (else as every program of Rota finds it)\n"
			    "  --name NAME    name of this one among several (else host:pid)\n"
			    "  --verbose      log more\n"
			    "  --help         this\n"
			    "  --version      version\n";

static void told_to_end(evutil_socket_t number, short what, void *arg)
{
	(void)what;
	log_info("ending on signal %d", (int)number);
	event_base_loopbreak(arg);
}

static bool serve(const struct conf *conf, const char *name, struct err *e)
{
	struct event_base *base = event_base_new();
	struct event *term, *interrupt;
	struct runner *runner;

	if (!base)
		return err_set(e, "could not make an event loop");
	runner = runner_open(base, conf, name);
	term = evsignal_new(base, SIGTERM, told_to_end, base);
	interrupt = evsignal_new(base, SIGINT, told_to_end, base);
	evsignal_add(term, NULL);
	evsignal_add(interrupt, NULL);
	log_info("runnerd %s \"%s\" started", ROTA_VERSION, name);
	event_base_dispatch(base);
	runner_close(runner);
	event_free(term);
	event_free(interrupt);
	event_base_free(base);
	return true;
}

static bool run(const struct conf *conf, const char *name, int launcher_fd, struct err *e)
{
	(void)launcher_fd;
	return daemon_become(conf->instance_account, e) && warden_start(e) && daemon_lock_instance(conf, "runnerd", name, e) &&
	       serve(conf, name, e);
}

int main(int argc, char **argv)
{
	static const struct daemon_program program = {"runnerd", usage, "name", run};
	return daemon_main(&program, argc, argv);
}
