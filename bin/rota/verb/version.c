/* version.c - `rota version`: prints the version of this program. */
#include <stdio.h>

#include "bin/rota/line/verb.h"

const struct verb_option version_options[] = {
	VERB_OPTION_JSON_OWN,
	{0, NULL, NULL, NULL},
};

int verb_version(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	bool json = false;

	while (verb_next(&scan))
		json = true;
	verb_operands(&scan, 0, 0);
	if (json)
		printf("{\"version\":\"%s\"}\n", ROTA_VERSION);
	else
		printf("rota %s\n", ROTA_VERSION);
	return EXIT_OK;
}
