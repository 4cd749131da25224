/* gate_auth.h - who is asking, found out in a thread of its own, because libmunge and the name service block. */
#ifndef ROTA_GATE_AUTH_H
#define ROTA_GATE_AUTH_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

enum { GATE_USER_SIZE = 256 };

/* One request's claim to come from somebody; the asker fills the first part (all malloc'ed), the worker the second. */
struct gate_claim {
	char *credential, *method, *target, *body;
	size_t size;	 /* of the body */
	bool ask_groups; /* the groups are wanted too */

	uid_t uid;
	gid_t gid;
	char user[GATE_USER_SIZE]; /* login name of uid */
	char *home;		   /* home folder of uid */
	json_t *groups;		   /* names of the groups that uid is in, NULL unless asked for */
};

void gate_claim_free(struct gate_claim *claim);

struct gate_auth;

/* The verdict, once for each claim and from the loop. `claim` is handed back to the asker; it is NULL where no verdict came in
 * time. `e` is NULL when the claim is true. */
typedef void gate_auth_answer(struct gate_claim *claim, const struct err *e, void *arg);

/* Start the worker, which asks the munged behind `socket`. */
struct gate_auth *gate_auth_new(struct event_base *base, const char *socket);

/* End the worker; no claim may wait for its answer. */
void gate_auth_free(struct gate_auth *a);

/* Have a claim checked; `claim` passes to the worker until it is answered. */
void gate_auth_check(struct gate_auth *a, struct gate_claim *claim, gate_auth_answer *answer, void *arg);

#endif
