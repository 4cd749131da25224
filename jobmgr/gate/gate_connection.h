/* gate_connection.h - the connections of clients: how many there are, whose, and how much their requests take. For the files of
 * the gate only. */
#ifndef ROTA_GATE_CONNECTION_H
#define ROTA_GATE_CONNECTION_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

struct gate_connections;

/* Who is at the other end of connections, as far as sockets tell: a user of this host, or an address. */
struct gate_holder;

/* At most `bound` at once; of these one user holds half at the most, all that come from outside half, one address a quarter. Of
 * one holder's requests no more than `most` bytes wait for their answers. */
struct gate_connections *gate_connections_new(struct event_base *base, unsigned bound, size_t most);

/* After evhttp has freed them all, and all requests are over. */
void gate_connections_free(struct gate_connections *connections);

/* Count a connection that evhttp is making; it is looked at, and perhaps ended, before anything is read from it. */
void gate_connection_add(struct gate_connections *connections, struct bufferevent *buffer);

/* A request of `size` bytes came by a connection: its holder, to whom it counts until gate_holder_done, be the client gone by then
 * or not. NULL with RT429: the holder has enough under way. */
struct gate_holder *gate_holder_serve(struct gate_connections *connections, const struct bufferevent *buffer, size_t size,
				      struct err *e);
void gate_holder_done(struct gate_holder *holder, size_t size);

/* How many calls of the database are under way for its requests; gate_lane.c counts them. */
unsigned *gate_holder_calls(struct gate_holder *holder);

/* Whether all that was answered has left for its client. */
bool gate_connections_flushed(const struct gate_connections *connections);

#endif
