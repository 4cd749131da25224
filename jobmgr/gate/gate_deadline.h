/* gate_deadline.h - deadlines of a client for each part of a request, and for reading its answer. For gate*.c only. */
#ifndef ROTA_GATE_DEADLINE_H
#define ROTA_GATE_DEADLINE_H

#include <event2/bufferevent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/conf.h"

enum gate_phase {
	GATE_HANDSHAKE, /* the client makes the TLS handshake */
	GATE_HEADER,	/* the client sends the header of a request */
	GATE_BODY,	/* the client sends the body of the request */
	GATE_SERVED,	/* jobmgrd serves the request; there is no deadline */
	GATE_ANSWER,	/* the client reads the answer */
	GATE_IDLE	/* the client has read the answer, and may send another request */
};

struct gate_deadline {
	enum gate_phase phase;
	int64_t until;	   /* end of the time for `phase`, by clock_ms() */
	unsigned newlines; /* in GATE_HEADER: number of line feeds at the end of the bytes that were read so far */
};

/* Set the first phase of an accepted connection, and its deadline. */
void gate_deadline_begin(struct gate_deadline *d, const struct conf *conf, bool is_tls);

/* Update the phase after `added` bytes were read from the client. They are the last bytes in the input buffer. */
void gate_deadline_read(struct gate_deadline *d, const struct conf *conf, struct bufferevent *buffer, size_t added);

/* Set the phase GATE_SERVED: the request is complete, and is being served. */
void gate_deadline_serve(struct gate_deadline *d);

/* Update the phase after bytes for the client were written. They are the answer if a request was being served. */
void gate_deadline_written(struct gate_deadline *d, const struct conf *conf);

/* Returns true if the deadline of the phase has passed. Must be called regularly, since it also ends the phases of the TLS
 * handshake and of the answer. `is_proven`: the connection has sent a valid credential. */
bool gate_deadline_is_over(struct gate_deadline *d, const struct conf *conf, struct bufferevent *buffer, bool is_proven);

/* Does jobmgrd wait for bytes of the client on this connection? */
bool gate_deadline_is_waiting(const struct gate_deadline *d);

/* Returns what the client sends or reads in the present phase, for the log. */
const char *gate_deadline_name(const struct gate_deadline *d);

#endif
