/* gate_submit.h - scripts become jobs. For the files of the gate only. */
#ifndef ROTA_GATE_SUBMIT_H
#define ROTA_GATE_SUBMIT_H

#include "jobmgr/gate/gate_call.h"

/* Carry out a request whose route has GATE_SUBMIT: {"script", "script_name", "arguments": ["$1 of every step"], "options": ["--x=y"], "environment": ["NAME=value"]
 * or {"NAME": "value"}, "workdir", "umask": number or octal text, "rlimits": "core=0,nofile=1024", and "client_key" or
 * "retry_key" (32 hexadecimal digits)}; or several at once, {"jobs": [such objects]}: what stands beside the list, keys aside,
 * holds for each that says nothing of it. */
void gate_submit(struct gate_call *c);

#endif
