/* many.c - a call of `rota run` that runs many sub-steps (many.h).
 *
 * Called by: run_each.c and run_file.c.
 * Invariants:
 * - The output of a sub-step is printed in one piece, when it has ended. With --unbuffered it is printed as it comes.
 * - A completed sub-step is written to the log before its struct is freed. */
#include "bin/rota/steps/many.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bin/rota/line/verb.h"
#include "bin/rota/steps/done_log.h"
#include "bin/rota/steps/session.h"
#include "bin/rota/steps/sink.h"
#include "lib/clock.h"
#include "lib/text.h"

enum { TWICE_WITHIN_MS = 1000, DRAW_MS = 250 };

static void cancel_all(struct many *m)
{
	for (struct many_run *r = m->runs; r; r = r->next)
		if (r->substep)
			rota_steps_send_cancel(m->steps, r->substep);
}

void many_fail(struct many *m, const char *message)
{
	progress_clear(&m->progress);
	if (!m->broken)
		fprintf(stderr, "rota run: %s\n", message);
	m->broken = true;
	cancel_all(m);
}

void many_note_failure(struct many *m, char *text)
{
	failures_add(&m->failures, text);
	m->progress.failed++;
}

/* -- the log */

bool many_open_log(struct many *m, struct err *e)
{
	const struct run_options *o = m->options;
	char *path;

	if (!o->resume)
		return true;
	path = o->resume_log ? xstrdup(o->resume_log) : done_log_default(getenv("ROTA_WORKDIR"), getenv("ROTA_STEP_LABEL"));
	if (!path)
		return err_set(e, "--resume: name the log, because ROTA_STEP_LABEL is not set");
	m->log = done_log_open(path, e);
	free(path);
	return m->log != NULL;
}

bool many_has_completed(const struct many *m, uint64_t hash)
{
	return m->log && done_log_has(m->log, hash);
}

/* -- events */

static void run_queued(void *data, int substep)
{
	struct many_run *r = data;

	r->substep = substep;
	if (r->many->stop || r->many->broken)
		rota_steps_send_cancel(r->many->steps, substep);
}

static void run_started(void *data, int tasks, int run)
{
	struct many_run *r = data;

	(void)tasks, (void)run;
	if (r->many->kind->started)
		r->many->kind->started(r);
}

static void run_output(void *data, int task, bool is_error, const char *bytes, size_t size)
{
	struct many_run *r = data;
	const struct run_options *options = r->many->options;
	int only = is_error ? options->error_task : options->output_task;

	if (only != RUN_ALL_TASKS && only != task)
		return;
	if (!options->unbuffered) {
		run_output_add(is_error ? &r->err : &r->out, bytes, size);
		return;
	}
	progress_clear(&r->many->progress);
	if (!sink_write_all(is_error ? STDERR_FILENO : STDOUT_FILENO, bytes, size))
		many_fail(r->many, "could not write the output");
}

static void run_skipped(void *data, int task, bool is_error, long long size)
{
	struct many_run *r = data;
	char *name = r->many->kind->name(r);

	progress_clear(&r->many->progress);
	fprintf(stderr, "rota run: %s %s: %lld bytes of the standard %s of task %d are lost\n", r->many->kind->noun, name, size,
		is_error ? "error" : "output", task);
	free(name);
}

/* Print the output of a sub-step that has ended, and free the sub-step. */
static void run_finish(struct many_run *r, bool good)
{
	struct many *m = r->many;
	char *name = m->options->label ? m->kind->name(r) : NULL;
	bool written;

	if (!run_output_is_empty(&r->out) || !run_output_is_empty(&r->err))
		progress_clear(&m->progress);
	written = run_output_finish(&r->out, STDOUT_FILENO, name);
	written = run_output_finish(&r->err, STDERR_FILENO, name) && written;
	free(name);
	m->progress.ended++;
	m->progress.running--;
	if (r->previous)
		r->previous->next = r->next;
	else
		m->runs = r->next;
	if (r->next)
		r->next->previous = r->previous;
	m->kind->ended(r, good);
	if (!written)
		many_fail(m, "could not write the output");
}

static void run_ended(void *data, const struct rota_end *end)
{
	struct many_run *r = data;
	struct many *m = r->many;
	bool good = session_status(end) == 0;
	struct err e = {0};

	if (!good)
		many_note_failure(m, m->kind->failure(r, session_words(end)));
	else if (m->log && !done_log_add(m->log, r->hash, r->number, &e))
		many_fail(m, e.message);
	run_finish(r, good);
}

