/* substep_record.c - reads the record of a sub-step from the database (substep_record.h).
 *
 * Called by: substep.c, substep_show.c.
 * Invariants:
 * - The database gets an end for every sub-step: procmgrd reports it, or the end of the attempt counts as its end. So every wait
 *   ends. */
#include "bin/rota/steps/substep_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"

enum { LOOK_MS = 100, LOOK_MOST_MS = 2000 };

/* Returns the request for the sub-steps of this number of a job. */
static json_t *record_request(const char *word)
{
	size_t step = (size_t)(strrchr(word, '.') - word);

	return json_pack("{s:[s%], s:b, s:i}", "jobs", word, step, "substeps", 1, "substep", atoi(word + step + 1));
}

/* Returns the row of the step that the word names, of its latest attempt, from an answer; NULL with an error. */
static json_t *record_choose(const json_t *answer, const char *word, struct err *e)
{
	size_t i, length = (size_t)(strrchr(word, '.') - word);
	json_t *row, *found = NULL;

	json_array_foreach (json_object_get(answer, "rows"), i, row) {
		const char *label = format_text(row, "label");

		if (strlen(label) == length && !strncmp(label, word, length))
			found = row;
	}
	if (!found) {
		err_set(e, "no sub-step %s is known", word);
		err_hint(e, "`rota acct --substeps %.*s` lists those of the job.", (int)strcspn(word, "."), word);
	}
	return json_incref(found);
}

json_t *substep_record(const char *word, struct err *e)
{
	const struct conf *conf = call_conf_try();
	json_t *answer = NULL, *row;

	if (!conf) {
		err_set(e, "no instance of Rota is configured here");
		return NULL;
	}
	if (!call_try(conf, "acct", record_request(word), &answer, e))
		return NULL;
	row = record_choose(answer, word, e);
	json_decref(answer);
	return row;
}

static struct rota_end record_end(const json_t *row)
{
	return (struct rota_end){.substep = (int)json_integer_value(json_object_get(row, "substep")),
				 .state = format_text(row, "state"),
				 .cause = format_text(row, "cause"),
				 .exit_code = (int)json_integer_value(json_object_get(row, "exit_code")),
				 .signal = (int)json_integer_value(json_object_get(row, "signal")),
				 .tasks_failed = (int)json_integer_value(json_object_get(row, "tasks_failed")),
				 .message = ""};
}

json_t *substep_record_wait(const char *word, struct rota_end *end, int *status)
{
	struct err e = {0};

	for (useconds_t pause = LOOK_MS;; pause = pause * 2 < LOOK_MOST_MS ? pause * 2 : LOOK_MOST_MS) {
		json_t *answer = call_gate_patiently("acct", record_request(word)), *row;

		if (!answer) {
			*status = call_status();
			return NULL;
		}
		row = record_choose(answer, word, &e);
		json_decref(answer);
		if (!row) {
			*status = call_refuse(&e);
			return NULL;
		}
		if (format_state_final(format_text(row, "state"))) {
			*end = record_end(row);
			return row;
		}
		json_decref(row);
		usleep(pause * 1000);
	}
}
