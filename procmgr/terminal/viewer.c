/* viewer.c - clients of a terminal: frames in, the screen and output of the program out.
 *
 * Called by: terminal.c, the event loop.
 * Invariants:
 * - A client that does not read delays nobody for long, and takes memory for at most QUEUE_MOST bytes and one screen. Output that
 *   it misses is replaced by the whole screen once it reads again.
 * - The program waits for a client that takes its queue within PACE_USEC, so that client sees all output, and the echo of keys at
 *   once. A slower client delays the program by PACE_USEC, and not again before it has taken its queue.
 * - A frame is sent whole or not at all.
 * - A client gets nothing before its frame `a`. */
#include "procmgr/terminal/viewer.h"

#include <arpa/inet.h>
#include <endian.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "lib/clock.h"
#include "lib/err.h"

enum { PACED = 32768, PACE_USEC = 100000, SOCKET_BUFFER = 32768 };
enum { HEADER = 5, PAYLOAD_MOST = 65536, QUEUE_MOST = 1 << 20, CLIENTS_MOST = 256, MONITOR_MOST = 4096 };

enum viewer_state {
	VIEWER_SILENT, /* the client has not sent the frame `a`, by which it attaches */
	VIEWER_LIVE,
	VIEWER_STALE,	  /* like VIEWER_LIVE, but the client's queue was dropped, so it needs the whole screen */
	VIEWER_TEXT,	  /* the client gets the text that is queued, then the frame `e` */
	VIEWER_FOLLOWING, /* the client gets each further line */
	VIEWER_MONITOR,	  /* the client gets only the times of keys and output */
	VIEWER_ENDING,	  /* the client gets all that is queued, then the frame `e` */
	VIEWER_CLOSING,	  /* the connection closes once the frame `e` is sent */
};

struct viewer {
	TAILQ_ENTRY(viewer) next;
	struct viewer_set *set;
	struct bufferevent *stream;
	struct evbuffer *queue; /* output for the client that was not put into a frame yet */
	size_t screen_size;	/* bytes of the screen that came last into the queue */
	enum viewer_state state;
	bool paused;	 /* input of the client is not read */
	bool ends;	 /* the program has ended */
	bool missed;	 /* lines for this client were dropped */
	int64_t full_at; /* when the client's queue last grew beyond PACED bytes, by clock_boot_us(); 0: the queue has fewer */
};

struct viewer_set {
	struct event_base *base;
	const struct viewer_handlers *handlers;
	struct screen *screen;
	int count;
	bool has_ended;		   /* the program of the terminal has ended */
	bool was_any;		   /* a client has attached that does not only monitor */
	int64_t key_at, output_at; /* time of the last key and of the last output, by clock_boot_us(); 0: never */
	TAILQ_HEAD(, viewer) all;
};

struct viewer_set *viewer_set_new(struct event_base *base, const struct viewer_handlers *handlers)
{
	struct viewer_set *set = xcalloc(1, sizeof *set);
	set->base = base;
	set->handlers = handlers;
	TAILQ_INIT(&set->all);
	return set;
}

void viewer_set_screen(struct viewer_set *set, struct screen *screen)
{
	set->screen = screen;
}

static void viewer_free(struct viewer *v)
{
	TAILQ_REMOVE(&v->set->all, v, next);
	v->set->count--;
	bufferevent_free(v->stream);
	evbuffer_free(v->queue);
	free(v);
}

void viewer_set_free(struct viewer_set *set)
{
	while (!TAILQ_EMPTY(&set->all))
		viewer_free(TAILQ_FIRST(&set->all));
	free(set);
}

static void send_frame(struct viewer *v, char type, const void *payload, size_t size)
{
	uint32_t length = htonl((uint32_t)size);
	struct evbuffer *out = bufferevent_get_output(v->stream);
	evbuffer_add(out, &type, 1);
	evbuffer_add(out, &length, sizeof length);
	evbuffer_add(out, payload, size);
}

static bool is_live(const struct viewer *v)
{
	return v->state == VIEWER_LIVE || v->state == VIEWER_STALE;
}

/* Send the client the size of the screen, and put the whole screen into the client's queue, which is empty. */
static void queue_screen(struct viewer *v)
{
	int rows, cols;
	screen_size(v->set->screen, &rows, &cols);
	uint16_t size[] = {htons((uint16_t)rows), htons((uint16_t)cols)};
	send_frame(v, 'w', size, sizeof size);
	screen_restore(v->set->screen, v->queue);
	v->screen_size = evbuffer_get_length(v->queue);
	v->state = VIEWER_LIVE;
}

