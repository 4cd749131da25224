/* script_worker.c - starts, feeds and replaces the processes `rota-lua serve` (script_worker.h).
 *
 * Called by: script_socket.c with requests; runner.c when a process ended.
 * Invariants:
 * - A worker has one request at a time. So an answer belongs to its request, and a request that hangs delays no other.
 * - A worker that does not answer in time, dies or writes anything else than one line is killed. The next request starts another
 *   worker.
 * - runnerd does not parse requests and answers: no text of a user or a script in them has an effect on runnerd. */
#include "runner/script_worker.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/daemon.h"
#include "lib/err.h"
#include "lib/hook_call.h"
#include "lib/log.h"
#include "lib/text.h"
#include "runner/hook_environment.h"
#include "runner/spawn.h"

enum {
	ANSWER_MOST = HOOK_CALL_MOST - 64, /* most bytes of an answer of rota-lua; the socket adds an id before it */
	GRACE_MS = 500,	 /* milliseconds after hooks.call_seconds in which the worker may still end a call itself */
	QUEUE_FACTOR = 5 /* a request waits for a free worker for at most so many times hooks.call_seconds */
};

enum worker_state {
	WORKER_NONE, /* no process */
	WORKER_IDLE,
	WORKER_BUSY,
	WORKER_DYING /* killed, but not reaped yet */
};

struct script_work {
	TAILQ_ENTRY(script_work) next; /* next request in the queue */
	char *request;		       /* text of the request, "SCRIPT FUNCTION BODY", without a NUL at its end */
	size_t length;
	script_work_done *done;
	void *arg;
	int64_t queued_us;
};

struct worker {
	struct script_workers *all;
	enum worker_state state;
	pid_t pid;
	struct bufferevent *stream;
	struct event *deadline;
	struct script_work *work; /* request that the worker answers, while WORKER_BUSY */
};

struct script_workers {
	struct event_base *base;
	const struct conf *conf;
	int count;
	struct worker *workers;
	TAILQ_HEAD(, script_work) queue;
};

static void worker_next(struct script_workers *all);

static void work_finish(struct script_work *work, const char *answer)
{
	work->done(answer, work->arg);
	free(work->request);
	free(work);
}

char *script_work_error(const char *text)
{
	json_t *answer = json_pack("{s:s}", "error", text);
	char *line = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

	json_decref(answer);
	return line ? line : xstrdup("{\"error\":\"the request failed\"}");
}

static void work_fail(struct script_work *work, const char *why)
{
	char *answer = script_work_error(why);

	work_finish(work, answer);
	free(answer);
}

/* Kill the worker. If it has a request, this is answered with the error `why`. */
static void worker_kill(struct worker *w, const char *why)
{
	struct script_work *work = w->work;

	if (work)
		log_warning("process %d, which calls a function of a site's script, is killed: %s", (int)w->pid, why);
	kill(-w->pid, SIGKILL);
	w->state = WORKER_DYING;
	w->work = NULL;
	event_del(w->deadline);
	bufferevent_free(w->stream);
	w->stream = NULL;
	if (work)
		work_fail(work, why);
}

static void worker_timed_out(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	char why[64];

	(void)fd;
	(void)what;
	snprintf(why, sizeof why, "the script took longer than %d second%s", w->all->conf->hooks_call_seconds,
		 text_plural(w->all->conf->hooks_call_seconds));
	worker_kill(w, why);
}

static void worker_read(struct bufferevent *stream, void *arg)
{
	struct worker *w = arg;
	struct script_work *work = w->work;
	struct evbuffer *input = bufferevent_get_input(stream);
	size_t length;
	char *line = evbuffer_readln(input, &length, EVBUFFER_EOL_LF);

	if (!line && evbuffer_get_length(input) <= ANSWER_MOST)
		return;
	if (!line || strlen(line) != length || length > ANSWER_MOST || !work || evbuffer_get_length(input)) {
		free(line);
		worker_kill(w, "rota-lua wrote what is no answer");
		return;
	}
	w->state = WORKER_IDLE;
	w->work = NULL;
	event_del(w->deadline);
	work_finish(work, line);
	free(line);
	worker_next(w->all);
}

static void worker_ended(struct bufferevent *stream, short what, void *arg)
{
	(void)stream;
	(void)what;
	worker_kill(arg, "rota-lua ended unexpectedly");
}

/* Execute rota-lua with one end of a socket pair as its standard input and output. Returns its pid, or 0 with an error. */
static pid_t worker_execute(const struct conf *conf, int fd, struct err *e)
{
	char memory[16], seconds[16], *path = daemon_beside("rota-lua", e);
	char **environment = hook_environment(NULL, 0, conf->instance_name);
	char *job_submit = conf->hooks_job_submit, *burst_buffer = conf->hooks_burst_buffer;
	pid_t pid = 0;

	snprintf(memory, sizeof memory, "%d", conf->hooks_memory_mb);
	snprintf(seconds, sizeof seconds, "%d", conf->hooks_call_seconds);
	char *argv[] = {path,		"serve",    "--memory-mb",    memory,	    "--seconds", seconds,
			"--job-submit", job_submit, "--burst-buffer", burst_buffer, NULL};
	if (path) {
		pid = spawn_start(&(struct spawn){.path = path,
						  .argv = argv,
						  .environment = environment,
						  .input = fd,
						  .output = fd,
						  .errors = STDERR_FILENO});
		if (!pid)
			err_sys(e, "could not execute \"%s\"", path);
	}
	hook_environment_free(environment);
	free(path);
	return pid;
}

