/* substep_request.c - handles the requests of clients.
 *
 * Called by: substep_client.c for each message.
 * Invariants: a request that is not valid changes nothing, and is answered by the event `error`. */
#include "procmgr/stepmgr/substep_request.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "procmgr/stepmgr/substep_bridge.h"
#include "procmgr/stepmgr/substep_event.h"
#include "procmgr/stepmgr/substep_hold.h"
#include "procmgr/stepmgr/substep_journal.h"
#include "procmgr/stepmgr/substep_reader.h"
#include "procmgr/stepmgr/substep_shrink.h"
#include "procmgr/stepmgr/substep_signal.h"
#include "procmgr/stepmgr/substep_usage.h"

static bool take_defaults(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	(void)m;
	json_t *env = json_object_get(request, "env"), *value;
	const char *cwd = json_string_value(json_object_get(request, "cwd"));
	size_t i;
	json_array_foreach (env, i, value)
		if (!json_is_string(value))
			return err_set(e, "\"env\" must be a list of strings");
	if (json_is_array(env)) {
		json_decref(c->env);
		c->env = json_incref(env);
	}
	if (cwd) {
		free(c->cwd);
		c->cwd = xstrdup(cwd);
	}
	substep_connection_send(c, json_pack("{s:s, s:o}", "event", "answer", "id", json_incref(json_object_get(request, "id"))));
	return true;
}

static char *copy_text(const json_t *client, const char *name)
{
	const char *text = json_string_value(json_object_get(client, name));
	return text ? xstrdup(text) : NULL;
}

/* Read from a request the user and the host of the person who attaches. */
static void read_client(const json_t *request, struct substep_reader *r)
{
	const json_t *client = json_object_get(request, "client");
	r->user = copy_text(client, "user");
	r->host = copy_text(client, "host");
}

static bool take_run(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	if (!c->is_head && json_object_get(request, "part"))
		return err_set(e, "\"part\" is for step managers");
	struct substep_spec *spec = substep_spec_parse(request, c->env, c->cwd, e);
	struct substep *s = spec ? substep_engine_queue(m, spec, e) : NULL;
	if (!s)
		return false;
	struct substep_reader *r = substep_reader_new(c, s, json_integer_value(json_object_get(request, "id")));
	r->runs = r->gives_input = true;
	read_client(request, r);
	substep_reader_send_queued(r);
	if (s->state != SUBSTEP_WAITING && s->run > 0)
		substep_reader_send_started(r);
	substep_reader_send_input(r);
	substep_reader_pump(r);
	return true;
}

static struct substep *named_substep(struct substep_engine *m, const json_t *request, struct err *e)
{
	json_int_t number = json_integer_value(json_object_get(request, "substep"));
	struct substep *s = substep_table_find(m, number);
	if (!s)
		err_set(e, "there is no sub-step %lld", (long long)number);
	return s;
}

static int64_t offset_of(const json_t *request, const char *name)
{
	json_int_t offset = json_integer_value(json_object_get(request, name));
	return offset > 0 ? offset : 0;
}

/* Read from a request how a client sees a terminal (struct substep_view). Only a step manager, the client of an agent, may ask
 * for the mode monitor. */
static bool read_view(const struct substep_connection *c, const json_t *request, struct substep_view *view, struct err *e)
{
	const char *mode = json_string_value(json_object_get(request, "mode"));
	json_int_t lines = json_integer_value(json_object_get(request, "lines"));
	bool is_monitor = mode && strcmp(mode, "monitor") == 0 && c->is_head;
	if (mode && strcmp(mode, "live") != 0 && strcmp(mode, "text") != 0 && strcmp(mode, "follow") != 0 && !is_monitor)
		return err_set(e, "\"mode\" must be live, text or follow");
	if (lines < 0 || lines > SUBSTEP_LINES_MOST)
		return err_set(e, "\"lines\" must be from 0 to %d", SUBSTEP_LINES_MOST);
	*view = (struct substep_view){mode ? *mode : 'l', (int)lines};
	return true;
}

static bool take_attach(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	struct substep *s = named_substep(m, request, e);
	struct substep_view view;
	if (!s || !read_view(c, request, &view, e))
		return false;
	if (view.mode != 'l' && !s->terminal)
		return err_set(e, "sub-step %d has no terminal", s->number);
	struct substep_reader *r = substep_reader_new(c, s, json_integer_value(json_object_get(request, "id")));
	r->view = view;
	r->gives_input = json_is_true(json_object_get(request, "input"));
	read_client(request, r);
	s->orphaned = false;
	for (int rank = 0; rank < s->ntasks; rank++) {
		r->offsets[rank * SUBSTEP_STREAMS + SUBSTEP_OUT] = offset_of(request, "offset_out");
		r->offsets[rank * SUBSTEP_STREAMS + SUBSTEP_ERR] = offset_of(request, "offset_err");
	}
	substep_reader_send_queued(r);
	if (s->state == SUBSTEP_RUNNING)
		substep_reader_send_started(r);
	substep_reader_pump(r);
	return true;
}

