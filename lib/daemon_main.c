/* daemon_main.c - starts a daemon: command line, log, configuration.
 *
 * Called by: the mains in bin/.
 * Invariants:
 * - A wrong command line ends with status 2 before anything is opened.
 * - A failure is logged once, with its hint, and ends with status 1. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/daemon.h"
#include "lib/log.h"
#include "lib/standard.h"

struct line {
	const char *config, *name;
	int launcher_fd, virtual; /* virtual: number of virtual nodes; -1: as the configuration says */
	bool verbose, dry_run;
};

/* Parse the command line of a daemon. Returns the exit status, or -1 if the daemon is to start. */
static int line_read(const struct daemon_program *program, struct line *line, int argc, char **argv)
{
	const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{program->names, required_argument, NULL, 'n'},
		{"launcher-fd", required_argument, NULL, 'f'},
		{"dry-run", no_argument, NULL, 'd'},
		{"virtual", required_argument, NULL, 'N'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == 'c')
			line->config = optarg;
		else if (c == 'n')
			line->name = optarg;
		else if (c == 'f')
			line->launcher_fd = atoi(optarg);
		else if (c == 'v')
			line->verbose = true;
		else if (c == 'd' && strcmp(program->names, "node") == 0)
			line->dry_run = true;
		else if (c == 'N' && strcmp(program->names, "node") == 0)
			line->virtual = atoi(optarg);
		else if (c == 'V')
			return printf("%s %s\n", program->name, ROTA_VERSION) < 0;
		else
			return fputs(program->usage, c == 'h' ? stdout : stderr) < 0 || c != 'h' ? 2 : 0;
	}
	bool named = line->name ? !strchr(line->name, '/') : strcmp(program->names, "name") == 0;
	if (named && optind == argc)
		return -1;
	fputs(program->usage, stderr);
	return 2;
}

static char *default_name(void)
{
	char host[256] = "localhost";
	gethostname(host, sizeof host - 1);
	return xasprintf("%s:%d", host, (int)getpid());
}

/* Let options of the command line override the configuration. */
static void line_overrule(const struct line *line, struct conf *conf)
{
	if (line->virtual >= 0)
		conf->launcher_virtual = line->virtual;
	conf->launcher_dry_run |= line->dry_run || conf->launcher_virtual > 0;
}

int daemon_main(const struct daemon_program *program, int argc, char **argv)
{
	struct line line = {.launcher_fd = 3, .virtual = -1};
	standard_files();
	int status = line_read(program, &line, argc, argv);
	if (status >= 0)
		return status;
	struct conf conf = {0};
	struct err e = {0};
	char *name = line.name ? xstrdup(line.name) : default_name();
	bool is_node = strcmp(program->names, "node") == 0;
	log_open(program->name, is_node ? name : NULL, line.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	signal(SIGPIPE, SIG_IGN);
	bool good = conf_load(&conf, line.config, &e);
	line_overrule(&line, &conf);
	good = good && program->run(&conf, name, line.launcher_fd, &e);
	if (!good)
		log_error("%s%s%s", e.message, *e.hint ? "; " : "", e.hint);
	conf_clear(&conf);
	free(name);
	return good ? 0 : 1;
}

bool daemon_lock_instance(const struct conf *conf, const char *program, const char *name, struct err *e)
{
	if (!*conf->instance_home)
		return true;
	char *path = xasprintf("%s/run/%s-%s.pid", conf->instance_home, program, name);
	bool locked = daemon_lock(path, e);
	free(path);
	return locked;
}
