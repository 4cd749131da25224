/* steps_event.c - passes events of the step manager to the callbacks of their requests.
 *
 * Called by: steps_connection.c; steps_ask.c to read the end of a sub-step from an answer.
 * Invariants: bytes of a stream are given to the caller once, in order: `have` is the offset of the next byte. */
#include <string.h>

#include "lib/steps_inside.h"

static int event_int(const json_t *event, const char *key)
{
	return (int)json_integer_value(json_object_get(event, key));
}

static const char *event_text(const json_t *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event, key));

	return text ? text : "";
}

struct rota_end steps_event_end(const json_t *event)
{
	return (struct rota_end){
		.substep = event_int(event, "substep"),
		.state = event_text(event, "state"),
		.cause = event_text(event, "cause"),
		.exit_code = event_int(event, "exit"),
		.signal = event_int(event, "signal"),
		.tasks_failed = event_int(event, "tasks_failed"),
		.message = event_text(event, "message"),
	};
}

/* Pass the bytes of an output event to the caller that the caller does not have yet. */
static void event_output(struct steps_request *r, const json_t *event, const char *bytes, size_t size)
{
	int task = event_int(event, "task");
	bool is_error = !strcmp(event_text(event, "stream"), "err"), skipped = !strcmp(event_text(event, "event"), "skipped");
	struct steps_stream *stream;
	long long from, lost;

	/* output of a terminal has no offsets: it begins with the whole screen */
	if (!strcmp(event_text(event, "stream"), "terminal")) {
		if (r->callbacks.output)
			r->callbacks.output(r->data, 0, false, bytes, size);
		return;
	}
	if (task < 0 || task > 1 << 24)
		return;
	stream = steps_request_stream(r, task, is_error);
	from = skipped ? stream->at + json_integer_value(json_object_get(event, "bytes_skipped"))
		       : json_integer_value(json_object_get(event, "offset"));
	lost = from - stream->have;
	if (lost > 0) {
		stream->have = from;
		if (r->callbacks.skipped)
			r->callbacks.skipped(r->data, task, is_error, lost);
	}
	stream->at = from + (long long)size;
	if (stream->at > stream->have) {
		size_t known = (size_t)(stream->have - from);

		stream->have = stream->at;
		if (r->callbacks.output)
			r->callbacks.output(r->data, task, is_error, bytes + known, size - known);
	}
}

static void event_finish(struct rota_steps *s, struct steps_request *r, const json_t *event)
{
	struct rota_end end = steps_event_end(event);

	/* the answer, the text of a terminal's screen, ends the request only; the sub-step's program goes on */
	if (!strcmp(event_text(event, "event"), "answer"))
		end = (struct rota_end){.substep = r->substep, .state = "completed", .cause = "exit", .message = ""};
	steps_request_remove(s, r);
	if (strcmp(event_text(event, "event"), "error") != 0) {
		if (r->callbacks.ended)
			r->callbacks.ended(r->data, &end);
	} else if (r->callbacks.refused) {
		r->callbacks.refused(r->data, event_text(event, "message"), event_text(event, "hint"));
	}
	steps_request_free(r);
}

/* Handle an event about the input of a sub-step. "lost" is ignored if the tasks already had all of the input, which a restarted
 * step manager does not know. */
static void event_input(struct steps_request *r, const json_t *event)
{
	bool is_lost = !strcmp(event_text(event, "state"), "lost"), was_over = r->input_over;

	r->input_over = was_over || strcmp(event_text(event, "state"), "open") != 0;
	if (is_lost && !was_over && r->callbacks.input_lost)
		r->callbacks.input_lost(r->data, event_text(event, "node"));
}

static void event_of_request(struct rota_steps *s, struct steps_request *r, const json_t *event, const char *bytes, size_t size)
{
	const char *name = event_text(event, "event");

	if (!strcmp(name, "queued")) {
		bool known = r->substep > 0;

		r->substep = event_int(event, "substep");
		if (!known && r->callbacks.queued)
			r->callbacks.queued(r->data, r->substep);
	} else if (!strcmp(name, "waiting")) {
		if (r->callbacks.waiting)
			r->callbacks.waiting(r->data, event_text(event, "reason"));
	} else if (!strcmp(name, "started")) {
		int run = event_int(event, "run");
		bool known = run <= r->run;

		if (!known && r->stream_count) /* offsets begin at 0 in each run */
			memset(r->streams, 0, r->stream_count * sizeof(*r->streams));
		r->run = known ? r->run : run;
		if (!known && r->callbacks.started)
			r->callbacks.started(r->data, event_int(event, "tasks"), run);
	} else if (!strcmp(name, "output") || !strcmp(name, "skipped")) {
		event_output(r, event, bytes, size);
	} else if (!strcmp(name, "input")) {
		event_input(r, event);
	} else if (!strcmp(name, "ended") || !strcmp(name, "error") || !strcmp(name, "answer")) {
		event_finish(s, r, event);
	}
}

bool steps_event_handle(struct rota_steps *s, json_t *event, const char *bytes, size_t size)
{
	long long id = json_integer_value(json_object_get(event, "id"));
	bool is_error = !strcmp(event_text(event, "event"), "error");
	struct steps_request *r = steps_request_find(s, id);

	if (is_error && id == 0)
		return steps_fail(s, "the step manager: %s", event_text(event, "message"));
	if (r) {
		event_of_request(s, r, event, bytes, size);
	} else if (s->question && s->question->id == id) {
		s->question->refused = is_error;
		if (is_error)
			steps_fail(s, "%s", event_text(event, "message"));
		json_decref(s->question->answer);
		s->question->answer = json_incref(event);
	}
	return true;
}
