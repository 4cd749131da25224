/* substep_reader.c - sends clients the output and the end of the sub-steps that they follow.
 *
 * Called by: substep_request.c for each request that follows a sub-step, substep_client.c when output comes or a client has room.
 * Invariants:
 * - A client that does not read delays nobody: what it has no room for stays in the spools.
 * - A reader gets the event `ended` after all output that its sub-step has written. */
#include "procmgr/stepmgr/substep_reader.h"

#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "procmgr/stepmgr/substep_parts.h"

enum { BYTES_MOST = 65536, LAG_MOST = SUBSTEP_SPOOL_MOST / 4, READS_USEC = 1000000 };

struct substep_reader *substep_reader_new(struct substep_connection *c, struct substep *s, json_int_t id)
{
	struct substep_reader *r = xcalloc(1, sizeof *r);
	r->connection = c;
	r->view.mode = 'l';
	r->substep = s;
	r->id = id;
	r->offsets = xcalloc((unsigned long)s->ntasks * SUBSTEP_STREAMS, sizeof *r->offsets);
	LIST_INSERT_HEAD(&c->readers, r, of_connection);
	if (!s->readers)
		s->readers = xcalloc(1, sizeof(struct substep_reader_list));
	LIST_INSERT_HEAD((struct substep_reader_list *)s->readers, r, of_substep);
	return r;
}

static void end_view(struct substep_reader *r)
{
	if (r->viewer)
		substep_viewer_free(r->viewer);
	r->viewer = NULL;
	substep_session_leave(r->substep, r->person);
	r->person = NULL;
}

void substep_reader_free(struct substep_reader *r)
{
	LIST_REMOVE(r, of_connection);
	LIST_REMOVE(r, of_substep);
	end_view(r);
	if (r->typed)
		evbuffer_free(r->typed);
	if (r->substep->drops_output && LIST_EMPTY((struct substep_reader_list *)r->substep->readers))
		substep_table_forget_output(r->substep);
	free(r->offsets);
	free(r->user);
	free(r->host);
	free(r);
}

/* Send the end of the sub-step. Causes and states are constants, so they need no escaping. A message is escaped; if it ends within
 * a UTF-8 character, the whole message is left out. */
static void send_ended(const struct substep_reader *r)
{
	const struct substep *s = r->substep;
	json_t *text = *s->message ? json_string(s->message) : NULL;
	char *message = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
	char *usage = r->connection->is_head ? substep_record_usage(s) : NULL;
	substep_connection_print(r->connection,
				 "{\"event\":\"%s\",\"id\":%lld,\"substep\":%d,\"state\":\"%s\",\"exit\":%d,\"signal\":%d,"
				 "\"cause\":\"%s\",\"tasks_failed\":%d%s%s%s%s}",
				 r->only_end ? "answer" : "ended", (long long)r->id, s->number, substep_table_state(s),
				 s->exit_code, s->signal, s->cause, s->tasks_failed, message ? ",\"message\":" : "",
				 message ? message : "", usage ? ",\"usage\":" : "", usage ? usage : "");
	json_decref(text);
	free(message);
	free(usage);
}

/* Send the output of one stream of a task from the reader's offset on. Returns false if the client has no room for all of it. */
static bool send_stream(struct substep_reader *r, int rank, int stream)
{
	static char bytes[BYTES_MOST];
	struct substep_spool *spool = &r->substep->tasks[rank].spools[stream];
	int64_t *offset = &r->offsets[rank * SUBSTEP_STREAMS + stream];
	const char *name = stream == SUBSTEP_OUT ? "out" : "err";
	if (*offset < spool->lowest) {
		substep_connection_send(r->connection, json_pack("{s:s, s:I, s:i, s:i, s:s, s:I}", "event", "skipped", "id",
								 r->id, "substep", r->substep->number, "task", rank, "stream",
								 name, "bytes_skipped", (json_int_t)(spool->lowest - *offset)));
		*offset = spool->lowest;
	}
	while (*offset < spool->size) {
		if (!substep_connection_has_room(r->connection))
			return false;
		ssize_t got = substep_spool_read(spool, *offset, bytes, sizeof bytes);
		if (got <= 0)
			break;
		json_t *event = json_pack("{s:s, s:I, s:i, s:i, s:s, s:I}", "event", "output", "id", r->id, "substep",
					  r->substep->number, "task", rank, "stream", name, "offset", (json_int_t)*offset);
		substep_connection_send_bytes(r->connection, event, bytes, (size_t)got);
		*offset += got;
		r->sent_at = clock_boot_us();
	}
	return true;
}

