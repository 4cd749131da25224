/* run_one.c - runs one sub-step and follows it until its end (run_one.h).
 *
 * Called by: verb/run.c.
 * Invariants:
 * - Standard output has output of tasks only. Messages of `rota run` itself go to standard error. */
#include "bin/rota/steps/run_one.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "bin/rota/steps/session.h"
#include "bin/rota/steps/sink.h"
#include "bin/rota/steps/tty.h"
#include "lib/clock.h"
#include "lib/text.h"

enum {
	SAY_WAITING_AFTER_MS = 1000,
	TWICE_WITHIN_MS = 1000,
	UNSENT_MOST = 1 << 20,
	INPUT_SIZE = 64 << 10,
	HOST_SIZE = 256,
	DETACHED_ROWS = 24,
	DETACHED_COLS = 80
};

struct run_one {
	const char *verb; /* verb of the command line, for messages */
	struct rota_steps *steps;
	const struct run_options *options;
	long long request;
	int substep; /* 0: not queued yet */
	int tasks;
	char reason[256]; /* why the sub-step waits; "" if it does not wait */
	int64_t began_ms;
	int64_t interrupt_ms; /* time of the last Ctrl-C by clock_ms(); 0: none */
	bool reading;	      /* standard input is passed on */
	bool cancel;	      /* cancel the sub-step as soon as it is queued */
	bool waiting_said;    /* the reason why the sub-step waits was printed */
	bool finished;
	bool drops;	     /* drop output: when SIGTERM or SIGHUP came, nobody was reading the descriptor */
	bool is_terminal;    /* standard input is a terminal, and all its keys go to the sub-step's program */
	bool left;	     /* this process ends, and the sub-step goes on */
	bool leaves_running; /* the sub-step has a terminal and goes on when this process ends */
	int status;
	struct sink *out, *err;
};

static void one_queued(void *data, int substep)
{
	struct run_one *one = data;

	one->substep = substep;
	if (one->cancel)
		rota_steps_send_cancel(one->steps, substep);
	if (one->options->run.detach)
		one->finished = true;
}

static void one_waiting(void *data, const char *reason)
{
	struct run_one *one = data;

	snprintf(one->reason, sizeof(one->reason), "%s", reason);
}

static void one_started(void *data, int tasks, int run)
{
	struct run_one *one = data;

	one->tasks = tasks;
	one->reason[0] = '\0';
	if (run > 1)
		fprintf(stderr, "rota %s: %s runs again (run %d)\n", one->verb, session_label(one->substep), run);
}

static void one_cancel(struct run_one *one)
{
	one->cancel = true;
	if (one->substep)
		rota_steps_send_cancel(one->steps, one->substep);
}

/* End this process: cancel the sub-step, or leave it running. */
static void one_leave(struct run_one *one)
{
	if (one->leaves_running)
		one->finished = one->left = true;
	else
		one_cancel(one);
	one->reading = false;
}

static void one_output(void *data, int task, bool is_error, const char *bytes, size_t size)
{
	struct run_one *one = data;
	int only = is_error ? one->options->error_task : one->options->output_task;

	if (one->drops || one->options->run.detach || (only != RUN_ALL_TASKS && only != task))
		return;
	if (sink_write(is_error ? one->err : one->out, task, bytes, size) || one->cancel || one->left)
		return;
	one->drops = errno == EINTR;
	if (!one->drops) {
		fprintf(stderr, "rota %s: could not write the output: %s\n", one->verb, strerror(errno));
		one->status = EXIT_REFUSED;
	}
	one_leave(one); /* writing to a closed terminal fails before SIGHUP comes */
}

static void one_skipped(void *data, int task, bool is_error, long long size)
{
	struct run_one *one = data;

	fprintf(stderr, "rota %s: %s: %lld bytes of the standard %s of task %d are lost\n", one->verb,
		session_label(one->substep), size, is_error ? "error" : "output", task);
}

/* Write unfinished lines of output, before the message about the end of the sub-step. */
static void one_close(struct run_one *one)
{
	bool good = !one->out || sink_close(one->out);

	good = (!one->err || sink_close(one->err)) && good;
	one->out = one->err = NULL;
	if (!good && !one->status)
		one->status = EXIT_REFUSED;
}

