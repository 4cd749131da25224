/* rota-launcher - root's half of a node's process manager: rota-launcher --config FILE --node NAME. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/conf.h"
#include "lib/log.h"
#include "procmgr/launcher.h"

static const char usage[] = "Usage: rota-launcher [--config FILE] --node NAME [--verbose]\n"
			    "Start what signed orders say on node NAME and keep its procmgrd running.\n"
			    "SIGTERM ends it and leaves running steps alone; SIGUSR1 ends them first.\n";

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'}, {"node", required_argument, NULL, 'n'},
		{"verbose", no_argument, NULL, 'v'},	  {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},	  {NULL, 0, NULL, 0},
	};
	const char *config = NULL, *node = NULL;
	enum log_level level = LOG_LEVEL_INFO;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 'c':
			config = optarg;
			break;
		case 'n':
			node = optarg;
			break;
		case 'v':
			level = LOG_LEVEL_DEBUG;
			break;
		case 'V':
			puts("rota-launcher " ROTA_VERSION);
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
	log_open("rota-launcher", node, level);
	bool served = conf_load(&conf, config, &e) && launcher_run(&conf, node, &e);
	if (!served)
		log_error("%s", e.message);
	conf_clear(&conf);
	return served ? 0 : 1;
}
