/* procmgrd - the unprivileged half of a node's process manager, started by rota-launcher. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/conf.h"
#include "lib/log.h"
#include "procmgr/agent.h"

static const char usage[] = "Usage: procmgrd [--config FILE] --node NAME [--launcher-fd N] [--verbose]\n"
			    "Take the orders of node NAME from the database to its launcher, and its journal back.\n"
			    "rota-launcher starts it, with a socket as descriptor N (3).\n";

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"node", required_argument, NULL, 'n'},
		{"launcher-fd", required_argument, NULL, 'f'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	const char *config = NULL, *node = NULL;
	enum log_level level = LOG_LEVEL_INFO;
	int fd = 3;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 'c':
			config = optarg;
			break;
		case 'n':
			node = optarg;
			break;
		case 'f':
			fd = atoi(optarg);
			break;
		case 'v':
			level = LOG_LEVEL_DEBUG;
			break;
		case 'V':
			puts("procmgrd " ROTA_VERSION);
			return 0;
		default:
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	if (!node || optind < argc) {
		fputs(usage, stderr);
		return 2;
	}
	struct conf conf = {0};
	struct err e;
	log_open("procmgrd", node, level);
	bool served = conf_load(&conf, config, &e) && agent_run(&conf, node, fd, &e);
	if (!served)
		log_error("%s", e.message);
	conf_clear(&conf);
	return served ? 0 : 1;
}