bool substep_reader_lags(const struct substep *s, int rank, int stream)
{
	const struct substep_reader *r;
	int64_t size = s->tasks[rank].spools[stream].size;
	if (!s->readers)
		return false;
	LIST_FOREACH (r, (const struct substep_reader_list *)s->readers, of_substep) {
		bool lacks = r->runs && !r->only_end && size - r->offsets[rank * SUBSTEP_STREAMS + stream] > LAG_MOST;
		if (lacks && clock_boot_us() - r->sent_at < READS_USEC)
			return true;
	}
	return false;
}

/* Send a reader all output that is there. Returns false if the client has no room for it. */
static bool send_output(struct substep_reader *r)
{
	struct substep *s = r->substep;
	bool all = true;
	for (int rank = 0; all && !r->only_end && s->tasks && rank < s->ntasks; rank++)
		for (int stream = 0; all && stream < SUBSTEP_STREAMS; stream++)
			all = s->tasks[rank].spools[stream].size == 0 || send_stream(r, rank, stream);
	return all;
}

static bool viewer_has_room(void *arg)
{
	const struct substep_reader *r = arg;
	return substep_connection_is_quick(r->connection);
}

static void viewer_output(void *arg, const void *bytes, size_t size)
{
	struct substep_reader *r = arg;
	json_t *event = json_pack("{s:s, s:I, s:i, s:i, s:s}", "event", "output", "id", r->id, "substep", r->substep->number,
				  "task", 0, "stream", "terminal");
	substep_connection_send_bytes(r->connection, event, bytes, size);
}

static void viewer_window(void *arg, int rows, int cols)
{
	struct substep_reader *r = arg;
	substep_connection_send(r->connection, json_pack("{s:s, s:I, s:i, s:i, s:i}", "event", "window", "id", r->id, "substep",
							 r->substep->number, "rows", rows, "cols", cols));
}

/* Called when the terminal has sent all of its output: its program has ended, or the client asked for the text alone. */
static void viewer_ended(void *arg)
{
	struct substep_reader *r = arg;
	end_view(r);
	if (r->view.mode == 't') {
		substep_connection_send(r->connection, json_pack("{s:s, s:I}", "event", "answer", "id", r->id));
		substep_reader_free(r);
		return;
	}
	substep_reader_pump(r);
}

static const struct substep_viewer_handlers viewer_handlers = {viewer_has_room, viewer_output, viewer_window, viewer_ended, NULL};

/* Pass on the keys that were typed before the terminal was connected. */
static void pass_typed(struct substep_reader *r)
{
	size_t size = r->typed ? evbuffer_get_length(r->typed) : 0;
	if (size > 0)
		substep_viewer_input(r->viewer, evbuffer_pullup(r->typed, -1), size);
	if (r->typed)
		evbuffer_free(r->typed);
	r->typed = NULL;
}

void substep_reader_type(struct substep_reader *r, const void *bytes, size_t size)
{
	enum { TYPED_MOST = 32768 };
	if (r->viewer) {
		substep_viewer_input(r->viewer, bytes, size);
		return;
	}
	if (!r->typed)
		r->typed = evbuffer_new();
	if (evbuffer_get_length(r->typed) + size <= TYPED_MOST)
		evbuffer_add(r->typed, bytes, size);
}

static bool needs_viewer(const struct substep_reader *r)
{
	return r->substep->terminal && r->substep->state == SUBSTEP_RUNNING && !r->viewed && !r->only_end &&
	       !r->connection->is_head;
}

