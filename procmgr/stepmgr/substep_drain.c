/* substep_drain.c - output of tasks on its way from pipes to spools (substep_drain.h).
 *
 * Called by: substep_task.c at a start, substep_recovery.c for tasks of an earlier step manager, substep_engine.c at the end of a task.
 * Invariants:
 * - A pipe is emptied whether or not anybody reads the spool. So no task fills the memory of the step, however fast it writes. A
 *   task waits while this process does not run, and while the client that runs it lags but still reads: a client that has read
 *   nothing for a second is not waited for.
 * - A spool is made at the first byte, before that is read from the pipe. So a task that writes nothing has no spool.
 * - The task has its pipe open for reading too. So it gets no SIGPIPE while the step manager is dead: the store holds the pipe, or it is
 *   lost (substep_store.c), and then the task waits when it is full. */
#include "procmgr/stepmgr/substep_drain.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "procmgr/stepmgr/substep_parts.h"

/* PIECE: bytes of one read. PIECES_MOST: most reads in a row from one pipe, which is the size of the largest pipe. PAUSE_USEC:
 * pause before a pipe is looked at again. */
enum { PIECE = 65536, PIECES_MOST = 32, PAUSE_USEC = 2000 };

static void close_pipe(struct substep_drain *d)
{
	if (d->readable)
		event_free(d->readable);
	if (d->paused)
		event_free(d->paused);
	if (d->pipe >= 0)
		close(d->pipe);
	*d = (struct substep_drain){.pipe = -1};
}

static bool is_needed(const struct substep_stored *stored, void *arg)
{
	const struct substep_engine *m = arg;
	const struct substep *s = stored->number > 0 && stored->number <= m->count ? m->all[stored->number - 1] : NULL;
	return s && s->tasks && s->run == stored->run && stored->rank >= 0 && stored->rank < s->ntasks &&
	       stored->files == s->tasks[stored->rank].stored;
}

void substep_drain_store(struct substep_task *t)
{
	struct substep *s = t->substep;
	int fds[SUBSTEP_STORED_MOST];
	t->stored = 0;
	for (int stream = 0; stream < SUBSTEP_STREAMS; stream++) {
		fds[stream] = t->drains[stream].pipe;
		fds[SUBSTEP_STORED_SPOOLS + stream] = t->spools[stream].fd;
	}
	for (int i = 0; i < SUBSTEP_STORED_MOST; i++)
		t->stored |= fds[i] >= 0 ? 1 << i : 0;
	struct substep_stored stored = {s->number, s->run, (int)(t - s->tasks), t->stored};
	if (t->stored != 0)
		substep_store_put(&stored, fds, is_needed, s->engine);
}

bool substep_drain_make_spool(struct substep_task *t, int stream)
{
	struct substep_spool *spool = &t->spools[stream];
	struct err e;
	if (spool->fd >= 0)
		return true;
	if (!substep_spool_make(spool, &e))
		return false;
	substep_drain_store(t);
	return true;
}

static int stream_of(const struct substep_drain *d)
{
	return (int)(d - d->task->drains);
}

/* Returns how many bytes the pipe has. */
static int waiting_bytes(const struct substep_drain *d)
{
	int size = 0;
	return d->pipe >= 0 && ioctl(d->pipe, FIONREAD, &size) == 0 ? size : 0;
}

/* Returns true if the pipe has no bytes, or there is a spool for them. Makes the spool if need be. */
static bool has_place(const struct substep_drain *d)
{
	return d->task->spools[stream_of(d)].fd >= 0 || waiting_bytes(d) == 0 || substep_drain_make_spool(d->task, stream_of(d));
}

/* Move one piece from the pipe to the spool. Returns its size; 0: no process has the pipe open any more; -1: the pipe is
 * empty. */
