/* rota_steps.c - requests to the step manager, and the callbacks for its events (rota.h).
 *
 * Called by: `rota run` and `rota steps`; programs of users.
 * Invariants:
 * - Each request `run` has a key, and its text is stored until its end, so that it can be sent again on a new connection.
 * - Bytes of a stream are given to the caller once, in order: `have` is the offset of the next one. */
#include "lib/rota.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/steps_link.h"

enum { BUCKETS = 1024, FLUSH_AT = 256 << 10, RECONNECT_MS = 10000, RECONNECT_PAUSE_MS = 50, RECONNECTS_MOST = 5 };

/* Position in one stream of one task. */
struct steps_stream {
	long long have; /* bytes that the caller has */
	long long at;	/* bytes that this connection has passed over */
};

struct steps_request {
	long long id;
	char *text; /* the line of the request */
	struct rota_callbacks callbacks;
	void *data;
	int substep, run; /* 0: not reported yet */
	bool input_ended;
	bool input_over;	      /* the tasks have all of the input, or the caller knows that they do not get it */
	long long input_at;	      /* how much input the caller has given */
	bool attaches;		      /* its input is only a part of what the sub-step gets */
	struct steps_stream *streams; /* of task t: streams[2 * t], and its standard error streams[2 * t + 1] */
	size_t stream_count;
	struct steps_request *next, *previous; /* in the order of their numbers */
	struct steps_request *chain;	       /* in the same bucket */
};

/* The question that waits for its answer. */
struct steps_question {
	long long id;
	char *text;
	json_t *answer;
	bool refused;
};

struct rota_steps {
	char *path; /* NULL: the connection cannot be made again */
	struct steps_link link;
	char *defaults; /* line of the request, NULL: none */
	long long last_id;
	unsigned long long random; /* part of the keys */
	struct steps_request *first, *last, *buckets[BUCKETS];
	size_t unfinished;
	struct steps_question *question;
	json_t *answer; /* of rota_steps_wait_for() */
	int reconnects; /* since the last message */
	bool has_reconnected;
	bool dead;
	char error[512];
};

static bool steps_fail(struct rota_steps *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->error, sizeof(s->error), format, args);
	va_end(args);
	return false;
}

static long long steps_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* -- requests */

static struct steps_request *request_find(const struct rota_steps *s, long long id)
{
	struct steps_request *r = s->buckets[id & (BUCKETS - 1)];

	while (r && r->id != id)
		r = r->chain;
	return r;
}

static void request_insert(struct rota_steps *s, struct steps_request *r)
{
	struct steps_request **bucket = &s->buckets[r->id & (BUCKETS - 1)];

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

static void request_free(struct steps_request *r)
{
	free(r->text);
	free(r->streams);
	free(r);
}

static void request_remove(struct rota_steps *s, struct steps_request *r)
{
	struct steps_request **at = &s->buckets[r->id & (BUCKETS - 1)];

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

static struct steps_stream *request_stream(struct steps_request *r, int task, bool is_error)
{
	size_t at = 2 * (size_t)task + is_error;

	if (at >= r->stream_count) {
		r->streams = steps_alloc(r->streams, (at + 2) * sizeof(*r->streams));
		memset(r->streams + r->stream_count, 0, (at + 2 - r->stream_count) * sizeof(*r->streams));
		r->stream_count = at + 2;
	}
	return &r->streams[at];
}

/* -- events */

static int event_int(const json_t *event, const char *key)
{
	return (int)json_integer_value(json_object_get(event, key));
}

static const char *event_text(const json_t *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event, key));

	return text ? text : "";
}

static struct rota_end event_end(const json_t *event)
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

