/* gate_call.h - the life of one request, and the server context that all requests share. For gate*.c only. */
#ifndef ROTA_GATE_CALL_H
#define ROTA_GATE_CALL_H

#include <event2/event.h>
#include <event2/http.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "jobmgr/gate/gate_admin.h"
#include "jobmgr/gate/gate_admission.h"
#include "jobmgr/gate/gate_auth.h"
#include "jobmgr/gate/gate_connection.h"
#include "jobmgr/gate/gate_session.h"
#include "jobmgr/gate/gate_route.h"
#include "jobmgr/translate/translate.h"
#include "lib/conf.h"
#include "lib/db.h"
#include "lib/db_seen.h"
#include "lib/seal.h"

struct gate_call;
struct gate_question;
struct gate_relays;
struct hook_client;
struct gate_waits;
TAILQ_HEAD(gate_calls, gate_call);

/* The server context: the data that all requests share. gate.c owns the context. */
struct gate_server {
	struct event_base *base;
	const struct conf *conf;
	const struct seal_mac_key *key;
	const struct seal_sign_key *sign_key;  /* signs tokens for step managers */
	struct gate_sessions *sessions;	       /* database sessions for requests by the Unix socket, or with a certificate */
	struct gate_sessions *remote_sessions; /* sessions for all other requests by HTTPS; NULL: there is no HTTPS */
	struct gate_sessions *admin_sessions;  /* like `sessions`, but for requests that change the cluster */
	struct gate_sessions *stale_sessions;  /* like `sessions`, but with any server, for answers that may be old */
	/* like `remote_sessions`, but with any server, for answers that may be old */
	struct gate_sessions *remote_stale_sessions;
	struct gate_listen_session *listener;
	struct gate_auth *auth;
	struct gate_admin *admin; /* verifies the rights of operators by HTTPS; NULL: there is no HTTPS */
	struct gate_admissions *admissions;
	struct gate_numbers *numbers; /* job numbers that are reserved ahead */
	struct hook_client *hooks;    /* client of runnerd's socket, which runs the site's scripts; NULL: the site has none */
	struct gate_connections *connections;
	struct translate_limits *limits; /* last answer of api.submit_limits; NULL: no answer yet */
	int64_t limits_at;		 /* time of the last answer of api.submit_limits, by clock_ms() */
	struct gate_calls calls;	 /* requests under way */
	struct gate_waits *waits;	 /* long polls */
	struct gate_relays *relays;	 /* streams to step managers */
	bool leader, draining;
};

/* Handler of the answer of a database query: the text of its one value, or an error. Text and error do not outlive the
 * handler. */
typedef void gate_answer_handler(struct gate_call *c, const char *text, const struct err *e);

/* Callbacks by which a verb takes part in the life of a request. With them, the code common to all verbs depends on no verb. */
struct gate_verb {
	/* called when the client has its answer or is gone; NULL: the verb need not know */
	void (*lose_client)(struct gate_call *c);
	void (*free)(struct gate_call *c); /* frees the verb's state of a request, c->state */
};

/* One request. Exactly one party has the next move: the worker thread of gate_auth, the database, the site's script, or a timer
 * of the verb. Only that party ends the request, so `c` is valid in every callback, even if the client is gone by then (http
 * NULL). */
struct gate_call {
	struct gate_server *server;
	struct evhttp_request *http;	    /* HTTP request; NULL: it is answered, or the client is gone */
	struct gate_connection *connection; /* connection of `http`, valid as long as `http` is */
	const struct gate_route *route;
	struct gate_quota *quota; /* quota of the client; NULL: the request counts to no quota */
	/* quota of an HTTPS request's user; NULL: not known yet, or not by HTTPS, where `quota` is the user's */
	struct gate_quota *user;
	size_t size; /* bytes of the request that count to the client's quota */
	struct gate_credential *credential;
	bool is_certified; /* by HTTPS: the client's certificate gives the request the rights of its user */
	bool is_stale;	   /* a standby answers, perhaps with old data, since no server can be written to */
	/* by HTTPS: reason why an admitted request does not have the rights of its user; NULL: it has them, or is not admitted
	 * yet */
	const char *objection;
	json_t *request;
	const struct gate_verb *verb;	/* NULL: the verb keeps no state */
	void *state;			/* state that the verb keeps for the request */
	struct event *timer;		/* timer that bounds the time of the query under way */
	struct gate_query *query;	/* database query of the request that is under way */
	struct gate_question *question; /* question to the site's script that is under way; NULL: none is */
	int retries;
	void (*send)(struct gate_call *c); /* sends the database query; called again after a rollback */
	/* called when the limits of submissions have been read; NULL: the request does not wait for them */
	void (*resume)(struct gate_call *c);
	void (*admitted)(struct gate_call *c); /* called when the database is known to have the client's incarnation */
	gate_answer_handler *then;	       /* handler of the answer of the query under way */
	TAILQ_ENTRY(gate_call) link;
};

/* Make a struct gate_call for an HTTP request. */
struct gate_call *gate_call_new(struct gate_server *server, struct evhttp_request *http);

/* Returns the database sessions for a request whose credential was checked. In the sessions for HTTPS, all users are ordinary
 * users. */
struct gate_sessions *gate_call_sessions(const struct gate_call *c);

/* Call an api function for a request; `params` are as in db_call. `then` is called with the answer, unless the client is gone. */
void gate_call_db(struct gate_call *c, enum api_function function, const struct db_param *params, int count,
		  gate_answer_handler *then);

/* Call an api function with the usual parameters: uid and name of the client's user, and a JSON request. */
void gate_call_request(struct gate_call *c, enum api_function function, const json_t *request, gate_answer_handler *then);

/* Call the api function of the route with the request, and pass the answer to the client. Most verbs do only this. */
void gate_call_forward(struct gate_call *c);

/* Read from the header Rota-Seen which incarnation of the database the client has seen. Returns false if there is no such
 * header. */
bool gate_call_seen(const struct gate_call *c, struct db_seen *seen);

/* Answer a request with status 200 and a JSON text, and end it. */
void gate_call_reply(struct gate_call *c, const char *text);

/* Answer a request with an error and end it; `problems` are as in gate_answer_error. */
void gate_call_fail(struct gate_call *c, const struct err *e, json_t *problems);

/* End a request without an answer. From now on the caller writes to its connection and frees it, though evhttp owns it. */
void gate_call_hand_over(struct gate_call *c);

/* Add to an error of missing rights the hint why a request by HTTPS has only the rights of an ordinary user. */
void gate_call_explain_rights(const struct gate_call *c, struct err *e);

/* End the request of a client that has closed its connection. */
void gate_call_abandon(struct gate_call *c);

/* A gate_answer_handler that passes the answer of the database to the client. */
void gate_call_pass(struct gate_call *c, const char *text, const struct err *e);

/* Record that a client's connection has ended: its requests have no client any more. */
void gate_calls_lost(struct gate_server *server, struct evhttp_connection *connection);

/* Free all requests at shutdown. None of them has a client any more. */
void gate_calls_free(struct gate_server *server);

#endif