/* If the client gets no more output and all of its queue was sent, send the frame `e`. The connection then closes. */
static void check_end(struct viewer *v)
{
	if (v->state == VIEWER_TEXT ||
	    (v->ends && (v->state == VIEWER_LIVE || v->state == VIEWER_FOLLOWING || v->state == VIEWER_MONITOR)))
		v->state = VIEWER_ENDING;
	if (v->state != VIEWER_ENDING || evbuffer_get_length(v->queue) > 0)
		return;
	send_frame(v, 'e', "", 0);
	v->state = VIEWER_CLOSING;
}

/* Update v->full_at from the bytes that wait for the client. Calls the handler `room` if the client has taken so many that PACED
 * or fewer are left. */
static void note_queue(struct viewer *v)
{
	size_t size = evbuffer_get_length(v->queue) + evbuffer_get_length(bufferevent_get_output(v->stream));
	bool was_full = v->full_at != 0;
	if (size <= PACED)
		v->full_at = 0;
	else if (!was_full)
		v->full_at = clock_boot_us();
	if (was_full && v->full_at == 0)
		v->set->handlers->room();
}

/* Move one frame of the queue into the stream, if the stream has no bytes to send. */
static void viewer_pump(struct viewer *v)
{
	static char bytes[PAYLOAD_MOST];
	if (evbuffer_get_length(bufferevent_get_output(v->stream)) > 0 || v->state == VIEWER_CLOSING)
		return;
	if (v->state == VIEWER_STALE)
		queue_screen(v);
	int size = evbuffer_remove(v->queue, bytes, sizeof bytes);
	if (size > 0)
		send_frame(v, 'o', bytes, (size_t)size);
	check_end(v);
}

static void queue_add(struct viewer *v, const char *bytes, size_t size)
{
	evbuffer_add(v->queue, bytes, size);
	if (evbuffer_get_length(v->queue) > QUEUE_MOST + v->screen_size) {
		evbuffer_drain(v->queue, evbuffer_get_length(v->queue));
		v->missed = v->state == VIEWER_FOLLOWING;
		v->state = v->state == VIEWER_LIVE ? VIEWER_STALE : v->state;
	}
	viewer_pump(v);
	note_queue(v);
}

void viewer_send_live(struct viewer_set *set, const char *bytes, size_t size)
{
	struct viewer *v;
	TAILQ_FOREACH (v, &set->all, next) {
		if (v->state == VIEWER_LIVE)
			queue_add(v, bytes, size);
	}
}

void viewer_send_line(struct viewer_set *set, const char *text, size_t size)
{
	static const char note[] = "[lines are missing here: they came faster than they were read]\n";
	struct viewer *v;
	TAILQ_FOREACH (v, &set->all, next) {
		if (v->state != VIEWER_FOLLOWING)
			continue;
		if (v->missed)
			evbuffer_add(v->queue, note, sizeof note - 1);
		v->missed = false;
		queue_add(v, text, size);
	}
}

void viewer_send_screen(struct viewer_set *set)
{
	struct viewer *v;
	TAILQ_FOREACH (v, &set->all, next) {
		if (v->state != VIEWER_LIVE)
			continue;
		evbuffer_drain(v->queue, evbuffer_get_length(v->queue));
		v->state = VIEWER_STALE;
		viewer_pump(v);
	}
}

/* Send a monitor the times of the last key and output. If it does not read, the times are dropped: the next ones replace them. */
static void send_times(struct viewer *v)
{
	uint64_t times[] = {htobe64((uint64_t)v->set->key_at), htobe64((uint64_t)v->set->output_at)};
	if (evbuffer_get_length(bufferevent_get_output(v->stream)) < MONITOR_MOST)
		send_frame(v, 't', times, sizeof times);
}

void viewer_send_activity(struct viewer_set *set, int64_t key_at, int64_t output_at)
{
	struct viewer *v;
	set->key_at = key_at;
	set->output_at = output_at;
	TAILQ_FOREACH (v, &set->all, next) {
		if (v->state == VIEWER_MONITOR)
			send_times(v);
	}
}

static bool take_attach(struct viewer *v, const unsigned char *payload, size_t size)
{
	uint32_t lines;
	if (size != 1 + sizeof lines || v->state != VIEWER_SILENT)
		return false;
	memcpy(&lines, payload + 1, sizeof lines);
	v->set->was_any = v->set->was_any || *payload != 'm';
	switch (*payload) {
	case 'l':
		queue_screen(v);
		break;
	case 't':
	case 'f':
		screen_text(v->set->screen, ntohl(lines), v->queue);
		v->screen_size = evbuffer_get_length(v->queue);
		v->state = *payload == 't' ? VIEWER_TEXT : VIEWER_FOLLOWING;
		break;
	case 'm':
		v->state = VIEWER_MONITOR;
		send_times(v);
		return true;
	default:
		return false;
	}
	viewer_pump(v);
	return true;
}