/* Give the caller that part of the output that it does not have. */
static void event_output(struct steps_request *r, const json_t *event, const char *bytes, size_t size)
{
	int task = event_int(event, "task");
	bool is_error = !strcmp(event_text(event, "stream"), "err"), skipped = !strcmp(event_text(event, "event"), "skipped");
	struct steps_stream *stream;
	long long from, lost;

	if (!strcmp(event_text(event, "stream"), "terminal")) { /* no offsets: it begins with the whole screen */
		if (r->callbacks.output)
			r->callbacks.output(r->data, 0, false, bytes, size);
		return;
	}
	if (task < 0 || task > 1 << 24)
		return;
	stream = request_stream(r, task, is_error);
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
	struct rota_end end = event_end(event);

	if (!strcmp(event_text(event, "event"), "answer")) /* the text of a terminal, whose program goes on */
		end = (struct rota_end){.substep = r->substep, .state = "completed", .cause = "exit", .message = ""};
	request_remove(s, r);
	if (strcmp(event_text(event, "event"), "error") != 0) {
		if (r->callbacks.ended)
			r->callbacks.ended(r->data, &end);
	} else if (r->callbacks.refused) {
		r->callbacks.refused(r->data, event_text(event, "message"), event_text(event, "hint"));
	}
	request_free(r);
}

/* Something has become of the input. A manager that was started again does not know that the tasks had all of it. */
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

