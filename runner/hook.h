/* hook.h - one program of the site, a hook or the mail program: started, bounded in time, its end and the end of its output kept. */
#ifndef ROTA_RUNNER_HOOK_H
#define ROTA_RUNNER_HOOK_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HOOK_TAIL = 4096, HOOK_MESSAGE = 512 };

struct hook {
	struct hook *next; /* in the runner's list */
	int64_t id;	   /* of rota.hook_due, or of rota.mail */
	char *label;	   /* what it runs for: a step, a mail */
	char *path;
	const char *kind; /* what it is, in words; static */
	pid_t pid;	  /* also its process group; 0: it does not run (any more) */
	int status;
	int64_t began, usec;	    /* by a clock that nobody sets; usec -1: it did not run */
	char message[HOOK_MESSAGE]; /* how it failed, "": it did not */
	char tail[2 * HOOK_TAIL];   /* of its output */
	size_t tail_length;
	int output;
	struct event *readable, *deadline;
	int timeout_s;
};

struct hook *hook_new(int64_t id, const char *label, const char *path, const char *kind);
void hook_free(struct hook *h);

/* What it is started with; NULL, or -1: nothing. */
struct hook_start {
	char **arguments; /* behind its name, NULL-terminated */
	char **environment;
	int input; /* its standard input */
	int timeout_s;
};

/* Start it in a process group of its own. False: it did not start, and h->message says why. */
bool hook_start(struct hook *h, struct event_base *base, const struct hook_start *start);

/* Kill it with all it has started; `why` is what will be said of it. */
void hook_kill(struct hook *h, const char *why);

/* Its process has ended and is not reaped: reap it, kill what it left, read what it printed. */
void hook_reap(struct hook *h);

#endif
