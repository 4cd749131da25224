/* why.c - `rota why`: prints why steps wait, one line for each unmet condition. */
#include <stdio.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"

const struct verb_option why_options[] = {
	VERB_OPTION_STALE,
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

/* Print a step: its state, its expected start, and its unmet conditions. */
static void step_print(const json_t *step)
{
	const json_t *condition, *expected = json_object_get(step, "expected_at");
	const char *state = format_text(step, "state"), *colour = table_colours() ? format_state_colour(state) : "";
	size_t i;

	printf("%s: %s%s%s%s%s", format_text(step, "label"), colour[0] ? "\033[" : "", colour, colour[0] ? "m" : "", state,
	       colour[0] ? "\033[0m" : "");
	if (json_is_string(expected))
		printf(", expected to start %s", format_time(expected).s);
	putchar('\n');
	json_array_foreach (json_object_get(step, "conditions"), i, condition)
		printf("  %s: %s\n", format_text(condition, "kind"), format_text(condition, "message"));
}

int verb_why(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	const json_t *step;
	bool json = false;
	json_t *answer;
	size_t i;

	for (int id; (id = verb_next(&scan));) {
		json |= id == VERB_JSON;
		if (id == VERB_STALE)
			call_use_stale();
	}
	verb_operands(&scan, 1, -1);
	answer = call_gate("why", json_pack("{so}", "jobs", words_operands(&scan)));
	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		json_array_foreach (json_object_get(answer, "steps"), i, step)
			step_print(step);
	json_decref(answer);
	return EXIT_OK;
}
