/* runner_child.c - the hooks under way: begun, ended early, reaped.
 *
 * Called for each row that was taken, and when processes end. What always holds: a hook is in one of the runner's lists, from the row that
 * named it until its end is in the database. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/log.h"
#include "runner/hook_environment.h"
#include "runner/runner_parts.h"
#include "runner/warden.h"

void runner_child_free(struct hook **list)
{
	for (struct hook *h = *list, *next; h; h = next) {
		next = h->next;
		hook_free(h);
	}
	*list = NULL;
}

static void hook_over(struct runner *r, struct hook *h)
{
	if (*h->message)
		log_warning("%s: %s", h->label, h->message);
	h->next = r->ended;
	r->ended = h;
}

/* Where the hook with this process stands, NULL in a list that does not have it. */
static struct hook **place_of(struct hook **list, pid_t pid)
{
	while (*list && (*list)->pid != pid)
		list = &(*list)->next;
	return *list ? list : NULL;
}

static void child_ended(struct runner *r, pid_t pid)
{
	struct hook **running = place_of(&r->running, pid), **dying = place_of(&r->dying, pid), *h;

	if (pid == warden_pid()) {
		runner_drop(r, "the warden has ended");
		die("the warden has ended");
	}
	if (!running && !dying) {
		if (!runner_mail_ended(r, pid))
			waitpid(pid, NULL, 0);
		return;
	}
	h = running ? *running : *dying;
	*(running ? running : dying) = h->next;
	hook_reap(h);
	if (running) {
		r->running_count--;
		hook_over(r, h);
	} else
		hook_free(h);
}

void runner_child_ended(evutil_socket_t number, short what, void *arg)
{
	struct runner *r = arg;
	siginfo_t info = {0};

	(void)number;
	(void)what;
	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
		child_ended(r, info.si_pid);
		info.si_pid = 0;
	}
	runner_work(r);
}

static const char *cell(const PGresult *result, int row, const char *column)
{
	int field = PQfnumber(result, column);

	return field < 0 ? "" : PQgetvalue(result, row, field);
}

static struct hook *running_with(const struct runner *r, int64_t id)
{
	struct hook *h = r->running;

	while (h && h->id != id)
		h = h->next;
	return h;
}

void runner_child_begin(struct runner *r, const PGresult *result, int row)
{
	static const char unwanted[] = "was not run or ended early: the attempt is to end";
	int64_t id = strtoll(cell(result, row, "hook_id"), NULL, 10);
	bool prolog = strcmp(cell(result, row, "hook"), "controller_prolog") == 0, wanted = *cell(result, row, "wanted") == 't';
	struct hook *h = running_with(r, id);

	if (h) {
		if (!wanted)
			hook_kill(h, unwanted);
		return;
	}
	if (!*cell(result, row, "label")) /* it has ended meanwhile */
		return;
	h = hook_new(id, cell(result, row, "label"), prolog ? r->conf->controller_prolog : r->conf->controller_epilog,
		     prolog ? "controller prolog" : "controller epilog");
	if (!wanted) {
		hook_kill(h, unwanted);
		hook_over(r, h);
		return;
	}
	char **environment = hook_environment(result, row, r->conf->instance_name);
	if (hook_start(h, r->base,
		       &(struct hook_start){
			       .environment = environment, .input = -1, .timeout_s = r->conf->controller_hook_timeout})) {
		h->next = r->running;
		r->running = h;
		r->running_count++;
	} else
		hook_over(r, h);
	hook_environment_free(environment);
}