static void one_ended(void *data, const struct rota_end *end)
{
	struct run_one *one = data;
	int status = session_status(end);

	one_close(one);
	one->finished = true;
	if (!one->status)
		one->status = status;
	if (!strcmp(end->cause, "exit") && one->tasks <= 1)
		return;
	if (!strcmp(end->cause, "launch") && !*end->message)
		fprintf(stderr, "rota %s: %s: could not start the program; check its path and that it is executable\n", one->verb,
			session_label(end->substep));
	else if (end->tasks_failed && one->tasks > 1)
		fprintf(stderr, "rota %s: %s: %s, %d of %d task%s\n", one->verb, session_label(end->substep), session_words(end),
			end->tasks_failed, one->tasks, text_plural(one->tasks));
	else if (strcmp(end->state, "completed") != 0)
		fprintf(stderr, "rota %s: %s: %s\n", one->verb, session_label(end->substep), session_words(end));
}

static void one_refused(void *data, const char *message, const char *hint)
{
	struct run_one *one = data;

	fprintf(stderr, "rota %s: %s\n", one->verb, message);
	if (*hint)
		fprintf(stderr, "hint: %s\n", hint);
	one->finished = true;
	one->status = EXIT_REFUSED;
}

static void one_input_lost(void *data, const char *node)
{
	struct run_one *one = data;

	fprintf(stderr,
		"rota %s: %s: its standard input ended early, since the step manager on node %s was started again; run it "
		"again\n",
		one->verb, session_label(one->substep), node);
	one->reading = false;
	one->status = EXIT_REFUSED;
}

/* Print the state of the sub-step. */
static void one_print_state(struct run_one *one)
{
	json_t *list = rota_steps_list(one->steps), *row;
	size_t i;

	json_array_foreach (list, i, row) {
		if (json_integer_value(json_object_get(row, "substep")) != one->substep)
			continue;
		fprintf(stderr, "rota %s: %s: %s%s%s, tasks %s, elapsed %s\n", one->verb, session_label(one->substep),
			format_text(row, "state"), *format_text(row, "reason") ? ", " : "", format_text(row, "reason"),
			format_count(json_object_get(row, "tasks")).s,
			format_duration(json_number_value(json_object_get(row, "elapsed_s"))).s);
	}
	fprintf(stderr, "rota %s: press Ctrl-C again within a second to cancel the sub-step\n", one->verb);
	json_decref(list);
}

/* Send the size of this terminal to the sub-step's program. */
static void one_resize(struct run_one *one)
{
	int rows, cols;

	tty_size(&rows, &cols);
	if (one->is_terminal)
		rota_steps_resize(one->steps, one->request, rows, cols);
}

static void one_signal(struct run_one *one, int number)
{
	int64_t now = clock_ms();

	if (number == SIGWINCH) {
		one_resize(one);
	} else if (number != SIGINT) {
		one_leave(one);
	} else if (one->interrupt_ms && now - one->interrupt_ms < TWICE_WITHIN_MS) {
		fprintf(stderr, "rota %s: cancelling %s\n", one->verb, session_label(one->substep));
		one_cancel(one);
	} else {
		one_print_state(one);
		one->interrupt_ms = clock_ms();
	}
}

/* Read standard input once, and send the bytes to the sub-step. */
static void one_read(struct run_one *one)
{
	static char bytes[INPUT_SIZE], typed[INPUT_SIZE + 1];
	ssize_t size = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (size > 0 && one->is_terminal) {
		size_t count = tty_filter(bytes, (size_t)size, typed, &one->left);

		if (count > 0)
			rota_steps_input(one->steps, one->request, typed, count);
		one->finished = one->left;
	} else if (size > 0) {
		rota_steps_input(one->steps, one->request, bytes, (size_t)size);
	} else if (one->is_terminal && (size == 0 || (errno != EAGAIN && errno != EINTR))) {
		one_leave(one); /* the terminal was closed */
	} else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
		rota_steps_input_end(one->steps, one->request);
		one->reading = false;
	}
}

