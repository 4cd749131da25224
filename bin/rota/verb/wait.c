/* wait.c - `rota wait`: waits until jobs have ended, and exits with the highest exit status of the jobs. */
#include <stdio.h>

#include "bin/rota/call/call.h"
#include "bin/rota/jobs/mine.h"
#include "bin/rota/jobs/wait.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "bin/rota/steps/substep.h"

enum { WAIT_TIMED_OUT = 124 };

const struct verb_option wait_options[] = {
	{'t', "timeout", "SECONDS", "stop waiting after this time, with exit status 124"},
	{'q', "quiet", NULL, "do not print how the jobs ended"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

int verb_wait(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	bool json = false, quiet = false;
	json_t *jobs, *answer;
	long timeout = -1;
	int status;

	for (int id; (id = verb_next(&scan));) {
		if (id == 't')
			timeout = verb_number(&scan, 0, 1000000000);
		json |= id == VERB_JSON;
		quiet |= id == 'q';
	}
	if (substep_operands(&scan))
		return substep_wait(&scan, &(struct substep_wait){.quiet = quiet, .json = json, .timeout_s = timeout});
	jobs = scan.operands ? words_operands(&scan) : mine_jobs();
	if (!json_array_size(jobs)) {
		status = jobs ? EXIT_OK : call_status();
		json_decref(jobs);
		return status;
	}
	answer = wait_jobs(jobs, timeout);
	json_decref(jobs);
	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else if (!quiet)
		wait_print(answer, stdout);
	status = json_is_true(json_object_get(answer, "done")) ? wait_status(answer) : WAIT_TIMED_OUT;
	if (!json && !quiet && status != EXIT_OK && status != WAIT_TIMED_OUT)
		wait_reasons(answer, true, stdout);
	json_decref(answer);
	return status;
}
