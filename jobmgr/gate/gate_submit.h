/* gate_submit.h - a script becomes a job. For the files of the gate only. */
#ifndef ROTA_GATE_SUBMIT_H
#define ROTA_GATE_SUBMIT_H

#include "jobmgr/gate/gate_call.h"

/* Carry out a request whose route has GATE_SUBMIT: {"script", "script_name", "options": ["--x=y"], "environment": ["NAME=value"]
 * or {"NAME": "value"}, "workdir", "umask": number or octal text, "rlimits": "core=0,nofile=1024", and "client_key" or
 * "retry_key" (32 hexadecimal digits)}. */
void gate_submit(struct gate_call *c);

#endif
