/* checkpoint_call.c - reports to jobmgrd about the checkpoints of the attempt in which this process runs.
 *
 * Called by: checkpoint.c, checkpoint_start.c.
 * Invariants:
 * - Each report may be sent twice: the database takes the second one for the first. */
#include "procmgr/checkpoint/checkpoint_call.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/conf.h"
#include "lib/http.h"

enum { PAUSE_MS = 200, PAUSE_MOST_MS = 5000 };

/* Set the error from jobmgrd's answer to a refused report: the reason, and what to do about it. */
static void call_refused(const json_t *answer, int status, struct err *e)
{
	const json_t *error = json_object_get(answer, "error");
	const char *message = json_string_value(json_object_get(error, "message")),
		   *hint = json_string_value(json_object_get(error, "hint"));
	err_set(e, "%s%s%s", message ? message : "jobmgrd refused the report", hint ? "; " : "", hint ? hint : "");
	if (!message)
		err_set(e, "jobmgrd refused the report with HTTP status %d", status);
}

/* Send one report. Returns the answer; NULL with an error. *again becomes true if jobmgrd or the database could not be
 * reached. */
static json_t *call_once(const struct conf *conf, const char *body, bool *again, struct err *e)
{
	struct http *h = http_open(conf, e);
	char *text = NULL;
	size_t size;
	int status = 0;
	bool answered = h && http_request(h, "POST", "/v1/checkpoint_report", body, strlen(body), &status, &text, &size, e);
	json_t *answer = answered ? json_loads(text, 0, NULL) : NULL;
	*again = !answered || status >= 500 || status == 429;
	if (h)
		http_close(h);
	free(text);
	if (answer && status < 300)
		return answer;
	if (answered)
		call_refused(answer, status, e);
	json_decref(answer);
	return NULL;
}

static void put_number(json_t *report, const char *member, const char *variable)
{
	const char *text = getenv(variable);
	json_object_set_new(report, member, json_integer(text ? atoll(text) : 0));
}

json_t *checkpoint_call(const char *config, const char *action, json_t *report, int seconds, struct err *e)
{
	struct conf conf;
	const char *node = getenv("ROTA_NODE");
	int64_t until = clock_boot_us() + (int64_t)seconds * 1000000;
	bool again = conf_load(&conf, config, e);
	json_t *answer = NULL;
	json_object_set_new(report, "action", json_string(action));
	json_object_set_new(report, "node", json_string(node ? node : ""));
	put_number(report, "job", "ROTA_JOB_ID");
	put_number(report, "step_id", "ROTA_STEP_ID");
	put_number(report, "attempt", "ROTA_ATTEMPT");
	char *body = json_dumps(report, JSON_COMPACT);
	json_decref(report);
	if (!body)
		die("a report could not be written as JSON");
	for (int pause = PAUSE_MS; again && !answer; pause = pause * 2 < PAUSE_MOST_MS ? pause * 2 : PAUSE_MOST_MS) {
		answer = call_once(&conf, body, &again, e);
		again = again && clock_boot_us() < until;
		if (!answer && again)
			nanosleep(&(struct timespec){pause / 1000, pause % 1000 * 1000000L}, NULL);
	}
	free(body);
	return answer;
}
