/* script_process.h - the process `rota-lua call`, which calls one function of burst_buffer.lua. */
#ifndef ROTA_RUNNER_SCRIPT_PROCESS_H
#define ROTA_RUNNER_SCRIPT_PROCESS_H

#include <event2/event.h>
#include <jansson.h>

#include "lib/conf.h"
#include "runner/hook.h"

struct script_request {
	char *function;	       /* name of the function without slurm_bb_ */
	const json_t *request; /* {"args": [...], "job_info": {...}} */
	int timeout_s;
	size_t answer_most; /* most bytes of the answer */
};

/* Start the process, as the hook `h`. Returns the memory file for its answer, which the caller closes; -1: the process did not
 * start, and h->message has the reason. */
int script_process_start(struct hook *h, struct event_base *base, const struct conf *conf, const struct script_request *request);

/* Read the answer of a process that has ended: {"rc", "message", "busy"}. Returns NULL if the process wrote no valid answer. */
json_t *script_process_answer(int result);

/* Read a file from its beginning, `most` bytes at most; malloc'ed. Returns NULL if it cannot be read. */
char *script_process_read(int fd, size_t most);

#endif
