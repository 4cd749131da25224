/* peers.h - the steps that a step is bound to, in words. */
#ifndef ROTA_BIN_PEERS_H
#define ROTA_BIN_PEERS_H

#include <jansson.h>
#include <stdbool.h>

/* How an edge reads between a step and its peer: "after", "same nodes as". */
const char *peers_kind(const char *kind);

/* "mesh, input:any, same nodes as mesh" of a step as the gate shows it, "a?b" where one is enough; with `waiting`, only peers that have
 * not ended, and "after" before those that it comes after. malloc'ed. */
char *peers_text(const json_t *step, bool waiting);

#endif
