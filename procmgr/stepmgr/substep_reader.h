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
	json_int_t id;			      /* id of the reader's request */
	bool runs;			      /* the reader's request is `run`, so the sub-step ends with the connection */
	bool gives_input;		      /* the requests `input` and `resize` of this connection are for the sub-step */
	bool only_end;			      /* the reader's request is `wait`, so only the end of the sub-step is sent */
	enum substep_input_state input_state; /* state of the input that the client was last sent */
	/* only in an agent, where the client is the step manager: offset up to which it may send input */
	int64_t credit;
	int64_t *offsets;	       /* for both streams of each task: offset of the next byte to send */
	int64_t sent_at;	       /* when the client last took output, by clock_boot_us() */
	struct substep_view view;      /* how the client sees a terminal */
	struct substep_viewer *viewer; /* connection to the terminal; NULL: no terminal, or all of it was sent */
	struct evbuffer *typed;	       /* keystrokes for a terminal that is not connected yet; NULL: none */
	/* user and host of the person who attaches, as the client reports them; NULL: unknown */
	char *user, *host;
	struct substep_person *person; /* entry in the list of attached people; NULL: not attached to a terminal */
	bool viewed;		       /* the reader has had a viewer in this run of the sub-step */
};

struct substep_reader *substep_reader_new(struct substep_connection *c, struct substep *s, json_int_t id);
void substep_reader_free(struct substep_reader *r);

/* Send output, and after all of it the event about the end. May free the reader. */
void substep_reader_pump(struct substep_reader *r);

/* Does the client that runs the sub-step lack much of this stream, and has it taken output within the last second? */
bool substep_reader_lags(const struct substep *s, int rank, int stream);

/* Pass keys to the terminal of the sub-step; if the terminal is not connected yet, keep them until it is. */
void substep_reader_type(struct substep_reader *r, const void *bytes, size_t size);

/* Send the event `queued` or `started`. */
void substep_reader_send_queued(struct substep_reader *r);
void substep_reader_send_started(struct substep_reader *r);

/* Send the client the state of the input (taken, lost), if that has changed. A step manager is also sent how much more it may
 * send. */
void substep_reader_send_input(struct substep_reader *r);

/* The engine calls these for each change of a sub-step; they inform all readers of the sub-step. */
void substep_reader_waits(struct substep *s);
void substep_reader_started(struct substep *s);
void substep_reader_pump_all(struct substep *s); /* the sub-step may have more output, or have ended */
void substep_reader_input(struct substep *s);

#endif
