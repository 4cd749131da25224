/* script_status.c - runs slurm_bb_get_status for users, each call in a process of its own (script_status.h).
 *
 * Called by: script_socket.c.
 * Invariants:
 * - At most STATUS_MOST calls run at once, and STATUS_USER_MOST of one user. Further calls are refused, so that a user can
 *   neither overload the machine nor block other users.
 * - A call is killed after hooks.other_timeout seconds. */
#include "runner/script_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/log.h"
#include "runner/hook.h"
#include "runner/script_process.h"

enum { STATUS_MOST = 8, STATUS_USER_MOST = 2, ANSWER_MOST = 256 << 10 };

/* A call under way. */
struct script_status {
	LIST_ENTRY(script_status) next;
	struct hook *hook;
	int result; /* memory file for the answer of rota-lua */
	script_work_done *done;
	void *arg;
	char user[16]; /* user id of the person who asks */
};

struct script_statuses {
	struct event_base *base;
	const struct conf *conf;
	LIST_HEAD(, script_status) calls;
};

struct script_statuses *script_statuses_new(struct event_base *base, const struct conf *conf)
{
	struct script_statuses *all = xcalloc(1, sizeof *all);

	all->base = base;
	all->conf = conf;
	LIST_INIT(&all->calls);
	return all;
}

/* Pass an answer to `done`, the callback of the request. Frees the answer. */
static void status_finish(script_work_done *done, void *arg, json_t *answer)
{
	char *text = json_dumps(answer, JSON_COMPACT);

	if (!text)
		die("could not write an answer as JSON");
	done(text, arg);
	free(text);
	json_decref(answer);
}

/* End a call. Frees the answer. */
static void status_end(struct script_status *call, json_t *answer)
{
	LIST_REMOVE(call, next);
	close(call->result);
	status_finish(call->done, call->arg, answer);
	hook_free(call->hook);
	free(call);
}

void script_statuses_free(struct script_statuses *all)
{
	struct script_status *call;

	if (!all)
		return;
	while ((call = LIST_FIRST(&all->calls))) {
		hook_kill(call->hook, "was killed because runnerd ends"); /* the supervisor kills the processes that are left */
		status_end(call, json_pack("{s:s}", "error", "runnerd ends"));
	}
	free(all);
}

/* Returns the reason why a call of this user may not begin now, malloc'ed; NULL: it may. `user` NULL: the request names no
 * user. */
static char *status_objection(const struct script_statuses *all, const char *user)
{
	const struct script_status *call;
	int count = 0, of_user = 0;

	if (!*all->conf->hooks_burst_buffer)
		return xstrdup(
			"runnerd has no file for burst_buffer; set it in section \"hooks\" of rota.conf and restart runnerd");
	if (!user)
		return xstrdup("\"args\" of the request does not begin with a user id");
	LIST_FOREACH (call, &all->calls, next) {
		count++;
		of_user += !strcmp(call->user, user);
	}
	if (of_user >= STATUS_USER_MOST)
		return xasprintf("%d of your calls of slurm_bb_get_status are under way; wait until one has ended", of_user);
	return count >= STATUS_MOST ? xasprintf("%d calls of slurm_bb_get_status are under way; try again later", count) : NULL;
}

/* Returns the answer for a function that failed with `message`. */
static json_t *status_failed(const char *message)
{
	return json_pack("{s:i, s:s}", "rc", -1, "message", message);
}

void script_status_request(struct script_statuses *all, const char *text, size_t length, script_work_done *done, void *arg)
{
	json_t *request = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
	const char *user = json_string_value(json_array_get(json_object_get(request, "args"), 0));
	char *objection = status_objection(all, user);
	struct script_status *call;

	if (objection) {
		status_finish(done, arg, json_pack("{s:s}", "error", objection));
		free(objection);
		json_decref(request);
		return;
	}
	call = xcalloc(1, sizeof *call);
	call->done = done;
	call->arg = arg;
	snprintf(call->user, sizeof call->user, "%s", user);
	call->hook = hook_new(0, "get_status", all->conf->hooks_burst_buffer, "function of");
	call->result = script_process_start(call->hook, all->base, all->conf,
					    &(struct script_request){.function = "get_status",
								     .request = request,
								     .timeout_s = all->conf->hooks_other_timeout,
								     .answer_most = ANSWER_MOST});
	json_decref(request);
	if (call->result < 0) {
		log_warning("slurm_bb_get_status for user %s: %s", call->user, call->hook->message);
		status_finish(done, arg, status_failed(call->hook->message));
		hook_free(call->hook);
		free(call);
		return;
	}
	LIST_INSERT_HEAD(&all->calls, call, next);
}

void script_status_cancel(struct script_statuses *all, const void *arg)
{
	struct script_status *call;

	LIST_FOREACH (call, &all->calls, next) {
		if (call->arg == arg) {
			hook_stop(call->hook, "was killed because nobody waits for its answer");
			return;
		}
	}
}

/* Returns the answer of a call of slurm_bb_get_status whose process was reaped. */
static json_t *status_answer(const struct script_status *call)
{
	json_t *answer;

	if (*call->hook->message) { /* the process was stopped, or has failed */
		log_warning("slurm_bb_get_status for user %s: %s", call->user, call->hook->message);
		return status_failed(call->hook->message);
	}
	answer = script_process_answer(call->result);
	if (json_is_integer(json_object_get(answer, "rc")))
		return answer;
	json_decref(answer);
	return status_failed("rota-lua gave no result");
}

bool script_status_reap(struct script_statuses *all, pid_t pid)
{
	struct script_status *call;

	if (!all)
		return false;
	LIST_FOREACH (call, &all->calls, next) {
		if (call->hook->pid == pid) {
			hook_reap(call->hook);
			status_end(call, status_answer(call));
			return true;
		}
	}
	return false;
}
