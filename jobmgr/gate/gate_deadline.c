/* gate_deadline.c - deadlines of a client: for the TLS handshake, the header and the body of a request, and reading the answer.
 *
 * Called by: gate_connection.c.
 * Invariants:
 * - Bytes that are received or sent do not move a deadline, so a client that sends byte by byte gets no more time.
 * - While a request is served, the client has no deadline. The request has its own time limit (gate_call.c, gate_wait.c).
 * - A client that sends the next request before it has read the answer then has the time of a header for it. */
#include "jobmgr/gate/gate_deadline.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/ssl.h>

#include "lib/clock.h"

enum {
	DEADLINE_IDLE = 60, /* seconds for which a connection that has sent a valid credential may be idle */
	DEADLINE_CHUNK = 4096
};

static void deadline_set(struct gate_deadline *d, enum gate_phase phase, int seconds)
{
	d->phase = phase;
	d->newlines = 0;
	d->until = clock_ms() + (int64_t)seconds * 1000;
}

void gate_deadline_begin(struct gate_deadline *d, const struct conf *conf, bool is_tls)
{
	if (is_tls)
		deadline_set(d, GATE_HANDSHAKE, conf->gate_handshake_timeout);
	else
		deadline_set(d, GATE_HEADER, conf->gate_header_timeout);
}

/* Does the header end in the last `added` bytes of `input`? It ends with an empty line. */
static bool deadline_header_ends(struct gate_deadline *d, struct evbuffer *input, size_t added)
{
	char chunk[DEADLINE_CHUNK];
	struct evbuffer_ptr at;

	evbuffer_ptr_set(input, &at, evbuffer_get_length(input) - added, EVBUFFER_PTR_SET);
	while (added > 0 && d->newlines < 2) {
		ev_ssize_t size = evbuffer_copyout_from(input, &at, chunk, added < sizeof chunk ? added : sizeof chunk);

		if (size <= 0)
			break;
		for (ev_ssize_t i = 0; i < size && d->newlines < 2; i++) {
			if (chunk[i] == '\n')
				d->newlines++;
			else if (chunk[i] != '\r')
				d->newlines = 0;
		}
		added -= (size_t)size;
		evbuffer_ptr_set(input, &at, (size_t)size, EVBUFFER_PTR_ADD);
	}
	return d->newlines == 2;
}

static bool deadline_is_answer_taken(const struct gate_deadline *d, struct bufferevent *buffer)
{
	return d->phase == GATE_ANSWER && evbuffer_get_length(bufferevent_get_output(buffer)) == 0;
}

void gate_deadline_read(struct gate_deadline *d, const struct conf *conf, struct bufferevent *buffer, size_t added)
{
	if (d->phase == GATE_HANDSHAKE || d->phase == GATE_IDLE || deadline_is_answer_taken(d, buffer))
		deadline_set(d, GATE_HEADER, conf->gate_header_timeout);
	if (d->phase == GATE_HEADER && deadline_header_ends(d, bufferevent_get_input(buffer), added))
		deadline_set(d, GATE_BODY, conf->gate_body_timeout);
}

void gate_deadline_serve(struct gate_deadline *d)
{
	d->phase = GATE_SERVED;
}

void gate_deadline_written(struct gate_deadline *d, const struct conf *conf)
{
	if (d->phase == GATE_SERVED)
		deadline_set(d, GATE_ANSWER, conf->gate_answer_timeout);
}

bool gate_deadline_is_over(struct gate_deadline *d, const struct conf *conf, struct bufferevent *buffer, bool is_proven)
{
	if (d->phase == GATE_HANDSHAKE && SSL_is_init_finished(bufferevent_openssl_get_ssl(buffer)))
		deadline_set(d, GATE_HEADER, conf->gate_header_timeout);
	if (deadline_is_answer_taken(d, buffer)) {
		bool has_next = evbuffer_get_length(bufferevent_get_input(buffer)) > 0;

		deadline_set(d, has_next ? GATE_HEADER : GATE_IDLE,
			     is_proven && !has_next ? DEADLINE_IDLE : conf->gate_header_timeout);
	}
	return d->phase != GATE_SERVED && clock_ms() >= d->until;
}

bool gate_deadline_is_waiting(const struct gate_deadline *d)
{
	return d->phase != GATE_SERVED && d->phase != GATE_ANSWER;
}

const char *gate_deadline_name(const struct gate_deadline *d)
{
	static const char *const names[] = {
		[GATE_HANDSHAKE] = "TLS handshake", [GATE_HEADER] = "header", [GATE_BODY] = "body",
		[GATE_SERVED] = "request",	    [GATE_ANSWER] = "answer", [GATE_IDLE] = "next request"};

	return names[d->phase];
}