static bool worker_start(struct worker *w, struct err *e)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(e, "could not make a socket pair");
	w->pid = worker_execute(w->all->conf, ends[1], e);
	close(ends[1]);
	if (!w->pid) {
		close(ends[0]);
		return false;
	}
	evutil_make_socket_nonblocking(ends[0]);
	w->stream = bufferevent_socket_new(w->all->base, ends[0], BEV_OPT_CLOSE_ON_FREE);
	if (!w->stream)
		die("out of memory");
	bufferevent_setcb(w->stream, worker_read, NULL, worker_ended, w);
	bufferevent_enable(w->stream, EV_READ | EV_WRITE);
	w->state = WORKER_IDLE;
	return true;
}

/* Returns an idle worker, or a worker without a process, which can be started; NULL: all workers are busy. */
static struct worker *worker_find(struct script_workers *all)
{
	struct worker *found = NULL;

	for (int i = 0; i < all->count; i++) {
		if (all->workers[i].state == WORKER_IDLE)
			return &all->workers[i];
		if (all->workers[i].state == WORKER_NONE && !found)
			found = &all->workers[i];
	}
	return found;
}

static void worker_give(struct worker *w, struct script_work *work)
{
	const int limit = w->all->conf->hooks_call_seconds;

	bufferevent_write(w->stream, work->request, work->length);
	bufferevent_write(w->stream, "\n", 1);
	w->state = WORKER_BUSY;
	w->work = work;
	event_add(w->deadline, &(struct timeval){.tv_sec = limit, .tv_usec = GRACE_MS * 1000});
}

/* Pass the first requests of the queue to free workers. */
static void worker_next(struct script_workers *all)
{
	const int64_t limit = all->conf->hooks_call_seconds * QUEUE_FACTOR;
	struct script_work *work;
	struct worker *w;
	char why[64];

	while ((work = TAILQ_FIRST(&all->queue)) && (w = worker_find(all))) {
		struct err e;

		TAILQ_REMOVE(&all->queue, work, next);
		if (clock_boot_us() - work->queued_us > limit * 1000000) {
			snprintf(why, sizeof why, "no process was free for %lld second%s", (long long)limit, text_plural(limit));
			work_fail(work, why);
		} else if (w->state == WORKER_NONE && !worker_start(w, &e)) {
			log_error("%s", e.message);
			work_fail(work, e.message);
		} else {
			worker_give(w, work);
		}
	}
}

struct script_workers *script_workers_new(struct event_base *base, const struct conf *conf)
{
	struct script_workers *all = xcalloc(1, sizeof *all);

	all->base = base;
	all->conf = conf;
	all->count = conf->hooks_workers;
	all->workers = xcalloc((size_t)all->count, sizeof *all->workers);
	TAILQ_INIT(&all->queue);
	for (int i = 0; i < all->count; i++) {
		all->workers[i].all = all;
		all->workers[i].deadline = evtimer_new(base, worker_timed_out, &all->workers[i]);
	}
	return all;
}

void script_workers_free(struct script_workers *all)
{
	struct script_work *work;

	if (!all)
		return;
	for (int i = 0; i < all->count; i++) {
		if (all->workers[i].state == WORKER_IDLE || all->workers[i].state == WORKER_BUSY)
			worker_kill(&all->workers[i], "runnerd ends"); /* the supervisor makes sure */
		event_free(all->workers[i].deadline);
	}
	while ((work = TAILQ_FIRST(&all->queue))) {
		TAILQ_REMOVE(&all->queue, work, next);
		work_fail(work, "runnerd ends");
	}
	free(all->workers);
	free(all);
}

void script_worker_request(struct script_workers *all, const char *request, size_t length, script_work_done *done, void *arg)
{
	struct script_work *work = xcalloc(1, sizeof *work);

	*work = (struct script_work){.length = length, .done = done, .arg = arg, .queued_us = clock_boot_us()};
	work->request = memcpy(xmalloc(length), request, length);
	TAILQ_INSERT_TAIL(&all->queue, work, next);
	worker_next(all);
}

bool script_worker_reap(struct script_workers *all, pid_t pid)
{
	for (int i = 0; all && i < all->count; i++) {
		struct worker *w = &all->workers[i];

		if (w->state == WORKER_NONE || w->pid != pid)
			continue;
		if (w->state != WORKER_DYING)
			worker_kill(w, "rota-lua ended unexpectedly");
		spawn_reap(pid);
		w->pid = 0;
		w->state = WORKER_NONE;
		worker_next(all);
		return true;
	}
	return false;
}
