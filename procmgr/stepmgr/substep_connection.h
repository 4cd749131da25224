/* substep_connection.h - the connection of one program of the job, and events that are sent to it. */
#ifndef ROTA_PROCMGR_SUBSTEP_CONNECTION_H
#define ROTA_PROCMGR_SUBSTEP_CONNECTION_H

#include <event2/bufferevent.h>
#include <sys/queue.h>

#include "procmgr/stepmgr/substep.h"

struct substep_reader;
struct substep_subscriber;
LIST_HEAD(substep_reader_list, substep_reader);

struct substep_connection {
	TAILQ_ENTRY(substep_connection) next;
	struct bufferevent *stream;
	json_t *env;	 /* default of requests `run`: from the client's last request `defaults`, at first the job's */
	char *cwd;	 /* working directory of requests `run`, from the same request `defaults` */
	json_t *message; /* JSON of a request whose further bytes have not all come yet; NULL: no such request */
	struct substep_reader_list readers;
	/* sends the client events of nodes (substep_event.c); NULL: the client has not asked for them */
	struct substep_subscriber *subscriber;
	struct event *look; /* timer: look whether the client has closed the connection; used while this process does not read */
	void (*gone)(void); /* called when the connection has ended; may be NULL */
	/* the client is the step manager of the step's first node, and this process is an agent */
	bool is_head;
	bool is_held; /* a task has not read its input, or the journal has no room: nothing is read until `drained` */
	bool ends;    /* close the connection when all that is queued has been sent */
};

/* Send an event whose JSON text is printed by `format`. The values must need no escapes. A JSON object costs several times as
 * much. */
void substep_connection_print(struct substep_connection *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Send an event; takes ownership. The second function sends `bytes` after the event, to which they belong. */
void substep_connection_send(struct substep_connection *c, json_t *event);
void substep_connection_send_bytes(struct substep_connection *c, json_t *event, const void *bytes, size_t size);
void substep_connection_refuse(struct substep_connection *c, json_int_t id, const struct err *e);

/* May more output be sent? The answers to requests are always sent. */
bool substep_connection_has_room(const struct substep_connection *c);
/* May more of a terminal's output be sent? Only if little waits to be sent, so that the echo of a key comes soon. */
bool substep_connection_is_quick(const struct substep_connection *c);

#endif
