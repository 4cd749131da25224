/* gate_dispatch.h - passes an HTTP request to its verb. For gate*.c only. */
#ifndef ROTA_GATE_DISPATCH_H
#define ROTA_GATE_DISPATCH_H

#include "jobmgr/gate/gate_call.h"

/* Identify the client of a request, parse it and pass it to its verb. Each request is answered once. */
void gate_dispatch(struct gate_server *server, struct evhttp_request *http);

#endif
