/* migrate.c - `rota migrate`: moves jobs that run to other nodes. */
#include <stdio.h>
#include <stdlib.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/evacuation.h"

enum { MIGRATE_TO = 256, MIGRATE_EXCLUDE, MIGRATE_DRY_RUN };

const struct verb_option migrate_options[] = {
	{MIGRATE_TO, "to", "LIST", "start again only on these nodes, such as n[1-4]"},
	{MIGRATE_EXCLUDE, "exclude", "LIST", "do not start again on these nodes"},
	{MIGRATE_DRY_RUN, "dry-run", NULL, "only print what would be done"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

int verb_migrate(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	json_t *request = json_object(), *jobs = json_array(), *answer;
	bool json = false, dry = false;

	for (int id; (id = verb_next(&scan));) {
		json |= id == VERB_JSON;
		dry |= id == MIGRATE_DRY_RUN;
		if (id == MIGRATE_TO || id == MIGRATE_EXCLUDE)
			json_object_set_new(request, id == MIGRATE_TO ? "to" : "exclude", json_string(scan.value));
	}
	verb_operands(&scan, 1, argc);
	for (int i = scan.at; i < argc; i++)
		json_array_append_new(jobs, json_string(argv[i]));
	json_object_set_new(request, "jobs", jobs);
	json_object_set_new(request, "dry_run", json_boolean(dry));
	answer = call_gate("migrate", request);
	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		evacuation_print_plan(answer);
	json_decref(answer);
	return EXIT_OK;
}
