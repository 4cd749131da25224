/* rota.h - the C interface for programs that run sub-steps inside a job. Link with librota_steps and jansson.
 *
 * A connection speaks the protocol of docs/step-protocol.md with the step manager of the step. All functions on one connection
 * belong to one thread. Texts are UTF-8. A function copies what it is given. If memory is exhausted, the process ends.
 * Invariants:
 * - Callbacks are called inside rota_steps_handle(), rota_steps_poll(), rota_steps_wait() and the questions below, never
 * otherwise.
 * - A callback may call rota_steps_run(), rota_steps_input() and rota_steps_send_...(), but none of those that wait.
 * - If the step manager is killed, the connection is made again (up to 10 s). Sub-steps then neither run twice nor lose
 * output. */
#ifndef ROTA_H
#define ROTA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct rota_steps; /* a connection to a step manager */

/* One of several programs that the tasks of a sub-step run. */
struct rota_program {
	const char *ranks;	 /* ranks of the tasks that run the program, such as "0-3,6" */
	const char *const *argv; /* NULL at the end */
};

/* A sub-step. Members that are 0 or NULL have the default of the protocol. */
struct rota_run {
	const char *const *argv; /* program and arguments, NULL at the end */
	const struct rota_program *programs;
	size_t program_count;	/* number of `programs`; if not 0, `programs` replaces `argv` */
	const char *const *env; /* NAME=value, NULL at the end */
	const char *cwd, *name, *key, *gres, *cpu_bind, *after, *output, *error, *input;
	const char *session;		/* name of the session that the sub-step's terminal has */
	const char *user, *host;	/* login name of the person at the terminal, and name of that person's host */
	const char *nodelist, *exclude; /* nodes that the sub-step is to use, and nodes that it must not use: n1,n[3-4] */
	const char *distribution;	/* distribution of tasks over nodes: "block", "cyclic" or "plane=4" */
	int ntasks, cpus_per_task;
	int nodes, ntasks_per_node;
	long mem_mb; /* MiB */
	/* priority: the sub-step with the higher priority starts first; retry: how often the sub-step runs again after a
	 * failure */
	int priority, retry;
	long time_s;	     /* time limit in seconds */
	long wait_s;	     /* seconds from the end of the first task until the other tasks are ended; 0: they run on */
	int notify;	     /* signal that the sub-step gets when a node of the step changes; 0: none */
	int input_task;	     /* the only task that gets input "client", counted from 1; 0: all do */
	long idle_timeout_s; /* end the sub-step's terminal after so many seconds without keys and output */
	int rows, cols;	     /* the sub-step's only task gets a terminal of this size; 0: no terminal */
	bool exclusive, overlap, kill_on_bad_exit, detach;
};

/* How a sub-step ended. The texts are valid until the callback returns. */
struct rota_end {
	int substep;
	const char *state, *cause;
	int exit_code;	     /* highest exit code of the sub-step's tasks */
	int signal;	     /* first signal that ended a task, 0 if none did */
	int tasks_failed;    /* number of tasks that failed */
	const char *message; /* why the program did not start, or whose idle limit ended the sub-step; "" otherwise */
};

/* Callbacks for one sub-step, in the order in which they are called. Any callback may be NULL. `data` is the argument of
 * rota_steps_run(). */
struct rota_callbacks {
	void (*queued)(void *data, int substep);	 /* the step manager has queued the sub-step and gives its number */
	void (*waiting)(void *data, const char *reason); /* the sub-step does not start at once, but waits for `reason` */
	void (*started)(void *data, int tasks, int run); /* the tasks run; `run` is 1, after the first retry 2 */
	/* `size` bytes that a task wrote to its standard output, or to its standard error */
	void (*output)(void *data, int task, bool is_error, const char *bytes, size_t size);
	/* `size` bytes of that stream are lost, because the spool does not have them any more */
	void (*skipped)(void *data, int task, bool is_error, long long size);
	/* the sub-step has ended, and all of its output was passed to the caller */
	void (*ended)(void *data, const struct rota_end *end);
	/* called in place of all other callbacks: the step manager has refused the sub-step. `hint` is the next step, "" if
	 * there is none */
	void (*refused)(void *data, const char *message, const char *hint);
	/* the input of the tasks on `node` ended early, because the step manager there was started again; the sub-step goes on */
	void (*input_lost)(void *data, const char *node);
};

/* Connect to the socket `path`, NULL: that of $ROTA_STEP_SOCKET. Returns NULL with a message in `error` (of `size` bytes) on
 * failure. */
struct rota_steps *rota_steps_connect(const char *path, char *error, size_t size);

/* Take over a connected stream socket. The connection is not made again when it breaks. */
struct rota_steps *rota_steps_adopt(int descriptor);

/* Close the connection and free it. The manager cancels sub-steps that have not ended, except those with `detach`. Requests
 * that were not sent yet are lost: see rota_steps_flush(). */
