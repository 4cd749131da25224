/* gate_intake.h - HTTP requests become calls. For the files of the gate only. */
#ifndef ROTA_GATE_INTAKE_H
#define ROTA_GATE_INTAKE_H

#include "jobmgr/gate/gate_call.h"

/* Take a request on: whatever it is, it is answered once. */
void gate_intake(struct gate_office *gate, struct evhttp_request *http);

#endif
