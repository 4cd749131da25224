/* gate_auth.h - checks credentials in a thread of its own, because libmunge and the name service block. */
#ifndef ROTA_GATE_AUTH_H
#define ROTA_GATE_AUTH_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/conf.h"
#include "lib/err.h"

enum { GATE_USER_SIZE = 256 };

/* The credential of one request. The event loop sets the first members (all malloc'ed), the worker thread those after `peer`. */
struct gate_credential {
	char *text, *method, *target, *body;
	size_t size;	 /* size of the request's body in bytes */
	bool ask_groups; /* the worker also reads the groups of the user */
	bool is_remote;	 /* the request came by HTTPS */
	uid_t peer;	 /* user at the other end of the Unix socket; -1: unknown, or HTTPS */

	uid_t uid;
	gid_t gid;
	char user[GATE_USER_SIZE]; /* login name of uid */
	char *home;		   /* home directory of uid */
	json_t *groups;		   /* names of the groups of uid; NULL: ask_groups was false */
};

void gate_credential_free(struct gate_credential *credential);

struct gate_auth;

/* Handler of a checked credential, called in the event loop once for each gate_auth_check(). The handler owns `credential`,
 * which is NULL after a timeout. `e` is NULL if the credential is valid. */
typedef void gate_auth_answer(struct gate_credential *credential, const struct err *e, void *arg);

/* Start the worker thread, which checks credentials with the munged of the configuration. */
struct gate_auth *gate_auth_new(struct event_base *base, const struct conf *conf);

/* End the worker thread. No handler is called any more. */
void gate_auth_free(struct gate_auth *a);

/* Have the worker thread check a credential, which it owns until `answer` is called. */
void gate_auth_check(struct gate_auth *a, struct gate_credential *credential, gate_auth_answer *answer, void *arg);

#endif
