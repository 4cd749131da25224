/* gate_lookup.h - finds the addresses of a host without blocking the event loop. For gate*.c only. */
#ifndef ROTA_GATE_LOOKUP_H
#define ROTA_GATE_LOOKUP_H

#include <event2/event.h>
#include <netdb.h>

struct gate_lookup;

/* Handler of a lookup, called once in the event loop. `code` is that of getaddrinfo(). `found` is valid until the handler
 * returns. */
typedef void gate_lookup_answer(int code, const struct addrinfo *found, void *arg);

/* Look up a host by the name service of this machine, in a thread of its own; an address needs no thread. Returns NULL if no
 * thread or file is left. After the call of `answer`, the lookup frees itself. */
struct gate_lookup *gate_lookup_start(struct event_base *base, const char *host, int port, gate_lookup_answer *answer, void *arg);

/* Cancel a lookup because jobmgrd exits. `answer` is not called any more. */
void gate_lookup_drop(struct gate_lookup *l);

#endif
