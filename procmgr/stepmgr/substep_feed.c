/* substep_feed.c - sends an agent the input of its tasks (substep_feed.h).
 *
 * Called by: substep_input.c, substep_part.c and substep_nodes.c. Requests to the agent are sent by m->send of the engine.
 * Invariants:
 * - The agent is sent no more than it has given credit for. So a task that does not read its input fills neither the memory of the
 *   agent nor the connection, which other sub-steps use too.
 * - Bytes are kept until the agent confirms them. On a new connection they are sent again, from the first byte that the agent
 *   lacks: none is lost or doubled.
 * - If bytes were lost nevertheless, the input of the part ends before them. */
#include "procmgr/stepmgr/substep_feed.h"

#include <stdlib.h>
#include <string.h>

#include "procmgr/stepmgr/substep_parts.h"

enum { BYTES_MOST = 65536 };

struct substep_feed {
	struct evbuffer *bytes; /* input bytes that the agent has not confirmed */
	int64_t from;		/* offset of the first byte of `bytes` in the input of the part */
	int64_t sent;		/* offset of the first byte of input that was not sent on this connection */
	int64_t credit;		/* offset of the first byte that may not be sent yet */
	bool is_open;		/* the agent has reported, on this connection, up to where it has the input */
	bool is_cut;		/* bytes of the input are lost: the input ends here */
	bool end_sent;		/* the end of the input was sent on this connection */
	bool is_over;		/* the agent needs no more input */
};

struct substep_feed *substep_feed_new(void)
{
	struct substep_feed *f = xcalloc(1, sizeof *f);
	f->bytes = evbuffer_new();
	return f;
}

void substep_feed_free(struct substep_feed *f)
{
	if (f)
		evbuffer_free(f->bytes);
	free(f);
}

static int64_t feed_end(const struct substep_feed *f)
{
	return f->from + (int64_t)evbuffer_get_length(f->bytes);
}

/* Send the next bytes of input, as many as the agent's credit allows. */
static void feed_send(const struct substep *s, const struct substep_part *part, int64_t size)
{
	static char bytes[BYTES_MOST];
	struct substep_feed *f = part->feed;
	struct evbuffer_ptr at;
	size = size < BYTES_MOST ? size : BYTES_MOST;
	evbuffer_ptr_set(f->bytes, &at, (size_t)(f->sent - f->from), EVBUFFER_PTR_SET);
	evbuffer_copyout_from(f->bytes, &at, bytes, (size_t)size);
	json_t *request = json_pack("{s:s, s:i, s:i, s:I, s:I}", "op", "input", "id", -1, "run", s->number, "offset",
				    (json_int_t)f->sent, "bytes", (json_int_t)size);
	s->engine->send(s->engine->nodes, part->node, request, bytes, (size_t)size);
	f->sent += size;
}

static void feed_pump(const struct substep *s, const struct substep_part *part)
{
	struct substep_feed *f = part->feed;
	int64_t end = feed_end(f);
	if (!f->is_open || f->is_over)
		return;
	while (f->sent < end && f->sent < f->credit)
		feed_send(s, part, (end < f->credit ? end : f->credit) - f->sent);
	if (f->sent < end || f->end_sent || !(s->input_ended || f->is_cut))
		return;
	json_t *request = json_pack("{s:s, s:i, s:i, s:I, s:b}", "op", "input", "id", -1, "run", s->number, "offset",
				    (json_int_t)f->sent, "eof", true);
	s->engine->send(s->engine->nodes, part->node, request, "", 0);
	f->end_sent = true;
}

void substep_feed_add(const struct substep *s, struct substep_part *part, const void *bytes, size_t size)
{
	struct substep_feed *f = part->feed;
	if (!f || f->is_over || part->has_ended)
		return;
	if (!f->is_cut)
		evbuffer_add(f->bytes, bytes, size);
	feed_pump(s, part);
}

void substep_feed_pause(struct substep_part *part)
{
	if (part->feed)
		part->feed->is_open = part->feed->end_sent = false;
}

/* Drop the input that waits for the part, and set s->input_lost, since tasks of the part do not get all of the input. */
static void feed_lose(struct substep *s, const struct substep_part *part)
{
	evbuffer_drain(part->feed->bytes, evbuffer_get_length(part->feed->bytes));
	if (!s->input_lost)
		s->input_lost = part->name;
}

/* Continue to send input. `received`: offset up to which the agent has the input; `credit`: offset up to which it takes more. */
static void feed_go_on(struct substep *s, const struct substep_part *part, int64_t received, int64_t credit)
{
	struct substep_feed *f = part->feed;
	if (received < f->from || received > (f->is_open ? f->sent : feed_end(f))) {
		feed_lose(s, part); /* the missing bytes were sent by an earlier step manager, or received by an earlier agent */
		f->is_cut = true;
		f->from = f->sent = received;
	}
	evbuffer_drain(f->bytes, (size_t)(received - f->from));
	f->from = received;
	if (!f->is_open)
		f->sent = received;
	f->is_open = true;
	f->credit = credit;
	feed_pump(s, part);
}

void substep_feed_take(struct substep *s, struct substep_part *part, const json_t *event)
{
	const char *state = json_string_value(json_object_get(event, "state"));
	json_int_t received = json_integer_value(json_object_get(event, "received")),
		   credit = json_integer_value(json_object_get(event, "credit"));
	struct substep_feed *f = part->feed;
	if (!f || f->is_over || !state || received < 0)
		return;
	f->is_over = strcmp(state, "open") != 0;
	if (strcmp(state, "lost") == 0)
		feed_lose(s, part);
	else if (!f->is_over)
		feed_go_on(s, part, received, credit);
	if (f->is_over)
		evbuffer_drain(f->bytes, evbuffer_get_length(f->bytes));
}

bool substep_feed_has_room(const struct substep_part *part)
{
	const struct substep_feed *f = part->feed;
	return substep_feed_is_over(part) || f->is_cut || feed_end(f) - f->sent < SUBSTEP_INPUT_MOST;
}

bool substep_feed_is_over(const struct substep_part *part)
{
	return !part->feed || part->feed->is_over || part->has_ended;
}
