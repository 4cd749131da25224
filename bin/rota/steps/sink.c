/* sink.c - writes the output of tasks to a descriptor (sink.h).
 *
 * Called by: run_one.c, run_each.c.
 * Invariants:
 * - Without labels, every byte passes through in the order in which it came.
 * - With labels, a line of one task is never within a line of another. */
#include "bin/rota/steps/sink.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/err.h"

/* Beginning of a line of one task. */
struct sink_line {
	char *bytes;
	size_t size, room;
};

struct sink {
	int fd;
	bool label, unbuffered;
	struct sink_line *lines; /* by task */
	int count;
	int open_task; /* unbuffered: whose line is unfinished on the descriptor, -1: none */
	char *out;     /* text for the next write(2) */
	size_t size, room;
};

struct sink *sink_new(int fd, bool label, bool unbuffered)
{
	struct sink *s = xcalloc(1, sizeof(*s));

	s->fd = fd;
	s->label = label;
	s->unbuffered = unbuffered;
	s->open_task = -1;
	return s;
}

bool sink_write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t part = write(fd, bytes, size);

		if (part < 0 && errno == EAGAIN)
			poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
		else if (part < 0 && errno != EINTR)
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

/* Add whole lines, and store the beginning of the last one. */
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
	free(s->lines);
	free(s->out);
	free(s);
	return good;
}