static bool take_wait(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	struct substep *s = named_substep(m, request, e);
	if (!s)
		return false;
	struct substep_reader *r = substep_reader_new(c, s, json_integer_value(json_object_get(request, "id")));
	r->only_end = true;
	substep_reader_pump(r);
	return true;
}

static bool take_hold(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	return substep_hold_begin(m, c, json_integer_value(json_object_get(request, "id"))) ||
	       err_set(e, "another program holds the allocation");
}

static bool answer_plain(struct substep_connection *c, const json_t *request)
{
	substep_connection_send(c, json_pack("{s:s, s:O}", "event", "answer", "id", json_object_get(request, "id")));
	return true;
}

static bool take_events(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	(void)e;
	answer_plain(c, request);
	substep_event_subscribe(m, c, json_integer_value(json_object_get(request, "id")));
	return true;
}

static bool take_signal(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	struct substep *s = named_substep(m, request, e);
	json_int_t signal = json_integer_value(json_object_get(request, "signal"));
	if (!s)
		return false;
	if (signal < 1 || signal >= NSIG)
		return err_set(e, "\"signal\" must be a number from 1 to %d", NSIG - 1);
	if (s->state != SUBSTEP_RUNNING)
		return err_set(e, "sub-step %d is not running: %s", s->number, substep_table_state(s));
	substep_signal_send(m, s, (int)signal);
	return answer_plain(c, request);
}

static bool take_cancel(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	struct substep *s = named_substep(m, request, e);
	if (!s)
		return false;
	if (substep_has_ended(s))
		return err_set(e, "sub-step %d has already ended: %s", s->number, substep_table_state(s));
	substep_engine_cancel(m, s, "cancelled");
	return answer_plain(c, request);
}

static json_t *request_describe(const struct substep *s)
{
	int64_t now = clock_boot_us(), until = substep_has_ended(s) ? s->ended_at : now;
	double elapsed = s->started_at ? (double)(until - s->started_at) / 1e6 : 0;
	double waited = (double)((s->started_at ? s->started_at : until) - s->queued_at) / 1e6;
	json_t *object = json_pack("{s:i, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:s, s:i, s:b, s:f, s:f}", "substep", s->number,
				   "name", s->name, "state", substep_table_state(s), "reason", s->reason, "tasks", s->ntasks,
				   "cpus", s->cpus, "exit", s->exit_code, "signal", s->signal, "cause", s->cause, "run", s->run,
				   "terminal", s->terminal != NULL, "waiting_s", waited, "elapsed_s", elapsed);
	substep_session_describe(s, object);
	return object;
}

static bool take_list(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	json_t *list = json_array();
	(void)e;
	for (int number = 1; number <= substep_table_count(m); number++)
		if (substep_table_find(m, number))
			json_array_append_new(list, request_describe(substep_table_find(m, number)));
	substep_connection_send(
		c, json_pack("{s:s, s:O, s:o}", "event", "answer", "id", json_object_get(request, "id"), "substeps", list));
	return true;
}

static bool take_usage(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	(void)e;
	substep_usage_ask(m, c, json_integer_value(json_object_get(request, "id")));
	return true;
}

static bool take_resources(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	(void)e;
	substep_connection_send(c, json_pack("{s:s, s:O, s:o}", "event", "answer", "id", json_object_get(request, "id"), "nodes",
					     substep_engine_resources(m)));
	return true;
}

static bool take_shrink(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	const char *nodes = json_string_value(json_object_get(request, "nodes"));
	json_int_t count = json_integer_value(json_object_get(request, "count"));
	if ((nodes && *nodes) == (count > 0) || count > INT32_MAX)
		return err_set(e, "a request \"shrink\" has either \"nodes\" or a \"count\" from 1 on");
	json_t *names =
		substep_shrink_take(m, nodes ? nodes : "", (int)count, json_is_true(json_object_get(request, "force")), e);
	if (!names)
		return false;
	substep_connection_send(
		c, json_pack("{s:s, s:O, s:o}", "event", "answer", "id", json_object_get(request, "id"), "nodes", names));
	return true;
}

/* Returns the reader of the request `run` with this id, whose sub-step gets input. */
static struct substep_reader *input_reader(struct substep_connection *c, const json_t *request)
{
	json_int_t id = json_integer_value(json_object_get(request, "run"));
	struct substep_reader *r;
	LIST_FOREACH (r, &c->readers, of_connection)
		if (r->gives_input && r->id == id)
			return r;
	return NULL;
}

/* Write bytes of a request `input` to the standard input of tasks. If too many bytes wait for a task, the client is not read for
 * a while. The connection of another node's step manager must not wait for a task. So that step manager gets a credit, the offset
 * up to which it may send input, and is disconnected when it sends more. */
