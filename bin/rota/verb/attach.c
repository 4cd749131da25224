/* attach.c - `rota attach`: joins the output of a sub-step that runs, or its terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/line/verb.h"
#include "bin/rota/steps/allocation.h"
#include "bin/rota/steps/run_one.h"
#include "bin/rota/steps/session.h"
#include "bin/rota/steps/session_name.h"

enum { ATTACH_TEXT = 256, ATTACH_FOLLOW, ATTACH_READ_ONLY, LINES_MOST = 10000 };

const struct verb_option attach_options[] = {
	{ATTACH_TEXT, "text", NULL, "print the screen of a terminal as plain text, and end"},
	{ATTACH_FOLLOW, "follow", NULL, "print the screen as --text does, then each further line"},
	{'n', "lines", "N", "with --text or --follow: lines before the screen (default: 0)"},
	{'i', "input", NULL, "give a sub-step without a terminal the standard input of this command"},
	{ATTACH_READ_ONLY, "read-only", NULL, "send no keys to a terminal"},
	{0, NULL, NULL, NULL},
};

/* Returns the number of the last running sub-step or, if `wanted` is not 0, `wanted` if the step has this sub-step; 0 if there is
 * none. Sets *terminal to whether the sub-step has a terminal. */
static int last_running(struct rota_steps *steps, int wanted, bool *terminal)
{
	json_t *list = rota_steps_list(steps), *row;
	int last = 0;
	size_t i;

	json_array_foreach (list, i, row) {
		const char *state = json_string_value(json_object_get(row, "state"));
		int number = (int)json_integer_value(json_object_get(row, "substep"));

		if ((wanted && number != wanted) || (!wanted && (!state || strcmp(state, "running") != 0)))
			continue;
		last = number;
		*terminal = json_is_true(json_object_get(row, "terminal"));
	}
	json_decref(list);
	return last;
}

static int no_session(const char *name)
{
	fprintf(stderr,
		"rota attach: no session \"%s\" of yours runs\nhint: `rota acct --sessions --me --states=running` lists those "
		"that do.\n",
		name);
	return EXIT_REFUSED;
}

int verb_attach(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct rota_attach how = {.mode = "live"};
	bool read_only = false, input = false, terminal = false;
	struct rota_steps *steps;
	int status = EXIT_OK, number;
	char *word;

	for (int id; (id = verb_next(&scan));) {
		if (id == 'n')
			how.lines = (int)verb_number(&scan, 0, LINES_MOST);
		else if (id == ATTACH_TEXT || id == ATTACH_FOLLOW)
			how.mode = id == ATTACH_TEXT ? "text" : "follow";
		read_only |= id == ATTACH_READ_ONLY;
		input |= id == 'i';
	}
	verb_operands(&scan, 1, 1);
	word = argv[scan.at];
	if (run_options_session_is_valid(word) && !(word = session_name_find(verb->name, word, &status)))
		return status ? status : no_session(argv[scan.at]);
	if (session_is_inside() && word != argv[scan.at])
		word = strrchr(word, '.');
	if (!allocation_find(verb->name, word, &number, &status))
		return status;
	steps = session_open(verb->name, &status);
	if (!steps)
		return status;
	number = last_running(steps, number, &terminal);
	how.input = !strcmp(how.mode, "live") && (terminal ? !read_only : input);
	if (number) {
		status = run_attach(steps, number, &how);
	} else {
		fprintf(stderr, "rota attach: no sub-step of %s runs\nhint: `rota steps %s` lists them.\n", argv[scan.at],
			argv[scan.at]);
		status = EXIT_REFUSED;
	}
	rota_steps_disconnect(steps);
	return status;
}
