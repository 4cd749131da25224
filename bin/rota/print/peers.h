/* peers.h - describes the peers of a step in words. */
#ifndef ROTA_BIN_PEERS_H
#define ROTA_BIN_PEERS_H

#include <jansson.h>
#include <stdbool.h>

/* Returns the words for the relation of a step to its peer, such as "after" or "same nodes as". */
const char *peers_kind(const char *kind);

/* Returns the peers of a step in an answer as text: "mesh, input:any, same nodes as mesh", or "a?b" if one dependency is
 * enough. With `waiting`, lists only peers that have not ended, with "after" before the first dependency. malloc'ed. */
char *peers_text(const json_t *step, bool waiting);

#endif