static void write_input(struct substep_connection *c, struct substep_reader *r, const json_t *request, const void *bytes,
			size_t size)
{
	struct err e = {.hint = ""};
	const json_t *at = json_object_get(request, "offset");
	json_int_t offset = json_integer_value(at);
	bool last = json_is_true(json_object_get(request, "eof"));
	if (c->is_head && (!at || offset < 0 || offset > r->credit - (int64_t)size)) {
		err_set(&e, "the input of a part is more than its credit");
		substep_connection_refuse(c, 0, &e);
		c->ends = true;
	} else if (at && (!json_is_integer(at) || offset < 0)) {
		err_set(&e, "\"offset\" must be an integer from 0 on");
		substep_connection_refuse(c, json_integer_value(json_object_get(request, "id")), &e);
	} else {
		/* a client that comes back does not know how much input others have given, so it is not counted */
		bool counts = at || r->runs;
		bool room = counts ? substep_input_add_at(r->substep, at ? offset : r->substep->input_at, bytes, size, last)
				   : substep_input_add(r->substep, bytes, size, last);
		c->is_held = !room && !c->is_head;
	}
}

/* Handle a request `input`. Input for a sub-step that has ended is dropped without an error: the client may not have seen the end
 * yet. */
static void take_input(struct substep_connection *c, const json_t *request, const void *bytes, size_t size)
{
	struct substep_reader *r = input_reader(c, request);
	if (r && (r->viewer || (r->substep->spec && r->substep->spec->rows > 0)))
		substep_reader_type(r, bytes, size);
	else if (r)
		write_input(c, r, request, bytes, size);
}

/* Read the size of a window from a request. Returns false if the request has no valid size. */
static bool read_size(const json_t *request, int *rows, int *cols)
{
	json_int_t r = json_integer_value(json_object_get(request, "rows")),
		   c = json_integer_value(json_object_get(request, "cols"));
	*rows = (int)r;
	*cols = (int)c;
	return r >= 1 && r <= SUBSTEP_WINDOW_MOST && c >= 1 && c <= SUBSTEP_WINDOW_MOST;
}

static bool take_resize(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	int rows, cols;
	struct substep_reader *r = input_reader(c, request);
	(void)m;
	if (!read_size(request, &rows, &cols))
		return err_set(e, "\"rows\" and \"cols\" must be from 1 to %d", SUBSTEP_WINDOW_MOST);
	if (r && r->viewer)
		substep_viewer_resize(r->viewer, rows, cols);
	return true;
}

static bool take_view(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e)
{
	const json_t *number = json_object_get(request, "view");
	struct substep_view view;
	(void)m;
	if (!c->is_head)
		return err_set(e, "\"view\" is for step managers");
	if (!json_is_integer(number) || json_integer_value(number) < 0)
		return err_set(e, "\"view\" must be an integer from 0 on");
	if (!read_view(c, request, &view, e))
		return false;
	const struct substep_reader *r = input_reader(c, request);
	substep_bridge_open(r ? r->substep : NULL, &view, json_integer_value(number));
	return true;
}

static const struct {
	const char *op;
	bool (*take)(struct substep_engine *m, struct substep_connection *c, json_t *request, struct err *e);
	const char *members; /* members of the request besides op and id; NULL: the function checks them */
} requests[] = {
	{"defaults", take_defaults, " env cwd "},
	{"run", take_run, NULL},
	{"attach", take_attach, " substep offset_out offset_err input mode lines rows cols client "},
	{"resize", take_resize, " run rows cols "},
	{"view", take_view, " run view mode lines "},
	{"wait", take_wait, " substep "},
	{"hold", take_hold, ""},
	{"signal", take_signal, " substep signal "},
	{"cancel", take_cancel, " substep "},
	{"list", take_list, ""},
	{"usage", take_usage, ""},
	{"resources", take_resources, ""},
	{"shrink", take_shrink, " nodes count force "},
	{"events", take_events, ""},
	{"input", NULL, " run bytes eof offset "},
};

static bool check_members(const json_t *request, const char *members, struct err *e)
{
	const char *name;
	json_t *value;
	json_object_foreach ((json_t *)request, name, value) {
		char word[80];
		snprintf(word, sizeof word, " %.64s ", name);
		if (strcmp(name, "op") != 0 && strcmp(name, "id") != 0 && !strstr(members, word))
			return err_set(e, "unknown member \"%.64s\"", name);
	}
	return true;
}

bool substep_request_take(struct substep_engine *m, struct substep_connection *c, json_t *request, const void *bytes, size_t size)
{
	struct err e = {.hint = ""};
	const char *op = json_string_value(json_object_get(request, "op"));
	size_t i = 0, count = sizeof requests / sizeof *requests;
	while (op && i < count && strcmp(requests[i].op, op) != 0)
		i++;
	bool good = (op && i < count) || err_set(&e, "unknown request \"%.64s\"", op ? op : "");
	good = good && (!requests[i].members || check_members(request, requests[i].members, &e));
	if (good && !requests[i].take) {
		take_input(c, request, bytes, size);
		return true;
	}
	if (good && requests[i].take(m, c, request, &e))
		return true;
	json_int_t id = json_integer_value(json_object_get(request, "id"));
	c->is_held = good && strcmp(e.code, SUBSTEP_JOURNAL_FULL) == 0;
	if (c->is_held)
		substep_connection_send(
			c, json_pack("{s:s, s:I, s:i, s:s}", "event", "waiting", "id", id, "substep", 0, "reason", "disk"));
	else
		substep_connection_refuse(c, id, &e);
	return !c->is_held;
}
