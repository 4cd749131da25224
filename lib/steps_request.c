/* steps_request.c - the requests that have not ended, by number and in the order of their numbers.
 *
 * Called by: steps_event.c, steps_connection.c, steps_ask.c, rota_steps.c. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/steps_inside.h"

bool steps_fail(struct rota_steps *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->error, sizeof(s->error), format, args);
	va_end(args);
	return false;
}

struct steps_request *steps_request_find(const struct rota_steps *s, long long id)
{
	struct steps_request *r = s->buckets[id & (STEPS_BUCKETS - 1)];

	while (r && r->id != id)
		r = r->chain;
	return r;
}

void steps_request_insert(struct rota_steps *s, struct steps_request *r)
{
	struct steps_request **bucket = &s->buckets[r->id & (STEPS_BUCKETS - 1)];

	r->chain = *bucket;
	*bucket = r;
	r->previous = s->last;
	if (s->last)
		s->last->next = r;
	else
		s->first = r;
	s->last = r;
	s->unfinished++;
}

void steps_request_free(struct steps_request *r)
{
	free(r->text);
	free(r->streams);
	free(r);
}

void steps_request_remove(struct rota_steps *s, struct steps_request *r)
{
	struct steps_request **at = &s->buckets[r->id & (STEPS_BUCKETS - 1)];

	while (*at != r)
		at = &(*at)->chain;
	*at = r->chain;
	if (r->previous)
		r->previous->next = r->next;
	else
		s->first = r->next;
	if (r->next)
		r->next->previous = r->previous;
	else
		s->last = r->previous;
	s->unfinished--;
}

struct steps_stream *steps_request_stream(struct steps_request *r, int task, bool is_error)
{
	size_t at = 2 * (size_t)task + is_error;

	if (at >= r->stream_count) {
		r->streams = steps_alloc(r->streams, (at + 2) * sizeof(*r->streams));
		memset(r->streams + r->stream_count, 0, (at + 2 - r->stream_count) * sizeof(*r->streams));
		r->stream_count = at + 2;
	}
	return &r->streams[at];
}

char *steps_request_text(struct rota_steps *s, json_t *o)
{
	char *text = json_dumps(o, JSON_COMPACT);

	json_decref(o);
	if (text && strlen(text) < STEPS_MESSAGE_MOST)
		return text;
	free(text);
	steps_fail(s, "the request is longer than 1 MiB; shorten its arguments or its environment");
	return NULL;
}
