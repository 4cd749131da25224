/* shrink.c - `rota shrink`: gives back nodes of a running step, never its first one. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/line/verb.h"
#include "bin/rota/steps/allocation.h"
#include "bin/rota/steps/session.h"

enum { SHRINK_FORCE = 256, SHRINK_MOST = 100000 };

const struct verb_option shrink_options[] = {
	{'N', "nodes", "-N|LIST", "N nodes: those that came by rota grow first, then the last ones; or LIST: n7 or n[7-9]"},
	{SHRINK_FORCE, "force", NULL,
	 "end sub-steps and tasks of the step that run there; sub-steps run again elsewhere if --retry of rota run allows"},
	VERB_OPTION_JSON_OWN,
	{0, NULL, NULL, NULL},
};

/* Returns the number in a value such as "-2" or "2"; 0 if the value names nodes. */
static long shrink_count(const struct verb_scan *scan)
{
	struct verb_scan own = *scan;

	own.value += *own.value == '-';
	if (!isdigit((unsigned char)*own.value) || strspn(own.value, "0123456789") != strlen(own.value))
		return 0;
	return verb_number(&own, 1, SHRINK_MOST);
}

static void shrink_print(json_t *nodes, bool json)
{
	const json_t *name;
	size_t i;

	if (json) {
		char *text = json_dumps(nodes, JSON_INDENT(2));

		printf("{\"nodes\": %s}\n", text ? text : "[]");
		free(text);
		return;
	}
	json_array_foreach (nodes, i, name)
		printf("%s\n", json_string_value(name));
}

int verb_shrink(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	const char *nodes = NULL;
	bool force = false, json = false;
	struct rota_steps *steps;
	long count = 0;
	int status = EXIT_OK, number;
	json_t *gone;

	for (int id; (id = verb_next(&scan));) {
		force |= id == SHRINK_FORCE;
		json |= id == VERB_JSON;
		if (id == 'N') {
			nodes = scan.value;
			count = shrink_count(&scan);
		}
	}
	verb_operands(&scan, 0, 1);
	if (!nodes)
		verb_misuse(verb, "say what to give back: --nodes=-1 or --nodes=n7");
	if (scan.operands && !allocation_find(verb->name, argv[scan.at], &number, &status))
		return status;
	steps = session_open(verb->name, &status);
	if (!steps)
		return status;
	gone = rota_steps_shrink(steps, count > 0 ? "" : nodes, (int)count, force);
	if (gone)
		shrink_print(gone, json);
	else
		status = session_failed(verb->name, steps);
	json_decref(gone);
	rota_steps_disconnect(steps);
	return status;
}