void substep_reader_pump(struct substep_reader *r)
{
	if (needs_viewer(r)) {
		r->viewed = true;
		r->viewer = substep_viewer_open(r->substep, &r->view, &viewer_handlers, r);
		/* a client that runs the sub-step and names no user is no person at the terminal */
		if (r->view.mode == 'l' && (r->user || !r->runs))
			r->person = substep_session_join(r->substep, r->user ? r->user : "", r->host ? r->host : "");
		pass_typed(r);
	}
	if (r->viewer && substep_connection_is_quick(r->connection))
		substep_viewer_continue(r->viewer);
	if (r->viewer && substep_has_ended(r->substep) && !substep_viewer_may_come(r->viewer))
		end_view(r); /* the terminal of the sub-step has never listened */
	if (!send_output(r) || !substep_has_ended(r->substep) || r->viewer)
		return;
	send_ended(r);
	substep_reader_free(r);
}

static void send_to_readers(struct substep *s, void (*send)(struct substep_reader *r))
{
	struct substep_reader *r;
	if (!s->readers)
		return;
	LIST_FOREACH (r, (struct substep_reader_list *)s->readers, of_substep) {
		if (!r->only_end)
			send(r);
	}
}

static void send_waiting(struct substep_reader *r)
{
	substep_connection_print(r->connection, "{\"event\":\"waiting\",\"id\":%lld,\"substep\":%d,\"reason\":\"%s\"}",
				 (long long)r->id, r->substep->number, r->substep->reason);
}

void substep_reader_send_queued(struct substep_reader *r)
{
	substep_connection_print(r->connection, "{\"event\":\"queued\",\"id\":%lld,\"substep\":%d}", (long long)r->id,
				 r->substep->number);
}

void substep_reader_send_started(struct substep_reader *r)
{
	substep_connection_print(r->connection, "{\"event\":\"started\",\"id\":%lld,\"substep\":%d,\"tasks\":%d,\"run\":%d}",
				 (long long)r->id, r->substep->number, r->substep->ntasks, r->substep->run);
}

void substep_reader_waits(struct substep *s)
{
	send_to_readers(s, send_waiting);
}

/* Each run has streams of its own, which begin at offset 0. */
void substep_reader_started(struct substep *s)
{
	struct substep_reader *r, *next;
	send_to_readers(s, substep_reader_send_started);
	for (r = s->readers ? LIST_FIRST((struct substep_reader_list *)s->readers) : NULL; r; r = next) {
		next = LIST_NEXT(r, of_substep);
		if (s->run > 1)
			memset(r->offsets, 0, (size_t)s->ntasks * SUBSTEP_STREAMS * sizeof *r->offsets);
		end_view(r); /* end the view of the run before */
		r->viewed = false;
		substep_reader_pump(r);
	}
}

void substep_reader_pump_all(struct substep *s)
{
	struct substep_reader *r, *next;
	for (r = s->readers ? LIST_FIRST((struct substep_reader_list *)s->readers) : NULL; r; r = next) {
		next = LIST_NEXT(r, of_substep);
		substep_reader_pump(r);
	}
}

void substep_reader_send_input(struct substep_reader *r)
{
	static const char *const words[] = {
		[SUBSTEP_INPUT_OPEN] = "open", [SUBSTEP_INPUT_TAKEN] = "taken", [SUBSTEP_INPUT_LOST] = "lost"};
	const struct substep *s = r->substep;
	if (!r->gives_input || !(s->input_lost || substep_input_is_of_client(s)))
		return; /* also report lost input after the end of the sub-step: the client may come back late */
	enum substep_input_state state = substep_input_state(s);
	int64_t credit = s->input_at - substep_input_unread(s) + SUBSTEP_INPUT_MOST;
	bool has_credit = r->connection->is_head && credit - r->credit >= SUBSTEP_INPUT_MOST / 2;
	if (state == r->input_state && !has_credit)
		return;
	json_t *event =
		json_pack("{s:s, s:I, s:i, s:s}", "event", "input", "id", r->id, "substep", s->number, "state", words[state]);
	if (state == SUBSTEP_INPUT_LOST)
		json_object_set_new(event, "node", json_string(s->input_lost));
	if (r->connection->is_head) {
		json_object_set_new(event, "received", json_integer(s->input_at));
		json_object_set_new(event, "credit", json_integer(credit));
		r->credit = credit;
	}
	r->input_state = state;
	substep_connection_send(r->connection, event);
}

void substep_reader_input(struct substep *s)
{
	struct substep_reader *r;
	if (s->readers)
		LIST_FOREACH (r, (struct substep_reader_list *)s->readers, of_substep)
			substep_reader_send_input(r);
}