/* Handle one message. Returns false if the manager does not understand this program. */
static bool event_handle(struct rota_steps *s, json_t *event, const char *bytes, size_t size)
{
	long long id = json_integer_value(json_object_get(event, "id"));
	bool is_error = !strcmp(event_text(event, "event"), "error");
	struct steps_request *r = request_find(s, id);

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

/* Handle all messages that have come. Returns false after one that cannot be read. */
static bool steps_take_all(struct rota_steps *s)
{
	for (;;) {
		const char *bytes;
		json_t *message;
		size_t size;
		bool good;

		switch (steps_link_take(&s->link, &message, &bytes, &size)) {
		case STEPS_NONE:
			return true;
		case STEPS_BROKEN:
			s->dead = true;
			return steps_fail(s, "the step manager sent a message that cannot be read");
		case STEPS_MESSAGE:
			s->reconnects = 0;
			good = event_handle(s, message, bytes, size);
			json_decref(message);
			if (!good) {
				s->dead = true;
				return false;
			}
		}
	}
}

/* -- the connection */

static void steps_add_line(struct rota_steps *s, const char *text)
{
	if (s->link.fd < 0)
		return;
	steps_link_add(&s->link, text, strlen(text));
	steps_link_add(&s->link, "\n", 1);
}

/* Add a request `input`; `member` says what it is about. */
static void steps_add_input(struct rota_steps *s, const struct steps_request *r, const char *member)
{
	char text[192];
	int size = snprintf(text, sizeof(text), "{\"op\":\"input\",\"id\":%lld,\"run\":%lld,%s", ++s->last_id, r->id, member);

	/* By the offset, a manager that was started again sees which bytes it has not got. One of an older version does not know it. */
	if (s->has_reconnected && !r->attaches)
		size += snprintf(text + size, sizeof(text) - (size_t)size, ",\"offset\":%lld", r->input_at);
	snprintf(text + size, sizeof(text) - (size_t)size, "}");
	steps_add_line(s, text);
}

/* Send everything that has no answer yet on a new connection. The keys join sub-steps that exist. */
static void steps_send_again(struct rota_steps *s)
{
	if (s->defaults)
		steps_add_line(s, s->defaults);
	for (struct steps_request *r = s->first; r; r = r->next) {
		for (size_t i = 0; i < r->stream_count; i++)
			r->streams[i].at = 0;
		steps_add_line(s, r->text);
		if (r->input_ended)
			steps_add_input(s, r, "\"eof\":true");
	}
	if (s->question)
		steps_add_line(s, s->question->text);
}

/* The connection is broken. Connect again if anything has no answer yet. Returns false if that fails. */
static bool steps_reconnect(struct rota_steps *s)
{
	long long until = steps_now_ms() + RECONNECT_MS;

	steps_link_close(&s->link);
	if (!s->unfinished && !s->question)
		return true;
	if (!s->path || s->reconnects++ >= RECONNECTS_MOST) {
		s->dead = true;
		return steps_fail(s, "the step manager has closed the connection");
	}
	while ((s->link.fd = steps_link_connect(s->path)) < 0) {
		if (steps_now_ms() >= until) {
			s->dead = true;
			return steps_fail(s, "could not connect to the step manager at \"%s\" again: %s", s->path,
					  steps_link_error());
		}
		poll(NULL, 0, RECONNECT_PAUSE_MS);
	}
	s->has_reconnected = true;
	steps_send_again(s);
	return true;
}

/* A request is about to be added: connect, if the manager has closed the connection while nothing was under way. */
static bool steps_is_open(struct rota_steps *s)
{
	if (s->dead)
		return false;
	if (s->link.fd >= 0)
		return true;
	s->link.fd = s->path ? steps_link_connect(s->path) : -1;
	if (s->link.fd < 0)
		return steps_fail(s, "could not connect to the step manager: %s",
				  s->path ? steps_link_error() : strerror(ENOTCONN));
	steps_send_again(s);
	return true;
}

static struct rota_steps *steps_new(const char *path, int fd)
{
	struct rota_steps *s = memset(steps_alloc(NULL, sizeof(*s)), 0, sizeof(*s));

	s->path = path ? steps_copy(path) : NULL;
	s->link.fd = fd;
	if (getrandom(&s->random, sizeof(s->random), 0) != sizeof(s->random))
		s->random = (unsigned long long)steps_now_ms();
	return s;
}

struct rota_steps *rota_steps_connect(const char *path, char *error, size_t size)
{
	int fd;

	if (!path)
		path = getenv("ROTA_STEP_SOCKET");
	if (!path || !*path) {
		snprintf(error, size, "ROTA_STEP_SOCKET is not set: this is not inside a job");
		return NULL;
	}
	fd = steps_link_connect(path);
	if (fd < 0) {
		snprintf(error, size, "could not connect to the step manager at \"%s\": %s", path, steps_link_error());
		return NULL;
	}
	return steps_new(path, fd);
}

struct rota_steps *rota_steps_adopt(int descriptor)
{
	return steps_new(NULL, descriptor);
}

void rota_steps_disconnect(struct rota_steps *s)
{
	struct steps_request *r = s->first;

	while (r) {
		struct steps_request *next = r->next;

		request_free(r);
		r = next;
	}
	steps_link_close(&s->link);
	free(s->link.in.bytes);
	free(s->link.out.bytes);
	json_decref(s->answer);
	free(s->defaults);
	free(s->path);
	free(s);
}

const char *rota_steps_error(const struct rota_steps *s)
{
	return s->error;
}

size_t rota_steps_unfinished(const struct rota_steps *s)
{
	return s->unfinished;
}

size_t rota_steps_unsent(const struct rota_steps *s)
{
	return s->link.out.to - s->link.out.from;
}

int rota_steps_descriptor(const struct rota_steps *s)
{
	return s->link.fd;
}

short rota_steps_events(const struct rota_steps *s)
{
	return (short)(POLLIN | (rota_steps_unsent(s) ? POLLOUT : 0));
}

bool rota_steps_handle(struct rota_steps *s)
{
	bool good, open;

	if (s->dead)
		return false;
	if (s->link.fd < 0)
		return true;
	good = steps_link_write(&s->link);
	open = steps_link_read(&s->link); /* also after a failed write: an error message may have come */
	if (!steps_take_all(s))
		return false;
	if (good && open)
		return true;
	return steps_reconnect(s);
}

bool rota_steps_poll(struct rota_steps *s, int milliseconds)
{
	struct pollfd ready = {.fd = s->link.fd};

	if (s->dead)
		return false;
	if (s->link.fd >= 0 && !steps_link_write(&s->link))
		return rota_steps_handle(s);
	ready.events = rota_steps_events(s);
	if (poll(&ready, 1, milliseconds) <= 0)
		return true;
	return rota_steps_handle(s);
}

bool rota_steps_wait(struct rota_steps *s)
{
	while (s->unfinished)
		if (!rota_steps_poll(s, -1))
			return false;
	return true;
}

bool rota_steps_flush(struct rota_steps *s)
{
	while (!s->dead && rota_steps_unsent(s)) {
		if (!steps_link_write(&s->link))
			rota_steps_handle(s);
		else if (rota_steps_unsent(s))
			rota_steps_poll(s, -1);
	}
	return !s->dead;
}

/* -- what the caller asks for */

/* Set a member of a request, if its value is given. Returns false if the value is not UTF-8. */
static bool member_text(json_t *o, const char *key, const char *text)
{
	return !text || !json_object_set_new(o, key, json_string(text));
}

static bool member_list(json_t *o, const char *key, const char *const *words)
{
	json_t *list = words ? json_array() : NULL;

	for (size_t i = 0; words && words[i]; i++)
		if (json_array_append_new(list, json_string(words[i]))) {
			json_decref(list);
			return false;
		}
	return !list || !json_object_set_new(o, key, list);
}

static void member_number(json_t *o, const char *key, long long number)
{
	if (number)
		json_object_set_new(o, key, json_integer(number));
}

static void member_flag(json_t *o, const char *key, bool flag)
{
	if (flag)
		json_object_set_new(o, key, json_true());
}

static void member_client(json_t *o, const char *user, const char *host)
{
	if (user || host)
		json_object_set_new(o, "client", json_pack("{ss* ss*}", "user", user, "host", host));
}

static bool member_programs(json_t *o, const struct rota_run *run)
{
	json_t *list = json_array();
	bool good = true;

	for (size_t i = 0; i < run->program_count; i++) {
		json_t *program = json_object();

		good = member_text(program, "ranks", run->programs[i].ranks) && good;
		good = member_list(program, "argv", run->programs[i].argv) && good;
		json_array_append_new(list, program);
	}
	json_object_set_new(o, "multi", list);
	return good;
}

/* Returns the text of a request, malloc'ed; NULL if it is too long. Frees the object. */
static char *request_text(struct rota_steps *s, json_t *o)
{
	char *text = json_dumps(o, JSON_COMPACT);

	json_decref(o);
	if (text && strlen(text) < STEPS_MESSAGE_MOST)
		return text;
	free(text);
	steps_fail(s, "the request is longer than 1 MiB; shorten its arguments or its environment");
	return NULL;
}

bool rota_steps_defaults(struct rota_steps *s, const char *const *env, const char *cwd)
{
	json_t *o = json_pack("{ss sI}", "op", "defaults", "id", (json_int_t)++s->last_id);
	char *text;

	if (!member_list(o, "env", env) || !member_text(o, "cwd", cwd)) {
		json_decref(o);
		return steps_fail(s, "environment or folder is not UTF-8");
	}
	text = request_text(s, o);
	if (!text || !steps_is_open(s)) {
		free(text);
		return false;
	}
	free(s->defaults);
	s->defaults = text;
	steps_add_line(s, text);
	return true;
}

/* Returns the request `run`, NULL if a text is not UTF-8. */
static json_t *run_object(const struct rota_run *run, long long id, const char *key)
{
	json_t *o = json_pack("{ss sI}", "op", "run", "id", (json_int_t)id);
	bool good = run->program_count ? member_programs(o, run) : member_list(o, "argv", run->argv);

	good = good && member_list(o, "env", run->env) && member_text(o, "cwd", run->cwd) && member_text(o, "name", run->name) &&
	       member_text(o, "key", key) && member_text(o, "gres", run->gres) && member_text(o, "cpu_bind", run->cpu_bind) &&
	       member_text(o, "after", run->after) && member_text(o, "output", run->output) &&
	       member_text(o, "error", run->error) && member_text(o, "input", run->input) &&
	       member_text(o, "session", run->session) && member_text(o, "nodelist", run->nodelist) &&
	       member_text(o, "exclude", run->exclude) && member_text(o, "distribution", run->distribution);
	member_number(o, "ntasks", run->ntasks);
	member_number(o, "cpus_per_task", run->cpus_per_task);
	member_number(o, "nodes", run->nodes);
	member_number(o, "ntasks_per_node", run->ntasks_per_node);
	member_number(o, "mem_mb", run->mem_mb);
	member_number(o, "priority", run->priority);
	member_number(o, "retry", run->retry);
	member_number(o, "time_s", run->time_s);
	member_number(o, "wait_s", run->wait_s);
	member_number(o, "notify", run->notify);
	if (run->input_task > 0)
		json_object_set_new(o, "input_task", json_integer(run->input_task - 1));
	member_number(o, "idle_timeout_s", run->idle_timeout_s);
	member_client(o, run->user, run->host);
	member_flag(o, "exclusive", run->exclusive);
	member_flag(o, "overlap", run->overlap);
	member_flag(o, "kill_on_bad_exit", run->kill_on_bad_exit);
	member_flag(o, "detach", run->detach);
	if (run->rows > 0)
		json_object_set_new(o, "pty", json_pack("{si si}", "rows", run->rows, "cols", run->cols));
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

/* Send a request that is followed to its end; frees `o`. Returns its number, or 0 on failure. */
static long long steps_begin(struct rota_steps *s, json_t *o, const struct rota_callbacks *callbacks, void *data)
{
	struct steps_request *r;
	char *text = request_text(s, o);

	if (!text)
		return 0;
	r = memset(steps_alloc(NULL, sizeof(*r)), 0, sizeof(*r));
	r->id = s->last_id;
	r->text = text;
	r->callbacks = callbacks ? *callbacks : (struct rota_callbacks){0};
	r->data = data;
	request_insert(s, r);
	steps_add_line(s, text);
	if (rota_steps_unsent(s) >= FLUSH_AT)
		steps_link_write(&s->link); /* a failure shows when the program next waits */
	return r->id;
}

long long rota_steps_run(struct rota_steps *s, const struct rota_run *run, const struct rota_callbacks *callbacks, void *data)
{
	char key[64];
	json_t *o;

	if (!steps_is_open(s))
		return 0;
	snprintf(key, sizeof(key), "%x-%llx-%llx", (unsigned)getpid(), s->random, (unsigned long long)++s->last_id);
	o = run_object(run, s->last_id, run->key ? run->key : key);
	if (!o) {
		steps_fail(s, "the program, an argument or an option is not UTF-8");
		return 0;
	}
	return steps_begin(s, o, callbacks, data);
}

long long rota_steps_attach(struct rota_steps *s, int substep, const struct rota_attach *how,
			    const struct rota_callbacks *callbacks, void *data)
{
	json_t *o;
	long long id;

	if (!steps_is_open(s))
		return 0;
	o = json_pack("{ss sI si sb}", "op", "attach", "id", (json_int_t)++s->last_id, "substep", substep, "input", how->input);
	if (how->mode)
		json_object_set_new(o, "mode", json_string(how->mode));
	member_number(o, "lines", how->lines);
	member_client(o, how->user, how->host);
	id = steps_begin(s, o, callbacks, data);
	if (id)
		request_find(s, id)->attaches = true;
	return id;
}

void rota_steps_resize(struct rota_steps *s, long long request, int rows, int cols)
{
	char text[160];

	snprintf(text, sizeof(text), "{\"op\":\"resize\",\"id\":%lld,\"run\":%lld,\"rows\":%d,\"cols\":%d}", ++s->last_id,
		 request, rows, cols);
	steps_add_line(s, text);
}
void rota_steps_input(struct rota_steps *s, long long request, const void *bytes, size_t size)
{
	struct steps_request *r = request_find(s, request);
	const char *at = bytes;

	while (r && size) {
		size_t part = size < STEPS_BYTES_MOST ? size : STEPS_BYTES_MOST;
		char member[64];

		snprintf(member, sizeof(member), "\"bytes\":%zu", part);
		steps_add_input(s, r, member);
		if (s->link.fd >= 0)
			steps_link_add(&s->link, at, part);
		r->input_at += (long long)part;
		at += part;
		size -= part;
	}
}

void rota_steps_input_end(struct rota_steps *s, long long request)
{
	struct steps_request *r = request_find(s, request);

	if (!r)
		return;
	r->input_ended = true;
	steps_add_input(s, r, "\"eof\":true");
}

void rota_steps_send_cancel(struct rota_steps *s, int substep)
{
	char text[128];

	int size = snprintf(text, sizeof(text), "{\"op\":\"cancel\",\"id\":%lld,\"substep\":%d}\n", ++s->last_id, substep);
	/* On a connection of its own: on this one it may be behind input that a task does not read. */
	int fd = s->path ? steps_link_connect(s->path) : -1;
	bool sent = fd >= 0 && send(fd, text, (size_t)size, MSG_NOSIGNAL) == size;

	if (fd >= 0)
		close(fd);
	if (!sent && s->link.fd >= 0)
		steps_link_add(&s->link, text, (size_t)size);
}

/* Send a question and wait for its answer. Returns NULL after a refusal. */
static json_t *steps_ask(struct rota_steps *s, json_t *o)
{
	struct steps_question question = {.id = ++s->last_id};

	json_object_set_new(o, "id", json_integer(question.id));
	question.text = request_text(s, o);
	if (question.text && steps_is_open(s)) {
		s->question = &question;
		steps_add_line(s, question.text);
		while (!question.answer && rota_steps_poll(s, -1))
			;
		s->question = NULL;
	}
	free(question.text);
	if (!question.refused)
		return question.answer;
	json_decref(question.answer);
	return NULL;
}

/* Ask, and return one list of the answer. */
static json_t *steps_ask_list(struct rota_steps *s, const char *op, const char *member)
{
	json_t *answer = steps_ask(s, json_pack("{ss}", "op", op)), *list = json_incref(json_object_get(answer, member));

	if (answer && !list)
		steps_fail(s, "the step manager sent no \"%s\"", member);
	json_decref(answer);
	return list;
}

json_t *rota_steps_list(struct rota_steps *s)
{
	return steps_ask_list(s, "list", "substeps");
}

json_t *rota_steps_usage(struct rota_steps *s)
{
	return steps_ask_list(s, "usage", "substeps");
}

json_t *rota_steps_resources(struct rota_steps *s)
{
	return steps_ask_list(s, "resources", "nodes");
}

json_t *rota_steps_shrink(struct rota_steps *s, const char *nodes, int count, bool force)
{
	json_t *answer = steps_ask(s, json_pack("{ss ss si sb}", "op", "shrink", "nodes", nodes, "count", count, "force", force)),
	       *list = json_incref(json_object_get(answer, "nodes"));

	json_decref(answer);
	return list;
}

bool rota_steps_cancel(struct rota_steps *s, int substep)
{
	json_t *answer = steps_ask(s, json_pack("{ss si}", "op", "cancel", "substep", substep));

	json_decref(answer);
	return answer != NULL;
}

bool rota_steps_signal(struct rota_steps *s, int substep, int signal)
{
	json_t *answer = steps_ask(s, json_pack("{ss si si}", "op", "signal", "substep", substep, "signal", signal));

	json_decref(answer);
	return answer != NULL;
}

bool rota_steps_hold(struct rota_steps *s, struct rota_end *end)
{
	json_t *answer = steps_ask(s, json_pack("{ss}", "op", "hold"));

	if (!answer)
		return false;
	json_decref(s->answer);
	s->answer = answer;
	*end = event_end(answer);
	return true;
}

bool rota_steps_wait_for(struct rota_steps *s, int substep, struct rota_end *end)
{
	json_t *answer = steps_ask(s, json_pack("{ss si}", "op", "wait", "substep", substep));

	if (!answer)
		return false;
	json_decref(s->answer);
	s->answer = answer;
	*end = event_end(answer);
	return true;
}