/* Wait for events until the sub-step has ended. Returns false if the connection is lost. */
static bool one_follow(struct run_one *one, int signals)
{
	while (!one->finished) {
		bool read = one->reading && rota_steps_unsent(one->steps) < UNSENT_MOST;
		struct pollfd ready[] = {{.fd = rota_steps_descriptor(one->steps), .events = rota_steps_events(one->steps)},
					 {.fd = signals, .events = POLLIN},
					 {.fd = read ? STDIN_FILENO : -1, .events = POLLIN}};
		int64_t left = one->began_ms + SAY_WAITING_AFTER_MS - clock_ms();
		bool waits = one->reason[0] && !one->waiting_said;
		int number;

		if (waits && left <= 0) {
			fprintf(stderr, "rota %s: %s waits: %s\n", one->verb,
				one->substep ? session_label(one->substep) : "the sub-step", one->reason);
			one->waiting_said = true;
			waits = false;
		}
		poll(ready, 3, waits ? (int)left : -1);
		if (ready[0].revents && !rota_steps_handle(one->steps))
			return false;
		while (ready[1].revents && (number = session_signal(signals)))
			one_signal(one, number);
		if (ready[2].revents && !one->finished)
			one_read(one);
	}
	return true;
}

/* Returns true if standard input is passed on without --input. It is not if it is /dev/null, or a terminal, whose keys a task
 * would take from the shell. */
static bool input_is_meant(void)
{
	struct stat st;

	return !isatty(STDIN_FILENO) && !fstat(STDIN_FILENO, &st) && !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

static const struct rota_callbacks one_callbacks = {one_queued,	 one_waiting, one_started, one_output,
						    one_skipped, one_ended,   one_refused, one_input_lost};

/* Follow a request until its sub-step has ended or the user leaves (`~.`). Returns the exit status. */
static int one_run(struct run_one *one)
{
	int signals = session_signals();

	one->is_terminal = one->leaves_running && one->reading && isatty(STDIN_FILENO);
	one->out = sink_new(STDOUT_FILENO, one->options->label, one->options->unbuffered);
	one->err = sink_new(STDERR_FILENO, one->options->label, one->options->unbuffered);
	if (one->is_terminal) {
		tty_begin();
		one_resize(one);
	}
	if (!one->request || !rota_steps_poll(one->steps, 0) || !one_follow(one, signals))
		one->status = session_failed(one->verb, one->steps);
	one_close(one);
	tty_end();
	if (one->left)
		fprintf(stderr, "\nrota %s: left %s; find it again with: rota attach %s\n", one->verb,
			session_label(one->substep), session_label(one->substep));
	close(signals);
	return one->status;
}

/* Returns the login name of this user, and writes the name of this machine to `host`, which has room for HOST_SIZE bytes. */
static const char *person(char *host)
{
	const struct passwd *pw = getpwuid(geteuid());

	if (gethostname(host, HOST_SIZE - 1) < 0)
		*host = '\0';
	host[HOST_SIZE - 1] = '\0';
	return pw ? pw->pw_name : NULL;
}

int run_one(struct rota_steps *steps, const struct run_options *options)
{
	struct run_one one = {.verb = "run", .steps = steps, .options = options, .began_ms = clock_ms()};
	struct rota_run run = options->run;
	char host[HOST_SIZE];

	if (options->pty && run.detach) {
		run.rows = DETACHED_ROWS; /* size of the terminal until somebody attaches */
		run.cols = DETACHED_COLS;
		run.input = "client";
	} else if (options->pty) {
		tty_size(&run.rows, &run.cols);
		run.user = person(host);
		run.host = host;
		run.input = "client";
		run.detach = one.leaves_running = !options->kill_on_hangup;
	} else if (!options->has_input && !run.detach && input_is_meant()) {
		run.input = "client";
	}
	one.reading = run.input && !strcmp(run.input, "client") && !(options->pty && options->run.detach);
	one.request = rota_steps_run(steps, &run, &one_callbacks, &one);
	one_run(&one);
	if (options->run.detach && !one.status)
		puts(session_label(one.substep));
	return one.status;
}

int run_attach(struct rota_steps *steps, int substep, const struct rota_attach *how)
{
	static const struct run_options options = RUN_OPTIONS;
	struct run_one one = {.verb = "attach",
			      .steps = steps,
			      .options = &options,
			      .began_ms = clock_ms(),
			      .substep = substep,
			      .leaves_running = true};

	struct rota_attach attach = *how;
	char host[HOST_SIZE];

	attach.user = person(host);
	attach.host = host;
	one.reading = how->input;
	one.request = rota_steps_attach(steps, substep, &attach, &one_callbacks, &one);
	return one_run(&one);
}
