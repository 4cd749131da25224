/* sink.c - writes the output of tasks to a descriptor (sink.h).
 *
 * Called by: run_one.c, run_each.c.
 * Invariants:
 * - Without labels, every byte passes through in the order in which it came.
 * - With labels, a line of one task is never within a line of another.
 * - If the reader of the descriptor does not read, output waits; but SIGTERM and SIGHUP still end this program. */
#include "bin/rota/steps/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/err.h"

enum { LOOK_MS = 100 };

/* The unfinished line of one task. */
struct sink_line {
	char *bytes;
	size_t size, room;
};

struct sink {
	int fd;
	int own; /* descriptor that only this sink has open, for a terminal or pipe; -1: none */
	bool label, unbuffered;
	struct sink_line *lines; /* unfinished lines, by rank of the task */
	int count;
	int open_task; /* without buffers: rank of the task whose line on the descriptor is unfinished; -1: none */
	char *out;     /* text for the next write(2) */
	size_t size, room;
};

/* Returns a new, non-blocking descriptor of the terminal or pipe `fd`, without an effect on other programs that have it. -1: `fd`
 * is neither, or cannot be opened again. */
static int open_again(int fd)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return !fstat(fd, &st) && (S_ISFIFO(st.st_mode) || isatty(fd)) ? open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
								       : -1;
}

struct sink *sink_new(int fd, bool label, bool unbuffered)
{
	struct sink *s = xcalloc(1, sizeof(*s));

	s->own = open_again(fd);
	s->fd = s->own >= 0 ? s->own : fd;
	s->label = label;
	s->unbuffered = unbuffered;
	s->open_task = -1;
	return s;
}

/* Wait until the descriptor takes bytes. Returns false with EINTR if a signal that ends this program came first. Such signals are blocked
 * (session_signals), so they are pending until the caller reads them. */
static bool wait_for_room(int fd)
{
	sigset_t pending;

	while (poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, LOOK_MS) <= 0) {
		sigpending(&pending);
		if (sigismember(&pending, SIGTERM) || sigismember(&pending, SIGHUP)) {
			errno = EINTR;
			return false;
		}
	}
	return true;
}

/* Returns how many bytes a write to the descriptor takes, if the descriptor takes any. */
static size_t write_most(int fd)
{
	struct stat st;

	return fcntl(fd, F_GETFL) & O_NONBLOCK || (!fstat(fd, &st) && S_ISREG(st.st_mode)) ? SSIZE_MAX : PIPE_BUF;
}

bool sink_write_all(int fd, const char *bytes, size_t size)
{
	size_t most = size ? write_most(fd) : 0;

	while (size) {
		if (!wait_for_room(fd))
			return false;
		ssize_t part = write(fd, bytes, size < most ? size : most);

		if (part < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		if (part > 0) {
			bytes += part;
			size -= (size_t)part;
		}
	}
	return true;
}

static void sink_add(struct sink *s, const char *bytes, size_t size)
{
	if (s->room - s->size < size) {
		s->room = s->room * 2 + size;
		s->out = xrealloc(s->out, s->room);
	}
	if (size)
		memcpy(s->out + s->size, bytes, size);
	s->size += size;
}

static void sink_add_label(struct sink *s, int task)
{
	char label[32];

	sink_add(s, label, (size_t)snprintf(label, sizeof(label), "%d: ", task));
}

static struct sink_line *sink_line_of(struct sink *s, int task)
{
	if (task >= s->count) {
		s->lines = xrealloc(s->lines, ((size_t)task + 1) * sizeof(*s->lines));
		memset(s->lines + s->count, 0, ((size_t)task + 1 - (size_t)s->count) * sizeof(*s->lines));
		s->count = task + 1;
	}
	return &s->lines[task];
}

static void line_add(struct sink_line *line, const char *bytes, size_t size)
{
	if (line->room - line->size < size) {
		line->room = line->room * 2 + size;
		line->bytes = xrealloc(line->bytes, line->room);
	}
	memcpy(line->bytes + line->size, bytes, size);
	line->size += size;
}

/* Add the whole lines of some output of a task, and store the beginning of its last line. */
static void sink_add_lines(struct sink *s, int task, const char *bytes, size_t size)
{
	struct sink_line *line = sink_line_of(s, task);

	while (size) {
		const char *end = memchr(bytes, '\n', size);
		size_t part = end ? (size_t)(end - bytes) + 1 : size;

		if (!end) {
			line_add(line, bytes, part);
			return;
		}
		sink_add_label(s, task);
		sink_add(s, line->bytes, line->size);
		sink_add(s, bytes, part);
		line->size = 0;
		bytes += part;
		size -= part;
	}
}

/* Add everything, with a label at the beginning of each line. A line that another task left unfinished gets a newline. */
static void sink_add_at_once(struct sink *s, int task, const char *bytes, size_t size)
{
	if (s->open_task >= 0 && s->open_task != task) {
		sink_add(s, "\n", 1);
		s->open_task = -1;
	}
	while (size) {
		const char *end = memchr(bytes, '\n', size);
		size_t part = end ? (size_t)(end - bytes) + 1 : size;

		if (s->open_task < 0)
			sink_add_label(s, task);
		sink_add(s, bytes, part);
		s->open_task = end ? -1 : task;
		bytes += part;
		size -= part;
	}
}

bool sink_write(struct sink *s, int task, const char *bytes, size_t size)
{
	if (!s->label)
		return sink_write_all(s->fd, bytes, size);
	s->size = 0;
	if (s->unbuffered)
		sink_add_at_once(s, task, bytes, size);
	else
		sink_add_lines(s, task, bytes, size);
	return sink_write_all(s->fd, s->out, s->size);
}

bool sink_close(struct sink *s)
{
	bool good;

	s->size = 0;
	if (s->open_task >= 0)
		sink_add(s, "\n", 1);
	for (int t = 0; t < s->count; t++) {
		if (s->lines[t].size) {
			sink_add_label(s, t);
			sink_add(s, s->lines[t].bytes, s->lines[t].size);
			sink_add(s, "\n", 1);
		}
		free(s->lines[t].bytes);
	}
	good = sink_write_all(s->fd, s->out, s->size);
	if (s->own >= 0)
		close(s->own);
	free(s->lines);
	free(s->out);
	free(s);
	return good;
}
