/* hook.h - runs a program of the site (a hook or the mail program), limits its time, and keeps its exit status and the end of its
 * output. */
#ifndef ROTA_RUNNER_HOOK_H
#define ROTA_RUNNER_HOOK_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HOOK_TAIL = 4096, HOOK_MESSAGE = 512, HOOK_GRACE = 2 };

struct hook {
	struct hook *next; /* the next hook in one of the runner's lists */
	int64_t id;	   /* id of the row in rota.hook_pending or rota.mail */
	char *label;	   /* name of the step or the mail for which the program runs */
	char *path;
	const char *kind;	    /* kind of program in words, for messages; a static text */
	pid_t pid;		    /* process and process group of the program; 0 if there is no process */
	int status;		    /* exit status, as wait() returns it */
	int64_t began_us, ran_us;   /* start in microseconds since boot, and run time; ran_us is -1 if the program did not run */
	char message[HOOK_MESSAGE]; /* why the program failed; "" if it did not fail */
	char tail[2 * HOOK_TAIL];   /* the end of the program's output */
	size_t tail_length;
	int output;
	struct event *readable, *deadline;
	int timeout_s;
	bool gentle;
	void *about; /* caller's data about the program; NULL: none */
	void (*about_free)(void *about);
};

struct hook *hook_new(int64_t id, const char *label, const char *path, const char *kind);
void hook_free(struct hook *h);

/* The path, arguments, environment and descriptors with which hook_start() starts a program. NULL and -1 mean "none". */
struct hook_start {
	char **arguments; /* arguments without the program's name; NULL-terminated */
	char **environment;
	int input;  /* descriptor for the program's standard input */
	int result; /* descriptor that becomes the program's descriptor 3, for its result; 0: none */
	int timeout_s;
	bool gentle; /* SIGTERM comes before SIGKILL, HOOK_GRACE seconds earlier */
};

/* Start the program in a process group of its own. Returns false if the program did not start; h->message then has the reason. */
bool hook_start(struct hook *h, struct event_base *base, const struct hook_start *start);

/* Write a text to a memory file, for the standard input of a program. Returns its descriptor, at the beginning. */
int hook_open_input(const char *text);

/* Kill the program's process group. `why` becomes the end of h->message. */
void hook_kill(struct hook *h, const char *why);

/* Kill the program's process group as hook_kill() does. A program that was started as `gentle` gets SIGTERM first. A second call
 * has no effect. */
void hook_stop(struct hook *h, const char *why);

/* Reap a program whose process has ended. Kill the rest of its process group, and read the rest of its output. */
void hook_reap(struct hook *h);

#endif
