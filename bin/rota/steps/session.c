/* session.c - functions that verbs about sub-steps share (session.h).
 *
 * Called by: run_one.c, run_each.c, run_file.c, substep.c, verb/steps.c. */
#include "bin/rota/steps/session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "bin/rota/steps/route.h"
#include "lib/err.h"

bool session_is_inside(void)
{
	const char *path = getenv("ROTA_STEP_SOCKET");

	return path && *path;
}

struct rota_steps *session_open(const char *verb, int *status)
{
	const char *path = getenv("ROTA_STEP_SOCKET");
	struct rota_steps *steps;
	char error[512];

	if (!path || !*path) {
		fprintf(stderr, "rota %s needs an allocation: run it in a job, or submit a script that has it\n", verb);
		fputs("hint: `rota submit --wrap='rota run COMMAND'` submits one command.\n", stderr);
		*status = EXIT_USAGE;
		return NULL;
	}
	steps = rota_steps_connect(path, error, sizeof(error));
	if (!steps) {
		fprintf(stderr, "rota %s: %s\n", verb, error);
		if (!route_is_remote(path))
			fputs("hint: ROTA_STEP_SOCKET names the socket of a step; the step may have ended.\n", stderr);
		*status = EXIT_NO_GATE;
	}
	return steps;
}

int session_failed(const char *verb, const struct rota_steps *steps)
{
	fprintf(stderr, "rota %s: %s\n", verb, rota_steps_error(steps));
	return EXIT_REFUSED;
}

const char *session_label(int substep)
{
	static char label[512];
	const char *step = getenv("ROTA_STEP_LABEL");

	snprintf(label, sizeof(label), "%s.%d", step ? step : "", substep);
	return label;
}

int session_status(const struct rota_end *end)
{
	if (end->signal > 0)
		return 128 + end->signal;
	if (end->exit_code > 0)
		return end->exit_code > 255 ? EXIT_REFUSED : end->exit_code;
	return !strcmp(end->state, "completed") || !strcmp(end->state, "skipped") ? EXIT_OK : EXIT_REFUSED;
}

const char *session_words(const struct rota_end *end)
{
	static char words[600];

	if (!strcmp(end->state, "completed") || !strcmp(end->state, "skipped"))
		snprintf(words, sizeof(words), "%s", end->state);
	else if (!strcmp(end->cause, "idle_timeout"))
		snprintf(words, sizeof(words), "%s (idle_timeout%s%s)", end->state, *end->message ? ", " : "", end->message);
	else if (*end->message)
		snprintf(words, sizeof(words), "%s: %s", end->state, end->message);
	else if (end->signal > 0)
		snprintf(words, sizeof(words), "%s (%s)", end->state, format_signal(end->signal).s);
	else if (end->exit_code > 0)
		snprintf(words, sizeof(words), "%s (exit code %d)", end->state, end->exit_code);
	else if (!strcmp(end->state, "failed"))
		snprintf(words, sizeof(words), "failed (%s)", end->cause);
	else
		snprintf(words, sizeof(words), "%s", end->state);
	return words;
}

long session_request_limit(struct rota_steps *steps)
{
	json_t *nodes = rota_steps_resources(steps), *node;
	long cpus = 0;
	size_t i;

	json_array_foreach (nodes, i, node)
		cpus += (long)json_integer_value(json_object_get(node, "cpus"));
	if (!nodes)
		return 0;
	json_decref(nodes);
	return cpus ? 2 * cpus : 2;
}

int session_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		die("could not make a descriptor for signals");
	return fd;
}

int session_signal(int descriptor)
{
	struct signalfd_siginfo info;

	return read(descriptor, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}
