/* gate_deadline.h - how long a client may take for each part of a request and for its answer. For gate*.c only. */
#ifndef ROTA_GATE_DEADLINE_H
#define ROTA_GATE_DEADLINE_H

#include <event2/bufferevent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/conf.h"

enum gate_phase {
	GATE_HANDSHAKE, /* the client makes the TLS connection */
	GATE_HEADER,	/* the client sends the header of a request */
	GATE_BODY,	/* the client sends the body */
	GATE_SERVED,	/* the request is served: the client waits */
	GATE_ANSWER,	/* the client takes the answer */
	GATE_IDLE	/* the client may send another request */
};

struct gate_deadline {
	enum gate_phase phase;
	int64_t until;	   /* end of the time for the phase, by clock_ms() */
	unsigned newlines; /* GATE_HEADER: line feeds at the end of what was read */
};

/* Begin with a connection that was accepted. */
void gate_deadline_begin(struct gate_deadline *d, const struct conf *conf, bool is_tls);

/* Note that `added` bytes were read. They are the last bytes in the input buffer. */
void gate_deadline_read(struct gate_deadline *d, const struct conf *conf, struct bufferevent *buffer, size_t added);

/* The request is complete, and is served now. */
void gate_deadline_serve(struct gate_deadline *d);

/* Bytes for the client were written. They are its answer if a request was served. */
void gate_deadline_written(struct gate_deadline *d, const struct conf *conf);

/* Returns true if the time for the phase is over. Call it now and then: it also notes that a handshake has ended or an answer was
 * taken. `is_proven`: the connection has sent a good credential. */
bool gate_deadline_is_over(struct gate_deadline *d, const struct conf *conf, struct bufferevent *buffer, bool is_proven);

/* Does the connection wait for bytes of its client? */
bool gate_deadline_is_waiting(const struct gate_deadline *d);

/* Returns what the client did in the present phase, for the log. */
const char *gate_deadline_name(const struct gate_deadline *d);

#endif