static void run_refused(void *data, const char *message, const char *hint)
{
	struct many_run *r = data;

	(void)hint;
	many_note_failure(r->many, r->many->kind->failure(r, message));
	run_finish(r, false);
}

/* -- all */

bool many_has_room(const struct many *m)
{
	return !m->stop && !m->broken && m->progress.running < m->limit;
}

void many_start(struct many *m, struct many_run *r, const struct rota_run *run)
{
	static const struct rota_callbacks callbacks = {run_queued,  NULL,	run_started, run_output,
							run_skipped, run_ended, run_refused, NULL};

	r->many = m;
	r->next = m->runs;
	if (m->runs)
		m->runs->previous = r;
	m->runs = r;
	m->progress.running++;
	if (!rota_steps_run(m->steps, run, &callbacks, r))
		run_refused(r, rota_steps_error(m->steps), "");
}

static void take_signal(struct many *m, int number)
{
	const struct progress *p = &m->progress;
	int64_t now = clock_ms();
	bool again = m->interrupt_ms && now - m->interrupt_ms < TWICE_WITHIN_MS;
	char total[32] = "";

	progress_clear(&m->progress);
	if (number != SIGINT || again) {
		fprintf(stderr, "rota run: cancelling %ld sub-step%s\n", p->running, text_plural(p->running));
		m->stop = number;
		cancel_all(m);
		return;
	}
	if (p->total)
		snprintf(total, sizeof(total), "of %ld ", p->total);
	fprintf(stderr,
		"rota run: %ld %s%ss ended, %ld of them failed, %ld are under way; press Ctrl-C again within a second to "
		"cancel\n",
		p->ended + p->earlier, total, m->kind->noun, p->failed, p->running);
	m->interrupt_ms = now;
}

/* Returns false if the connection is lost. */
static bool many_follow(struct many *m, int signals)
{
	for (;;) {
		struct pollfd ready[3];
		int number, fd = -1;
		bool more = m->kind->fill(m, &fd);

		if (!m->progress.running && (!more || m->stop || m->broken))
			return true;
		progress_draw(&m->progress, false);
		ready[0] = (struct pollfd){.fd = rota_steps_descriptor(m->steps), .events = rota_steps_events(m->steps)};
		ready[1] = (struct pollfd){.fd = signals, .events = POLLIN};
		ready[2] = (struct pollfd){.fd = fd, .events = POLLIN};
		poll(ready, 3, m->progress.shown ? DRAW_MS : -1);
		if (ready[0].revents && !rota_steps_handle(m->steps))
			return false;
		while (ready[1].revents && (number = session_signal(signals)))
			if (number != SIGWINCH)
				take_signal(m, number);
		if (fd >= 0 && ready[2].revents)
			m->kind->read_more(m);
	}
}

static void print_summary(struct many *m)
{
	const struct progress *p = &m->progress;

	if (p->earlier)
		fprintf(stderr, "rota run: %ld %s%s had completed before\n", p->earlier, m->kind->noun, text_plural(p->earlier));
	if (p->failed)
		fprintf(stderr, "rota run: %ld of %ld %s%s failed\n", p->failed, p->ended + p->earlier, m->kind->noun,
			text_plural(p->ended + p->earlier));
	failures_print(&m->failures);
}

int many_run_all(struct many *m, const char *const *env, const char *cwd)
{
	int signals, status = EXIT_OK;

	m->limit = session_request_limit(m->steps);
	if (!m->limit || !rota_steps_defaults(m->steps, env, cwd))
		return session_failed("run", m->steps);
	signals = session_signals();
	progress_begin(&m->progress);
	if (!many_follow(m, signals)) {
		progress_clear(&m->progress);
		status = session_failed("run", m->steps);
	}
	if (!status && m->progress.total)
		progress_draw(&m->progress, true);
	if (m->progress.drawn)
		fputc('\n', stderr);
	print_summary(m);
	if (m->log)
		done_log_close(m->log);
	close(signals);
	if (m->stop)
		return 128 + m->stop;
	return status ? status : m->progress.failed || m->broken ? EXIT_REFUSED : EXIT_OK;
}
