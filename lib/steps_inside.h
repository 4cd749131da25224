/* steps_inside.h - a connection to a step manager, for the files of rota_steps only.
 *
 * Calls go one way: rota_steps.c (running and following sub-steps) and steps_ask.c (questions) call steps_connection.c (the
 * connection), which calls steps_event.c (callbacks), which calls steps_request.c (requests without an end). */
#ifndef ROTA_STEPS_INSIDE_H
#define ROTA_STEPS_INSIDE_H

#include "lib/rota.h"
#include "lib/steps_link.h"

enum { STEPS_BUCKETS = 1024 };

/* Position in one stream of one task. */
struct steps_stream {
	long long have; /* bytes that the caller has */
	long long at;	/* bytes of the stream that this connection has passed */
};

struct steps_request {
	long long id;
	char *text; /* the request as a line of the protocol */
	struct rota_callbacks callbacks;
	void *data;
	int substep, run; /* 0: not reported yet */
	bool input_ended;
	bool input_over;    /* the tasks have all of the input, or the caller knows that they do not get it */
	long long input_at; /* bytes of input that the caller has given */
	bool attaches;	    /* the request attaches to a running sub-step, whose other clients may give input too */
	/* two streams of each task t: standard output is streams[2 * t], standard error streams[2 * t + 1] */
	struct steps_stream *streams;
	size_t stream_count;
	struct steps_request *next, *previous; /* list of all requests, in the order of their numbers */
	struct steps_request *chain;	       /* next request in the same bucket */
};

/* A question to the step manager whose answer is awaited. */
struct steps_question {
	long long id;
	char *text;
	json_t *answer;
	bool refused;
};

struct rota_steps {
	char *path; /* NULL: the connection cannot be made again */
	struct steps_link link;
	char *defaults; /* line of the last request `defaults`; NULL: none */
	long long last_id;
	unsigned long long random; /* random part of the keys of sub-steps */
	struct steps_request *first, *last, *buckets[STEPS_BUCKETS];
	size_t unfinished;
	struct steps_question *question;
	json_t *answer; /* latest answer of rota_steps_wait_for(), whose texts the caller may still read */
	int reconnects; /* number of reconnections since the last received message */
	bool has_reconnected;
	bool dead;
	char error[512];
};

/* steps_request.c. Sets the error that rota_steps_error() returns, and returns false. */
bool steps_fail(struct rota_steps *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the request with this number, or NULL. */
struct steps_request *steps_request_find(const struct rota_steps *s, long long id);
void steps_request_insert(struct rota_steps *s, struct steps_request *r);
/* takes the request out of the lists; steps_request_free() frees it */
void steps_request_remove(struct rota_steps *s, struct steps_request *r);
void steps_request_free(struct steps_request *r);

/* Returns the position in a stream of a task. */
struct steps_stream *steps_request_stream(struct steps_request *r, int task, bool is_error);

/* Returns the text of a request, malloc'ed; NULL, with the error set, if it is too long. Frees the object. */
char *steps_request_text(struct rota_steps *s, json_t *o);

/* steps_event.c: returns the end of a sub-step as an event or an answer describes it; valid as long as `event`. */
struct rota_end steps_event_end(const json_t *event);

/* Handle one message. Returns false if the manager does not understand this program. */
bool steps_event_handle(struct rota_steps *s, json_t *event, const char *bytes, size_t size);

/* steps_connection.c: add a line to the output. Without a connection do nothing, since a new connection begins with all open
 * requests. */
void steps_add_line(struct rota_steps *s, const char *text);

/* Queue a request `input` for the step manager; the JSON member `member` has its content. */
void steps_add_input(struct rota_steps *s, const struct steps_request *r, const char *member);

/* Call this before a request is added: connect again if the step manager has closed the connection while no request was open.
 * Returns false, with the error set, if there is no connection. */
bool steps_is_open(struct rota_steps *s);

#endif
