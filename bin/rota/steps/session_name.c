/* session_name.c - finds running sessions of the caller by their names (session_name.h).
 *
 * Called by: verb/run.c, verb/attach.c.
 * Invariants:
 * - Outside a job, sessions are found in the database, where a new one appears after about a second. */
#include "bin/rota/steps/session_name.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "bin/rota/print/format.h"
#include "bin/rota/steps/allocation.h"
#include "bin/rota/steps/run_one.h"
#include "bin/rota/steps/session.h"
#include "lib/err.h"

/* Returns the sessions of this name in the step of this process, as JOB.STEP.NUMBER; NULL with an error. */
static json_t *names_inside(const char *verb, const char *name, int *status)
{
	struct rota_steps *steps = session_open(verb, status);
	json_t *list = steps ? rota_steps_list(steps) : NULL, *found = list ? json_array() : NULL, *row;
	size_t i;

	json_array_foreach (list, i, row) {
		if (!strcmp(format_text(row, "state"), "running") && !strcmp(format_text(row, "session"), name))
			json_array_append_new(
				found, json_string(session_label((int)json_integer_value(json_object_get(row, "substep")))));
	}
	if (steps && !list)
		*status = session_failed(verb, steps);
	if (steps)
		rota_steps_disconnect(steps);
	json_decref(list);
	return found;
}

/* Returns the running sessions of this name in all jobs of this user, as JOB.STEP.NUMBER; NULL with an error. */
static json_t *names_outside(const char *name, int *status)
{
	json_t *answer =
		call_gate("acct", json_pack("{s:b, s:[s], s:[s]}", "sessions", true, "user", words_me(), "states", "running"));
	json_t *found = answer ? json_array() : NULL, *row;
	size_t i;

	if (!answer)
		*status = call_status();
	json_array_foreach (json_object_get(answer, "rows"), i, row) {
		if (!strcmp(format_text(row, "session"), name))
			json_array_append_new(found,
					      json_sprintf("%s.%lld", format_text(row, "label"),
							   (long long)json_integer_value(json_object_get(row, "substep"))));
	}
	json_decref(answer);
	return found;
}

char *session_name_find(const char *verb, const char *name, int *status)
{
	json_t *found = session_is_inside() ? names_inside(verb, name, status) : names_outside(name, status), *word;
	size_t count = json_array_size(found), i;
	char *only = count == 1 ? xstrdup(json_string_value(json_array_get(found, 0))) : NULL;

	if (count > 1) {
		fprintf(stderr, "rota %s: several running sessions are named \"%s\":", verb, name);
		json_array_foreach (found, i, word)
			fprintf(stderr, "%s %s", i ? "," : "", json_string_value(word));
		fprintf(stderr, "\nhint: `rota attach %s` joins the first of them.\n",
			json_string_value(json_array_get(found, 0)));
		*status = EXIT_REFUSED;
	}
	json_decref(found);
	return only;
}

bool session_name_join(const char *verb, const char *name, bool detach, int *status)
{
	struct rota_attach how = {.mode = "live", .input = true};
	struct rota_steps *steps;
	char *word = session_name_find(verb, name, status);
	int number;

	if (!word)
		return *status != EXIT_OK;
	fprintf(stderr, "rota %s: session %s runs already as %s%s\n", verb, name, word, detach ? "" : "; attaching to it");
	if (detach)
		puts(word);
	else if ((session_is_inside() && (number = atoi(strrchr(word, '.') + 1))) ||
		 allocation_find(verb, word, &number, status)) {
		steps = session_open(verb, status);
		if (steps) {
			*status = run_attach(steps, number, &how);
			rota_steps_disconnect(steps);
		}
	}
	free(word);
	return true;
}