static ssize_t move_piece(struct substep_drain *d)
{
	static char bytes[PIECE];
	ssize_t size = read(d->pipe, bytes, sizeof bytes);
	if (size > 0 && substep_drain_make_spool(d->task, stream_of(d))) /* the first byte may have come since has_place() */
		substep_spool_add(&d->task->spools[stream_of(d)], bytes, (size_t)size);
	return size;
}

/* Move all bytes of the pipe to the spool, but at most PIECES_MOST pieces: a process may write without a pause. */
static void move_all(struct substep_drain *d)
{
	for (int pieces = 0; pieces < PIECES_MOST && waiting_bytes(d) > 0 && has_place(d) && move_piece(d) > 0; pieces++)
		continue;
}

/* Called when the pipe has output, or a pause is over. While the client lags, or no spool can be made, the pipe is not read until
 * after a further pause. */
static void pipe_readable(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval pause = {.tv_usec = PAUSE_USEC};
	struct substep_drain *d = arg;
	struct substep_task *t = d->task;
	struct substep_engine *m = t->substep->engine;
	(void)fd;
	if (m->handlers->lags(t->substep, (int)(t - t->substep->tasks), stream_of(d)) || !has_place(d)) {
		event_del(d->readable);
		event_add(d->paused, &pause);
		return;
	}
	if (what & EV_TIMEOUT)
		event_add(d->readable, NULL);
	ssize_t size = move_piece(d);
	if (size > 0)
		m->handlers->output(t->substep);
	else if (size == 0)
		close_pipe(d);
}

static void drain_watch(struct substep_engine *m, struct substep_task *t, int stream, int pipe)
{
	struct substep_drain *d = &t->drains[stream];
	*d = (struct substep_drain){.task = t,
				    .pipe = pipe,
				    .readable = event_new(m->base, pipe, EV_READ | EV_PERSIST, pipe_readable, d),
				    .paused = evtimer_new(m->base, pipe_readable, d)};
	event_add(d->readable, NULL);
}

/* Returns a descriptor of the pipe that reads and writes; -1 on an error. */
static int open_both(int end)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", end);
	return open(path, O_RDWR | O_CLOEXEC);
}

int substep_drain_open(struct substep_engine *m, struct substep_task *t, int stream, struct err *e)
{
	int ends[2], both;
	close_pipe(&t->drains[stream]); /* close the pipe of an earlier start that failed */
	substep_spool_close(&t->spools[stream]);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		err_sys(e, "could not make a pipe for output");
		return -1;
	}
	both = open_both(ends[1]);
	close(ends[1]);
	t->drains[stream].pipe = ends[0];
	if (both < 0) {
		err_sys(e, "could not open a pipe for output");
		close_pipe(&t->drains[stream]);
		return -1;
	}
	drain_watch(m, t, stream, ends[0]);
	return both;
}

static void adopt_pipe(struct substep_engine *m, struct substep_task *t, int stream, int pipe)
{
	close_pipe(&t->drains[stream]);
	if (pipe >= 0)
		drain_watch(m, t, stream, pipe);
}

void substep_drain_adopt(struct substep_engine *m, struct substep_task *t, int files, const int fds[SUBSTEP_STORED_MOST])
{
	t->stored = files;
	for (int stream = 0; stream < SUBSTEP_STREAMS; stream++) {
		adopt_pipe(m, t, stream, fds[stream]);
		if (fds[SUBSTEP_STORED_SPOOLS + stream] >= 0)
			substep_spool_adopt(&t->spools[stream], fds[SUBSTEP_STORED_SPOOLS + stream]);
	}
}

void substep_drain_finish(struct substep_task *t)
{
	for (int stream = 0; stream < SUBSTEP_STREAMS; stream++) {
		struct substep_spool *spool = &t->spools[stream];
		move_all(&t->drains[stream]);
		if (spool->fd < 0) /* no spool could be made: readers are sent how much is lost */
			spool->lowest = spool->size += waiting_bytes(&t->drains[stream]);
		close_pipe(&t->drains[stream]);
	}
}
