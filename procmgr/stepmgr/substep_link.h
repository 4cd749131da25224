/* substep_link.h - TLS between the step manager on the first node of a step and its agents on the other nodes.
 *
 * Both sides prove that they know the node's key, which the step manager made for this attempt: there are no certificates. */
#ifndef ROTA_PROCMGR_SUBSTEP_LINK_H
#define ROTA_PROCMGR_SUBSTEP_LINK_H

#include <event2/bufferevent.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

enum { SUBSTEP_LINK_KEY_BYTES = 32, SUBSTEP_LINK_KEY_SIZE = 2 * SUBSTEP_LINK_KEY_BYTES + 1 };

/* A key as hexadecimal digits. */
struct substep_link_key {
	char digits[SUBSTEP_LINK_KEY_SIZE];
};

struct substep_link_key substep_link_make_key(void);

/* An agent proves its key under the name of its node or, on a connection that it passes on for a program of its node, under a
 * name such as "n2 client". Returns true for a name of the second form. */
bool substep_link_is_client(const char *name);
char *substep_link_client(const char *node); /* returns the name of the second form for a node, malloc'ed */
/* A connection to a terminal has a name such as "n2 view 17". Returns the number in such a name, -1 for any other name. */
int64_t substep_link_view_number(const char *name);
char *substep_link_view(const char *node, int64_t number);

struct substep_link_listening {
	const char *(*key_of)(const char *node,
			      void *arg); /* returns the hex digits of a node's key; NULL: the step has no such node */
	void (*opened)(const char *node, struct bufferevent *stream, void *arg); /* an agent is connected; takes the stream */
	void *arg;
};

/* Listen for agents at `port`; 0: at any free port. Returns the port, or 0 if it cannot be used. The caller keeps `listening`
 * valid. */
int substep_link_listen(struct event_base *base, int port, const struct substep_link_listening *listening, struct err *e);

/* Have later calls that choose a port choose it from `range`, such as "60000-60999"; NULL: from all ports. */
void substep_link_use_ports(const char *range);

/* Bind a TCP socket at any address of this host, and at the port *port. If that is 0, chooses a port and stores it in *port.
 * Returns the socket, or -1 with errno set. */
int substep_link_bind(int *port);

/* Begin to connect to the step manager as the agent of `node`. BEV_EVENT_CONNECTED says that both sides have proven the key. Returns NULL
 * if the host's name is not known, or it cannot be reached. */
struct bufferevent *substep_link_connect(struct event_base *base, const char *host, int port, const char *node,
					 const struct substep_link_key *key, struct err *e);

#endif
