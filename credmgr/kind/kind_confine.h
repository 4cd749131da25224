/* kind_confine.h - what rota-credential gives up before it reads what a user has sent. */
#ifndef ROTA_CREDMGR_KIND_CONFINE_H
#define ROTA_CREDMGR_KIND_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

enum kind_reach {
	KIND_REACH_NOTHING, /* no network */
	/* the process may connect to servers of the network, but to no service of this host that has a socket file */
	KIND_REACH_SERVERS,
	KIND_REACH_ALL /* whatever this account can */
};

/* Close every descriptor from `first` on, write no core files, and gain no privilege by executing a program. Call it first. */
void kind_confine_files(int first);

/* Confine this process and the programs that it runs. Unless it reaches all, it has `memory` bytes more than now, it traces no process,
 * and it opens only files of the system that programs need: none of rota-credd, whatever a parser is made to do. */
bool kind_confine_process(enum kind_reach reach, size_t memory, struct err *e);

#endif
