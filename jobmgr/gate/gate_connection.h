/* gate_connection.h - the connections of clients: how many there are, and whose. For the files of the gate only. */
#ifndef ROTA_GATE_CONNECTION_H
#define ROTA_GATE_CONNECTION_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>

struct gate_connections;

/* At most `bound` at once, of which one user holds half at the most, and by all of them no more than `most` bytes of requests that
 * are not answered yet. */
struct gate_connections *gate_connections_new(struct event_base *base, unsigned bound, size_t most);

/* After evhttp has freed them all. */
void gate_connections_free(struct gate_connections *connections);

/* Count a connection that evhttp is making; it is looked at, and perhaps ended, before anything is read from it. */
void gate_connection_add(struct gate_connections *connections, struct bufferevent *buffer);

/* Whether all that was answered has left for its client. */
bool gate_connections_flushed(const struct gate_connections *connections);

#endif
