/* hook.h - one program of the site, a hook or the mail program: start it, limit its time, keep its end and the end of its output. */
#ifndef ROTA_RUNNER_HOOK_H
#define ROTA_RUNNER_HOOK_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HOOK_TAIL = 4096, HOOK_MESSAGE = 512 };

struct hook {
	struct hook *next; /* in one of the runner's lists */
	int64_t id;	   /* of rota.hook_pending or rota.mail */
	char *label;	   /* the step or the mail that it runs for */
	char *path;
	const char *kind; /* in words, for messages; static */
	pid_t pid;	  /* also its process group; 0: no process */
	int status;	  /* as wait() returns it */
	int64_t began_us, ran_us;   /* began_us: time since boot; ran_us: -1 if it did not run */
	char message[HOOK_MESSAGE]; /* why it failed; "": it did not fail */
	char tail[2 * HOOK_TAIL];   /* the end of its output */
	size_t tail_length;
	int output;
	struct event *readable, *deadline;
	int timeout_s;
};

struct hook *hook_new(int64_t id, const char *label, const char *path, const char *kind);
void hook_free(struct hook *h);

/* How to start a program. NULL and -1 stand for "none". */
struct hook_start {
	char **arguments; /* without the program's name; NULL-terminated */
	char **environment;
	int input; /* its standard input */
	int timeout_s;
};

/* Start the program in a process group of its own. False: it did not start, and h->message says why. */
bool hook_start(struct hook *h, struct event_base *base, const struct hook_start *start);

/* Kill the program's process group. `why` becomes the end of h->message. */
void hook_kill(struct hook *h, const char *why);

/* Reap the program, whose process has ended, kill the rest of its process group, and read the rest of its output. */
void hook_reap(struct hook *h);

/* Lists of hooks, linked by `next`. */
void hook_list_free(struct hook **list);
void hook_list_add(struct hook **list, struct hook *h);

/* Add a hook that needs nothing more but its report to the database; log why it failed. */
void hook_list_add_ended(struct hook **ended, struct hook *h);

/* Move all of `from` to the end of `list`. */
void hook_list_append(struct hook **list, struct hook **from);

/* Take the hook with this process out of the list; NULL: the list has none. */
struct hook *hook_list_take(struct hook **list, pid_t pid);

#endif
