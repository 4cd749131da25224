/* gate_call.h - the life of one request, and the server context that all requests share. For gate*.c only. */
#ifndef ROTA_GATE_CALL_H
#define ROTA_GATE_CALL_H

#include <event2/event.h>
#include <event2/http.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "jobmgr/gate/gate_auth.h"
#include "jobmgr/gate/gate_connection.h"
#include "jobmgr/gate/gate_session.h"
#include "jobmgr/gate/gate_route.h"
#include "jobmgr/translate/translate.h"
#include "lib/conf.h"
#include "lib/db.h"
#include "lib/seal.h"

struct gate_call;
struct gate_waits;
TAILQ_HEAD(gate_calls, gate_call);

/* The server context: what all calls share. gate.c owns it. */
struct gate_server {
	struct event_base *base;
	const struct conf *conf;
	const struct seal_mac_key *key;
	struct gate_sessions *sessions;
	struct gate_auth *auth;
	struct gate_connections *connections;
	struct translate_limits *limits; /* the last answer of api.submit_limits; NULL: none yet */
	int64_t limits_at;		 /* when it came, clock_ms() */
	struct gate_calls calls;	 /* under way */
	struct gate_waits *waits;	 /* long polls */
	bool leader, draining;
};

/* Called with the answer of the database: the text of its one value, or an error. Neither outlives the call back. */
typedef void gate_answer_handler(struct gate_call *c, const char *text, const struct err *e);

/* What a verb adds to the life of a call. The core calls these, and so it depends on no verb. */
struct gate_verb {
	void (*lose_client)(struct gate_call *c); /* the client has its answer, or is gone; NULL: nothing to do */
	void (*free)(struct gate_call *c);	  /* release c->state */
};

/* One request. Exactly one party has the next move: the worker of gate_auth, the database, or a timer of the verb. It ends the call, so
 * `c` is valid in every call back, even when the client is gone by then (http NULL). */
struct gate_call {
	struct gate_server *server;
	struct evhttp_request *http; /* NULL: answered, or the client is gone */
	const struct gate_route *route;
	struct gate_quota *quota; /* of its client; NULL: it does not count */
	size_t size;		  /* bytes that count to the quota */
	struct gate_credential *credential;
	json_t *request;
	const struct gate_verb *verb; /* NULL: the verb keeps no state */
	void *state;		      /* of the verb */
	struct event *timer;	      /* bounds the time of the query under way */
	struct gate_query *query;     /* the query under way */
	int retries;
	void (*send)(struct gate_call *c);   /* sends the query; repeated after a rollback */
	void (*resume)(struct gate_call *c); /* after the limits are read; NULL: this call has not asked for them */
	gate_answer_handler *then;	     /* of the query under way */
	TAILQ_ENTRY(gate_call) link;
};

/* Make a call for a request. */
struct gate_call *gate_call_new(struct gate_server *server, struct evhttp_request *http);

/* Call an api function; `params` as in db_call. `then` is called with the answer, unless the client is gone. */
void gate_call_db(struct gate_call *c, enum api_function function, const struct db_param *params, int count,
		  gate_answer_handler *then);

/* The same with the usual parameters: the caller's uid and name, and a request. */
void gate_call_request(struct gate_call *c, enum api_function function, const json_t *request, gate_answer_handler *then);

/* Call the function of the route with the request, and pass its answer on: what most verbs do. */
void gate_call_forward(struct gate_call *c);

/* Answer 200 with a JSON text and end the call. */
void gate_call_reply(struct gate_call *c, const char *text);

/* Answer with an error and end the call; `problems` as in gate_answer_error. */
void gate_call_fail(struct gate_call *c, const struct err *e, json_t *problems);

/* End the call of a client that has hung up. */
void gate_call_abandon(struct gate_call *c);

/* A gate_answer_handler that replies with the answer. */
void gate_call_pass(struct gate_call *c, const char *text, const struct err *e);

/* A connection of a client has ended: its requests have no client any more. */
void gate_calls_lost(struct gate_server *server, struct evhttp_connection *connection);

/* At shutdown: free all calls. None has a client any more. */
void gate_calls_free(struct gate_server *server);

#endif
