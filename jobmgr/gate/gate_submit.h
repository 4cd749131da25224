/* gate_submit.h - submits scripts as jobs. For gate*.c only. */
#ifndef ROTA_GATE_SUBMIT_H
#define ROTA_GATE_SUBMIT_H

#include "jobmgr/gate/gate_call.h"

/* Carry out a request whose route has GATE_SUBMIT: {"script", "script_name", "arguments": ["$1 of every step"], "options":
 * ["--x=y"], "environment": ["NAME=value"] or {"NAME": "value"}, "workdir", "umask": number or octal text, "rlimits":
 * "core=0,nofile=1024", "submit_line": command line of the submission, and "client_key" or "retry_key" (32 hexadecimal digits)}.
 * For several jobs: {"jobs": [such objects]}. A member beside the list, except the two keys, is the default of each job. */
void gate_submit(struct gate_call *c);

#endif