void rota_steps_disconnect(struct rota_steps *s);

/* Returns the message of the last function that failed. It is valid until the next call. */
const char *rota_steps_error(const struct rota_steps *s);

/* Environment (NULL at the end) and folder of all sub-steps that have none of their own. Either may be NULL. Call it before
 * the first rota_steps_run(), at most once. Returns false if they are not UTF-8 or longer than a message may be. */
bool rota_steps_defaults(struct rota_steps *s, const char *const *env, const char *cwd);

/* Queue a sub-step. Returns the number of the request, or 0 on failure: a text is not UTF-8, or the request is longer than 1
 * MiB. The request is sent with others when the program next waits or calls rota_steps_flush(). */
long long rota_steps_run(struct rota_steps *s, const struct rota_run *run, const struct rota_callbacks *callbacks, void *data);

/* rota_steps_input() writes bytes to the standard input of the tasks of a request whose `input` is "client";
 * rota_steps_input_end() closes that input. Input that the step manager had not passed on when it was killed is lost. */
void rota_steps_input(struct rota_steps *s, long long request, const void *bytes, size_t size);
void rota_steps_input_end(struct rota_steps *s, long long request);

/* rota_steps_attach() follows a sub-step: its output from the first byte that is kept on, or its terminal from the present screen
 * on. `callbacks` are called as for rota_steps_run(). Returns the number of the request, or 0 on failure. */
struct rota_attach {
	const char *
		/* for a terminal: "live" (as a terminal shows it), "follow" (text, each line when it is complete) or "text" (the
		 * text of the screen, then the request ends) */
		mode;
	int lines;		 /* for the modes "text" and "follow": lines of scrollback before the screen */
	bool input;		 /* rota_steps_input() and rota_steps_resize() work on the request */
	const char *user, *host; /* user and host of the person who attaches; NULL: unknown */
};
long long rota_steps_attach(struct rota_steps *s, int substep, const struct rota_attach *how,
			    const struct rota_callbacks *callbacks, void *data);

/* Set the size of the terminal of a request's sub-step. The last size that any program has set is valid. */
void rota_steps_resize(struct rota_steps *s, long long request, int rows, int cols);

/* Return the number of calls of rota_steps_run() whose sub-steps have not ended, and the number of bytes that are not sent yet. */
size_t rota_steps_unfinished(const struct rota_steps *s);
size_t rota_steps_unsent(const struct rota_steps *s);

/* For an event loop of the caller: these return the descriptor of the connection, and the events of poll(2) to wait for. Both may
 * change with each call of rota_steps_handle(), which receives events, sends requests and calls callbacks. Returns false if the
 * connection is lost for good. */
int rota_steps_descriptor(const struct rota_steps *s);
short rota_steps_events(const struct rota_steps *s);
bool rota_steps_handle(struct rota_steps *s);

/* Wait up to `milliseconds` (-1: without end) for events, and handle them. Returns true early after a signal. */
bool rota_steps_poll(struct rota_steps *s, int milliseconds);

/* rota_steps_wait() waits until all requests have ended, rota_steps_flush() until all are sent. */
bool rota_steps_wait(struct rota_steps *s);
bool rota_steps_flush(struct rota_steps *s);

/* Questions to the step manager. Each waits for the answer, and returns NULL or false if the step manager refuses. The caller
 * owns the returned JSON lists, of objects as in docs/step-protocol.md. rota_steps_list(): sub-steps. rota_steps_resources():
 * nodes. rota_steps_usage(): present use of resources by running sub-steps; it takes a fraction of a second. */
json_t *rota_steps_list(struct rota_steps *s);
json_t *rota_steps_usage(struct rota_steps *s);
json_t *rota_steps_resources(struct rota_steps *s);
/* Give back nodes of the step, never its first one: those named in `nodes` (n7, n[7-9]) or, if `nodes` is "", any `count` nodes,
 * those of growths first. `force`: also nodes with running sub-steps or tasks of the step, which are ended. Returns the names of
 * the nodes that were given back. */
json_t *rota_steps_shrink(struct rota_steps *s, const char *nodes, int count, bool force);
bool rota_steps_cancel(struct rota_steps *s, int substep);
bool rota_steps_signal(struct rota_steps *s, int substep, int signal);

/* Wait until the sub-step with number `substep`, of any client, has ended, and set `end`. Its texts are valid until the next
 * call. */
bool rota_steps_wait_for(struct rota_steps *s, int substep, struct rota_end *end);

/* Wait until no other program is connected to the step manager, and no sub-step waits or runs. Sets `end` to the highest exit
 * code and the first signal of all sub-steps. Only one program at a time may wait for this. */
bool rota_steps_hold(struct rota_steps *s, struct rota_end *end);

/* Ask the manager to cancel a sub-step, without waiting for the answer. */
void rota_steps_send_cancel(struct rota_steps *s, int substep);

#endif
