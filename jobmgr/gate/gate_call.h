/* gate_call.h - one request under way, and what all of them share. For the files of the gate only. */
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
#include "jobmgr/gate/gate_lane.h"
#include "jobmgr/gate/gate_route.h"
#include "jobmgr/translate/translate.h"
#include "lib/conf.h"
#include "lib/db.h"
#include "lib/seal.h"

struct gate_call;
struct gate_waits;
TAILQ_HEAD(gate_calls, gate_call);

/* What calls share; gate.c owns it. */
struct gate_office {
	struct event_base *base;
	const struct conf *conf;
	const struct seal_mac_key *key;
	struct gate_lanes *lanes;
	struct gate_auth *auth;
	struct gate_connections *connections;
	struct translate_limits *limits; /* what api.submit_limits answered last, NULL before the first time */
	int64_t limits_at;		 /* when, clock_ms() */
	struct gate_calls calls;	 /* all under way */
	struct gate_waits *waits;	 /* long polls */
	bool leader, draining;
};

/* What goes on with the database's answer: the text of its one value, or an error; both lent. */
typedef void gate_then(struct gate_call *c, const char *text, const struct err *e);

/* What a verb adds to the life of a call. The core calls these, and so it depends on no verb. */
struct gate_verb {
	void (*lose_client)(struct gate_call *c); /* the client has its answer, or is gone; NULL: nothing to do */
	void (*free)(struct gate_call *c);	  /* release c->state */
};

/* One request. Exactly one party has the next move: the worker of gate_auth, the database, or a timer of the verb. It ends the call, so
 * `c` is valid in every call back, even when the client is gone by then (http NULL). */
struct gate_call {
	struct gate_office *gate;
	struct evhttp_request *http; /* NULL: answered, or the client is gone */
	const struct gate_route *route;
	struct gate_holder *holder; /* to whom it counts, with so many bytes; NULL: to nobody */
	size_t size;
	struct gate_claim *claim;
	json_t *request;
	const struct gate_verb *verb; /* NULL: the verb keeps no state */
	void *state;		      /* of the verb */
	struct event *timer;	      /* bounds the time of the query under way */
	struct gate_ask *ask;	      /* the query under way */
	int retries;
	void (*issue)(struct gate_call *c); /* sends the query; repeated after a rollback */
	void (*go_on)(struct gate_call *c); /* once the limits are there */
	gate_then *then;
	TAILQ_ENTRY(gate_call) link;
};

/* A call for a request; what it is to do is not known yet. */
struct gate_call *gate_call_new(struct gate_office *gate, struct evhttp_request *http);

/* Call an api function; `params` as in db_call. `then` is called unless the client is gone by then. */
void gate_call_db(struct gate_call *c, enum api_function function, const struct db_param *params, int count, gate_then *then);

/* The same with the usual parameters: the caller's uid and name, and a request. */
void gate_call_request(struct gate_call *c, enum api_function function, const json_t *request, gate_then *then);

/* Call the function of the route with the request, and pass its answer on: what most verbs do. */
void gate_call_forward(struct gate_call *c);

/* Answer 200 with a JSON text and end the call. */
void gate_call_reply(struct gate_call *c, const char *text);

/* Answer with an error and end the call; `problems` as in gate_error_text. */
void gate_call_fail(struct gate_call *c, const struct err *e, json_t *problems);

/* End the call of a client that has hung up. */
void gate_call_abandon(struct gate_call *c);

/* A gate_then: the answer is the reply. */
void gate_call_pass(struct gate_call *c, const char *text, const struct err *e);

/* The connection of these requests ends and takes them with it. */
void gate_calls_lost(struct gate_office *gate, struct evhttp_connection *connection);

/* At the end of the gate: forget all calls, none of which has a client any more. */
void gate_calls_free(struct gate_office *gate);

#endif
