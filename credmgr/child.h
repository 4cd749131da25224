/* child.h - runs rota-credential, the only program that parses secrets of users, and that connects to the servers for which they
 * are. */
#ifndef ROTA_CREDMGR_CHILD_H
#define ROTA_CREDMGR_CHILD_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child;

/* The answer of rota-credential. The child owns all of it and frees it after the callback. */
struct child_answer {
	bool good;
	const char *facts;	     /* JSON object that rota-credential printed; "" if it failed */
	const unsigned char *secret; /* the secret that rota-credential returned (of `renew`: the new one), or NULL */
	size_t size;
	const char *reason; /* why `good` is false */
	bool final;	    /* another run of the program would fail too */
};

/* Called when the program has ended. The child is freed afterwards. */
typedef void child_done(const struct child_answer *answer, void *arg);

/* Start rota-credential with these arguments (NULL-terminated, without argv[0]) and the secret on its standard input. Kill the
 * program after `seconds`. `done` is called later, also if the program could not be started. */
struct child *child_start(struct event_base *base, char *const *arguments, const void *secret, size_t size, int seconds,
			  child_done *done, void *arg);

/* Kill the program without a callback, and free it. */
void child_free(struct child *c);

/* Reap the process `pid` if it is that of the child. If so, call the callback, free the child and return true; otherwise return
 * false. */
bool child_reap(struct child *c, pid_t pid);

#endif
