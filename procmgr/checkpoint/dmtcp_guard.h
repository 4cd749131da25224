/* dmtcp_guard.h - the coordinator of an attempt, which only its owner reaches. */
#ifndef ROTA_DMTCP_GUARD_H
#define ROTA_DMTCP_GUARD_H

#include "lib/err.h"

struct dmtcp_guard {
	const char *programs;		    /* folder with DMTCP's programs */
	const char *path;		    /* a folder for the coordinator of this attempt, which is made */
	void (*watch)(int port, void *arg); /* runs in a process of its own, beside the coordinator; NULL: nothing does */
	void *arg;
};

/* Start a coordinator, and the guard to whose port programs connect. Both are orphans of the caller, and end after the last process that the
 * coordinator knows. Returns the port, -1 with an error. */
int dmtcp_guard_start(const struct dmtcp_guard *guard, struct err *e);

#endif
