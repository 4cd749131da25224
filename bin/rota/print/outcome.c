/* outcome.c - the outcome of a job or step for `wait`, `watch`, `submit --wait` and `show`: state, exit code or signal. */
#include "bin/rota/print/outcome.h"

#include <string.h>

#include "bin/rota/print/format.h"
#include "lib/err.h"

int outcome_status(const json_t *job)
{
	int code = (int)json_integer_value(json_object_get(job, "exit_code"));
	int signal = (int)json_integer_value(json_object_get(job, "signal"));

	if (format_state_good(format_text(job, "state")))
		return 0;
	if (signal > 0)
		return 128 + signal;
	return code > 0 && code < 256 ? code : 1;
}

char *outcome_words(const json_t *job)
{
	const char *state = format_text(job, "state");
	const json_t *code = json_object_get(job, "exit_code"), *signal = json_object_get(job, "signal");
	const char *cause = format_text(job, "cause");

	if (json_integer_value(signal) > 0)
		return xasprintf("%s (%s)", state, format_exit(code, signal).s);
	if (json_integer_value(code) > 0)
		return xasprintf("%s (exit code %s)", state, format_exit(code, signal).s);
	if (cause[0] && strcmp(cause, "exit") && strcmp(cause, state) && strcmp(state, "completed"))
		return xasprintf("%s (%s)", state, cause);
	return xstrdup(state);
}
