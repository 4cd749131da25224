/* nodemgrd.c - the node manager's main: one loop with a judge on it.
 *
 * Started by `rota up` or systemd. What always holds: it is unprivileged and keeps nothing; SIGTERM ends it at once. */
#include <event2/event.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/conf.h"
#include "lib/daemon.h"
#include "lib/log.h"
#include "nodemgr/judge.h"

static void usage(FILE *to)
{
	fprintf(to, "usage: nodemgrd [--config FILE] [--name NAME]\n\n"
		    "The node manager: judges nodes by their leases and by what was found on them.\n\n"
		    "  --config FILE  configuration (else as every program of Rota finds it)\n"
		    "  --name NAME    name of this one among several (else host:pid)\n"
		    "  --help         this\n"
		    "  --version      version\n");
}

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
	struct judge *judge;

	if (!base)
		return err_set(e, "could not make an event loop");
	judge = judge_open(base, conf, name);
	term = evsignal_new(base, SIGTERM, told_to_end, base);
	interrupt = evsignal_new(base, SIGINT, told_to_end, base);
	evsignal_add(term, NULL);
	evsignal_add(interrupt, NULL);
	log_info("nodemgrd %s \"%s\" started", ROTA_VERSION, name);
	event_base_dispatch(base);
	judge_close(judge);
	event_free(term);
	event_free(interrupt);
	event_base_free(base);
	return true;
}

static bool run(struct conf *conf, const char *config, const char *name, struct err *e)
{
	char *path;
	bool good;

	if (!conf_load(conf, config, e) || !daemon_become(conf->instance_account, e))
		return false;
	if (*conf->instance_home) {
		path = xasprintf("%s/run/nodemgrd-%s.pid", conf->instance_home, name);
		good = daemon_lock(path, e);
		free(path);
		if (!good)
			return false;
	}
	return serve(conf, name, e);
}

static char *default_name(void)
{
	char host[256] = "localhost";

	gethostname(host, sizeof host - 1);
	return xasprintf("%s:%d", host, (int)getpid());
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"name", required_argument, NULL, 'n'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		{NULL, 0, NULL, 0},
	};
	struct conf conf = {0};
	const char *config = NULL;
	char *name = NULL;
	struct err e = {0};
	bool good;

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == 'c') {
			config = optarg;
		} else if (c == 'n') {
			free(name);
			name = xstrdup(optarg);
		} else if (c == 'v') {
			puts("nodemgrd " ROTA_VERSION);
			return 0;
		} else {
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	if (!name)
		name = default_name();
	if (strchr(name, '/') || optind < argc) {
		usage(stderr);
		return 2;
	}
	log_open("nodemgrd", NULL, getenv("ROTA_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	signal(SIGPIPE, SIG_IGN);
	good = run(&conf, config, name, &e);
	if (!good)
		log_error("%s%s%s", e.message, *e.hint ? "; " : "", e.hint);
	conf_clear(&conf);
	free(name);
	return good ? 0 : 1;
}
