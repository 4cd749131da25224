/* help.c - `rota help`: lists the verbs, or prints the help of one verb. */
#include <stdio.h>

#include "bin/rota/line/verb.h"

const struct verb_option help_options[] = {{0, NULL, NULL, NULL}};

int verb_help(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	const char *near;

	while (verb_next(&scan))
		;
	verb_operands(&scan, 0, 1);
	if (!scan.operands) {
		verb_list();
		return EXIT_OK;
	}
	if (verb_find(argv[scan.at])) {
		verb_help_print(verb_find(argv[scan.at]));
		return EXIT_OK;
	}
	near = verb_like(argv[scan.at]);
	verb_misuse(scan.verb, "there is no verb \"%s\"%s%s%s", argv[scan.at], near ? "; did you mean \"" : "", near ? near : "",
		    near ? "\"?" : "");
}
