/* gate_hangup.h - notices that a client has closed its connection while its request is served. For gate*.c only. */
#ifndef ROTA_GATE_HANGUP_H
#define ROTA_GATE_HANGUP_H

#include "jobmgr/gate/gate_call.h"

struct gate_hangup;

/* Watch the connection of the client of `c`, which must have one. `gone` is called once, when the client has closed it, or has
 * shut down its sending side: by TCP, jobmgrd cannot tell these apart. `gone` frees the watch. */
struct gate_hangup *gate_hangup_new(struct gate_call *c, void (*gone)(struct gate_call *c));

/* End the watch: the connection may serve other requests from now on, or close. NULL is no error. */
void gate_hangup_free(struct gate_hangup *h);

#endif
