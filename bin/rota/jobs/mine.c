/* mine.c - requests the caller's jobs that have not ended (mine.h). */
#include "bin/rota/jobs/mine.h"

#include <stdio.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/words.h"

json_t *mine_jobs(void)
{
	json_t *answer = call_gate_patiently("queue", json_pack("{s[s]}", "user", words_me())), *numbers;
	const json_t *job;
	size_t i;

	if (!answer)
		return NULL;
	numbers = json_array();
	json_array_foreach (json_object_get(answer, "jobs"), i, job)
		json_array_append_new(numbers,
				      json_sprintf("%lld", (long long)json_integer_value(json_object_get(job, "job_id"))));
	if (!json_array_size(numbers))
		fputs("rota: none of your jobs waits or runs\n", stderr);
	json_decref(answer);
	return numbers;
}