static bool take_frame(struct viewer *v, char type, const unsigned char *payload, size_t size)
{
	switch (type) {
	case 'a':
		return take_attach(v, payload, size);
	case 'i':
		v->paused = !v->set->handlers->input((const char *)payload, size);
		return true;
	case 's':
		if (size != 4)
			return false;
		v->set->handlers->size(payload[0] << 8 | payload[1], payload[2] << 8 | payload[3]);
		return true;
	case 'n': /* the text informs people, and is not part of the screen */
		viewer_send_live(v->set, (const char *)payload, size);
		return true;
	default:
		return false;
	}
}

/* Handle all frames that have come from a client. May free the client. */
static void viewer_read(struct bufferevent *stream, void *arg)
{
	struct viewer *v = arg;
	struct evbuffer *in = bufferevent_get_input(stream);
	unsigned char header[HEADER];
	while (!v->paused && evbuffer_copyout(in, header, HEADER) == HEADER) {
		uint32_t length;
		memcpy(&length, header + 1, sizeof length);
		length = ntohl(length);
		if (length > PAYLOAD_MOST) {
			viewer_free(v);
			return;
		}
		if (evbuffer_get_length(in) < HEADER + length)
			break;
		const unsigned char *frame = evbuffer_pullup(in, HEADER + (ssize_t)length);
		if (!take_frame(v, (char)header[0], frame + HEADER, length)) {
			viewer_free(v);
			return;
		}
		evbuffer_drain(in, HEADER + length);
	}
	if (v->paused)
		bufferevent_disable(stream, EV_READ);
}

static void viewer_written(struct bufferevent *stream, void *arg)
{
	struct viewer *v = arg;
	(void)stream;
	if (v->state == VIEWER_CLOSING)
		viewer_free(v);
	else {
		viewer_pump(v);
		note_queue(v);
	}
}

static void viewer_failed(struct bufferevent *stream, short what, void *arg)
{
	(void)stream;
	(void)what;
	viewer_free(arg);
}

void viewer_add(struct viewer_set *set, int fd)
{
	if (set->count == CLIENTS_MOST) {
		evutil_closesocket(fd);
		return;
	}
	struct viewer *v = xcalloc(1, sizeof *v);
	/* a small buffer: output in it is older than a key that the user types */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){SOCKET_BUFFER}, sizeof(int));
	v->set = set;
	v->stream = bufferevent_socket_new(set->base, fd, BEV_OPT_CLOSE_ON_FREE);
	v->queue = evbuffer_new();
	v->ends = set->has_ended;
	bufferevent_setcb(v->stream, viewer_read, viewer_written, viewer_failed, v);
	bufferevent_setwatermark(v->stream, EV_READ, 0, HEADER + PAYLOAD_MOST);
	bufferevent_enable(v->stream, EV_READ | EV_WRITE);
	TAILQ_INSERT_TAIL(&set->all, v, next);
	set->count++;
}

void viewer_resume_input(struct viewer_set *set)
{
	struct viewer *v, *next;
	for (v = TAILQ_FIRST(&set->all); v; v = next) {
		next = TAILQ_NEXT(v, next);
		if (!v->paused)
			continue;
		v->paused = false;
		bufferevent_enable(v->stream, EV_READ);
		viewer_read(v->stream, v);
	}
}

void viewer_end(struct viewer_set *set)
{
	struct viewer *v;
	set->has_ended = true;
	TAILQ_FOREACH (v, &set->all, next) {
		v->ends = true;
		if (v->state != VIEWER_SILENT) /* a silent client gets nothing before it sends the frame `a` */
			viewer_pump(v);
	}
}

int64_t viewer_pace_usec(const struct viewer_set *set)
{
	const struct viewer *v;
	int64_t now = clock_boot_us(), most = 0;
	TAILQ_FOREACH (v, &set->all, next) {
		int64_t left = is_live(v) && v->full_at ? v->full_at + PACE_USEC - now : 0;
		most = left > most ? left : most;
	}
	return most;
}

bool viewer_any_live(const struct viewer_set *set)
{
	const struct viewer *v;
	TAILQ_FOREACH (v, &set->all, next) {
		if (is_live(v))
			return true;
	}
	return false;
}

bool viewer_any(const struct viewer_set *set)
{
	return !TAILQ_EMPTY(&set->all);
}

bool viewer_was_any(const struct viewer_set *set)
{
	return set->was_any;
}
