/* substep_spool.h - keeps the output of a task until its readers have it. */
#ifndef ROTA_PROCMGR_SUBSTEP_SPOOL_H
#define ROTA_PROCMGR_SUBSTEP_SPOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

/* A file in memory, to which only this process writes. */
struct substep_spool {
	int fd;		/* -1: there is no spool */
	int64_t lowest; /* bytes before this offset were dropped */
	int64_t size;	/* bytes that were added so far */
};

enum { SUBSTEP_SPOOL_MOST = 16 << 20 }; /* most bytes that a spool keeps */

bool substep_spool_make(struct substep_spool *spool, struct err *e);
/* Have the spool use the file `fd` of an earlier step manager's spool in place of its own; takes the descriptor. */
void substep_spool_adopt(struct substep_spool *spool, int fd);
void substep_spool_close(struct substep_spool *spool);
void substep_spool_drop(struct substep_spool *spool); /* drop the output, since nobody needs it any more */

/* Add bytes. If the spool is full, drop its oldest bytes. */
void substep_spool_add(struct substep_spool *spool, const void *bytes, size_t size);

/* Set the offset of the byte that will be added next; the bytes before it are lost. Returns false if the spool cannot do that. */
bool substep_spool_skip(struct substep_spool *spool, int64_t offset);

/* Read bytes from `offset` on. Returns their number, 0 at the end of the spool. */
ssize_t substep_spool_read(const struct substep_spool *spool, int64_t offset, void *bytes, size_t size);

#endif
