/* gate_park.h - requests that wait: answered when there is something to tell. For the files of the gate only. */
#ifndef ROTA_GATE_PARK_H
#define ROTA_GATE_PARK_H

#include "jobmgr/gate/gate_call.h"

/* Carry out a request whose route has GATE_PARK. */
void gate_park(struct gate_call *c);

/* The call has its client no longer: its connection may serve others, or close. */
void gate_park_unwatch(struct gate_call *c);

/* The call is about to be freed. */
void gate_park_end(struct gate_call *c);

/* Something happened in the database: every parked request is to look again, soon. */
void gate_park_bell(struct gate_office *gate);

/* Answer every parked request, whether there is something to tell or not. */
void gate_park_release(struct gate_office *gate);

#endif
