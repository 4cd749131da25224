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
struct gate_submission;
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
	struct gate_calls parks;	 /* those that wait for a bell, or for the answer to the call it caused */
	unsigned parked;		 /* how many these are */
	bool leader, draining;
};

/* What goes on with the database's answer: the text of its one value, or an error; both lent. */
typedef void gate_then(struct gate_call *c, const char *text, const struct err *e);

/* One request. Exactly one party has the next move (the worker of gate_auth, the database, or the timer of a parked call), and
 * whoever has it ends the call: so `c` is good in every call back, even when the client is gone (http NULL) by then. */
struct gate_call {
	struct gate_office *gate;
	struct evhttp_request *http; /* NULL: answered, or the client is gone */
	const struct gate_route *route;
	struct gate_holder *holder; /* to whom it counts, with so many bytes; NULL: to nobody */
	size_t size;
	struct gate_claim *claim;
	json_t *request;
	json_t *work;			    /* what a verb of several calls makes on the way */
	struct gate_submission *submission; /* of a request that submits */
	struct event *timer;		    /* while flying: patience with the database; else: the next look of a parked call */
	bool flying;			    /* asked of the database */
	struct gate_ask *ask;		    /* while flying */
	int retries;
	void (*issue)(struct gate_call *c); /* makes the call that may be repeated after a rollback */
	void (*go_on)(struct gate_call *c); /* once the limits are there */
	void (*wake)(struct gate_call *c);  /* the timer of a parked call */
	gate_then *then;
	int64_t parked_at, until, looked_at,
		took;	      /* a parked call: since when, when its time is over, when it last looked and how long that took */
	int quick;	      /* of a parked call: looks that need keep no distance (gate_park.c) */
	struct event *closed; /* of a parked call, while it has a client: that one hung up */
	bool parked, rung, deserted;
	TAILQ_ENTRY(gate_call) link, park_link;
};

/* A call for a request; what it is to do is not known yet. */
struct gate_call *gate_call_new(struct gate_office *gate, struct evhttp_request *http);

/* Call an api function; `params` as in db_call. `then` is called unless the client is gone by then. */
void gate_call_db(struct gate_call *c, enum api_function function, const struct db_param *params, int count, gate_then *then);

/* The same with the usual parameters: the caller's uid and name, and a request. */
void gate_call_request(struct gate_call *c, enum api_function function, const json_t *request, gate_then *then);

/* Answer 200 with a JSON text and end the call. */
void gate_call_reply(struct gate_call *c, const char *text);

/* Answer with an error and end the call; `problems` as in gate_error_text. */
void gate_call_fail(struct gate_call *c, const struct err *e, json_t *problems);

/* A gate_then: the answer is the reply. */
void gate_call_pass(struct gate_call *c, const char *text, const struct err *e);

/* The connection of these requests ends and takes them with it. */
void gate_calls_lost(struct gate_office *gate, struct evhttp_connection *connection);

/* At the end of the gate: forget all calls, none of which has a client any more. */
void gate_calls_free(struct gate_office *gate);

#endif
