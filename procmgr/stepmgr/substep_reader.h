/* substep_reader.h - a client that follows a sub-step: its output, its terminal, its end. */
#ifndef ROTA_PROCMGR_SUBSTEP_READER_H
#define ROTA_PROCMGR_SUBSTEP_READER_H

#include "procmgr/stepmgr/substep_connection.h"
#include "procmgr/stepmgr/substep_engine.h"
#include "procmgr/stepmgr/substep_session.h"
#include "procmgr/stepmgr/substep_viewer.h"

struct substep_reader {
	LIST_ENTRY(substep_reader) of_connection;
	LIST_ENTRY(substep_reader) of_substep;
	struct substep_connection *connection;
	struct substep *substep;
	json_int_t id;			      /* of its request */
	bool runs;			      /* its request was `run`, so the sub-step ends with the connection */
	bool gives_input;		      /* its requests `input` and `resize` are for the sub-step */
	bool only_end;			      /* its request was `wait` */
	enum substep_input_state input_state; /* that it was sent last */
	int64_t credit;			      /* of a step manager: offset of the first byte of input that it may not send yet */
	int64_t *offsets;		      /* for each task, of both streams */
	int64_t sent_at;		      /* clock_boot_us: when it last took output */
	struct substep_view view;	      /* how it sees a terminal */
	struct substep_viewer *viewer;	      /* NULL: there is no terminal, or all of it was sent */
	struct evbuffer *typed;		      /* keys for a terminal that is not there yet; NULL: none */
	char *user, *host;		      /* who attaches, as the client says; NULL: unknown */
	struct substep_person *person;	      /* NULL: it is not attached to a terminal */
	bool viewed;			      /* it has had a viewer in this run */
};

struct substep_reader *substep_reader_new(struct substep_connection *c, struct substep *s, json_int_t id);
void substep_reader_free(struct substep_reader *r);

/* Send output and, after all of it, the end. May free the reader. */
void substep_reader_pump(struct substep_reader *r);

/* Does the client that runs the sub-step lack much of this stream, and has it taken output within the last second? */
bool substep_reader_lags(const struct substep *s, int rank, int stream);

/* Pass keys to the terminal of the sub-step, at the latest when it is there. */
void substep_reader_type(struct substep_reader *r, const void *bytes, size_t size);

/* Send the event `queued` or `started`. */
void substep_reader_send_queued(struct substep_reader *r);
void substep_reader_send_started(struct substep_reader *r);

/* Send what has become of the input, if that has changed; and a step manager how much more it may send. */
void substep_reader_send_input(struct substep_reader *r);

/* What the engine reports of a sub-step, for all of its readers. */
void substep_reader_waits(struct substep *s);
void substep_reader_started(struct substep *s);
void substep_reader_pump_all(struct substep *s); /* there may be more output, or its end */
void substep_reader_input(struct substep *s);

#endif
