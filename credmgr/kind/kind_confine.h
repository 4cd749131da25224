/* kind_confine.h - drops the rights that rota-credential does not need, before it reads the secret of a user. */
#ifndef ROTA_CREDMGR_KIND_CONFINE_H
#define ROTA_CREDMGR_KIND_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

enum kind_reach {
	KIND_REACH_NOTHING, /* no network */
	/* the process may connect to servers of the network, but to no service of this host that has a socket file */
	KIND_REACH_SERVERS,
	KIND_REACH_ALL /* no restriction */
};

/* Close every descriptor from `first` on, write no core files, and gain no privilege by executing a program. Call it first. */
void kind_confine_files(int first);

/* Confine this process and the programs that it runs. Unless `reach` is KIND_REACH_ALL, it can allocate only `memory` more bytes,
 * can trace no process, and can open only files of the system that programs need, and none of rota-credd, even if malformed input
 * takes over a parser. */
bool kind_confine_process(enum kind_reach reach, size_t memory, struct err *e);

#endif
