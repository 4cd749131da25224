/* substep_engine.h - queues, starts, watches and ends sub-steps. */
#ifndef ROTA_PROCMGR_SUBSTEP_ENGINE_H
#define ROTA_PROCMGR_SUBSTEP_ENGINE_H

#include <event2/bufferevent.h>

#include "procmgr/stepmgr/substep.h"

struct substep_engine;

struct substep_handlers {
	void (*waits)(struct substep *s);   /* the sub-step could not start now */
	void (*started)(struct substep *s); /* the tasks of the sub-step run */
	void (*ended)(struct substep *s);   /* the sub-step has ended; its output is kept while this function runs */
	void (*output)(struct substep *s);  /* the tasks of the sub-step may have written output */
	void (*connected)(
		/* a program on another machine has connected; takes the stream, with the bytes that have come */
		struct bufferevent *stream);
	/* Does the client that runs the sub-step read, but lack so much of this stream that the task should wait for the
	 * client? */
	bool (*lags)(const struct substep *s, int rank, int stream);
	void (*drained)(void);		  /* tasks have read their input, or the journal may have room: clients may send more */
	void (*input)(struct substep *s); /* tasks of the sub-step have read some or all input, or some input is lost */
};

/* journal, orphans: descriptors from the keeper (procmgr/keeper/keeper_manager.c). */
struct substep_engine *substep_engine_new(struct event_base *base, int journal, int orphans,
					  const struct substep_handlers *handlers);

/* Queue a sub-step; takes the spec. If there is a sub-step with the same key, returns that one, and frees the spec. Returns NULL,
 * and frees the spec, if the sub-step can never run, or if the journal has no room (SUBSTEP_JOURNAL_FULL): then the handler
 * `drained` is called soon. */
struct substep *substep_engine_queue(struct substep_engine *m, struct substep_spec *spec, struct err *e);

/* substep_table.c */
const char *substep_table_state(const struct substep *s); /* as in docs/step-protocol.md */
struct substep *substep_table_find(struct substep_engine *m, int64_t number);
int substep_table_count(const struct substep_engine *m); /* returns the highest number of a sub-step: the numbers begin at 1 */
void substep_table_forget_output(struct substep *s);

/* End a sub-step: SIGTERM, and SIGKILL after 5 s. A waiting one never starts. */
void substep_engine_cancel(struct substep_engine *m, struct substep *s, const char *cause);

/* substep_input.c */
/* Do the tasks get their input from the client, and not by a terminal? */
bool substep_input_is_of_client(const struct substep *s);
/* Write bytes to the standard input of all tasks; `last`: the input ends after them. Returns false if no more bytes should come
 * before the handler `drained` is called. */
bool substep_input_add(struct substep *s, const void *bytes, size_t size, bool last);
/* Write bytes that begin at an offset of the input that the sub-step's client gives. Bytes that are there already are dropped;
 * if bytes are missing, the input ends as lost. */
bool substep_input_add_at(struct substep *s, int64_t offset, const void *bytes, size_t size, bool last);
enum substep_input_state { SUBSTEP_INPUT_OPEN, SUBSTEP_INPUT_TAKEN, SUBSTEP_INPUT_LOST };
/* SUBSTEP_INPUT_TAKEN: the tasks have all of the input, in their pipes at least. */
enum substep_input_state substep_input_state(const struct substep *s);
/* returns how many bytes of input wait in this process for the slowest task */
int64_t substep_input_unread(const struct substep *s);

/* Call the agents if the keeper says that a program on another node wants one. Listen for clients on other machines if the keeper says
 * that the owner of the job wants to connect. */
void substep_engine_call(struct substep_engine *m);

json_t *substep_engine_resources(const struct substep_engine *m);

#endif
