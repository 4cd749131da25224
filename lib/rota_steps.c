/* rota_steps.c - runs sub-steps, attaches to them, and gives them input (rota.h).
 *
 * Called by: `rota run` and `rota steps`; programs of users.
 * Invariants: each request `run` has a key, and its text is stored until its end, so that it can be sent again on a new
 * connection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/steps_inside.h"

enum { FLUSH_AT = 256 << 10 };

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

bool rota_steps_defaults(struct rota_steps *s, const char *const *env, const char *cwd)
{
	json_t *o = json_pack("{ss sI}", "op", "defaults", "id", (json_int_t)++s->last_id);
	char *text;

	if (!member_list(o, "env", env) || !member_text(o, "cwd", cwd)) {
		json_decref(o);
		return steps_fail(s, "environment or folder is not UTF-8");
	}
	text = steps_request_text(s, o);
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

/* Send the request `o` and enter it in the list of requests until it ends. Frees `o`. Returns the number of the request, or 0 on
 * failure. */
static long long steps_begin(struct rota_steps *s, json_t *o, const struct rota_callbacks *callbacks, void *data)
{
	struct steps_request *r;
	char *text = steps_request_text(s, o);

	if (!text)
		return 0;
	r = memset(steps_alloc(NULL, sizeof(*r)), 0, sizeof(*r));
	r->id = s->last_id;
	r->text = text;
	r->callbacks = callbacks ? *callbacks : (struct rota_callbacks){0};
	r->data = data;
	steps_request_insert(s, r);
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
		steps_request_find(s, id)->attaches = true;
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
	struct steps_request *r = steps_request_find(s, request);
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
	struct steps_request *r = steps_request_find(s, request);

	if (!r)
		return;
	r->input_ended = true;
	steps_add_input(s, r, "\"eof\":true");
}

void rota_steps_send_cancel(struct rota_steps *s, int substep)
{
	char text[128];

	int size = snprintf(text, sizeof(text), "{\"op\":\"cancel\",\"id\":%lld,\"substep\":%d}\n", ++s->last_id, substep);
	/* Send the request on a new connection: on this one it might wait behind input that a task does not read. */
	int fd = s->path ? steps_link_connect(s->path) : -1;
	bool sent = fd >= 0 && send(fd, text, (size_t)size, MSG_NOSIGNAL) == size;

	if (fd >= 0)
		close(fd);
	if (!sent && s->link.fd >= 0)
		steps_link_add(&s->link, text, (size_t)size);
}
