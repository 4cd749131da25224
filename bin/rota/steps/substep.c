/* substep.c - carries out `rota cancel`, `rota signal` and `rota wait` for sub-steps (substep.h).
 *
 * Called by: substep_show.c, verb/act.c, verb/signal.c, verb/wait.c.
 * Invariants:
 * - For a sub-step of the step in which `rota` runs, no jobmgrd is needed. */
#include "bin/rota/steps/substep.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "bin/rota/steps/allocation.h"
#include "bin/rota/steps/session.h"
#include "bin/rota/steps/substep_record.h"
#include "lib/err.h"

enum { SUBSTEP_MOST = 1000000000, WAIT_TIMED_OUT = 124 };

/* Returns the number in a word such as ".3"; 0 if the word has another form. */
static int dot_number(const char *word)
{
	char *end;
	long number;

	if (*word != '.' || word[1] < '1' || word[1] > '9')
		return 0;
	number = strtol(word + 1, &end, 10);
	return *end || number > SUBSTEP_MOST ? 0 : (int)number;
}

int substep_parse(const char *word, const char *own_label)
{
	size_t length = own_label ? strlen(own_label) : 0;

	if (length && !strncmp(word, own_label, length))
		word += length;
	return dot_number(word);
}

/* Returns true if the word names a sub-step, of any job. */
static bool names_substep(const char *word)
{
	const char *first = strchr(word, '.'), *last = strrchr(word, '.');

	return last && (first == word || last != first) && dot_number(last) > 0;
}

bool substep_operands(const struct verb_scan *scan)
{
	int count = 0;

	for (int i = 0; i < scan->operands; i++)
		count += names_substep(scan->argv[scan->at + i]);
	if (count && count < scan->operands)
		verb_misuse(scan->verb, "name either sub-steps or jobs, not both");
	return count > 0;
}

struct substep_own substep_own(void)
{
	const char *label = getenv("ROTA_STEP_LABEL"), *socket = getenv("ROTA_STEP_SOCKET");

	if (!label || !session_is_inside())
		return (struct substep_own){NULL, NULL};
	return (struct substep_own){xstrdup(label), xstrdup(socket)};
}

void substep_own_free(struct substep_own *own)
{
	free(own->label);
	free(own->socket);
}

struct rota_steps *substep_open(const char *verb, const char *word, const struct substep_own *own, int *number, int *status)
{
	char error[512];

	*status = EXIT_OK;
	*number = substep_parse(word, own->label);
	if (!*number && !allocation_find(verb, word, number, status))
		return NULL;
	if (own->label && substep_parse(word, own->label)) { /* an earlier word may have set another step */
		setenv("ROTA_STEP_LABEL", own->label, 1);
		setenv("ROTA_STEP_SOCKET", own->socket, 1);
	}
	return verb ? session_open(verb, status) : rota_steps_connect(NULL, error, sizeof(error));
}

/* Cancel one sub-step or, if `signal` is not 0, send it that signal. Returns the exit status. */
static int act_one(const char *verb, const char *word, const struct substep_own *own, int signal, bool quiet)
{
	int number, status;
	struct rota_steps *steps = substep_open(verb, word, own, &number, &status);

	if (!steps)
		return status;
	if (!(signal ? rota_steps_signal(steps, number, signal) : rota_steps_cancel(steps, number)))
		status = session_failed(verb, steps);
	else if (!quiet)
		printf("%s: %s\n", session_label(number), signal ? "signalled" : "cancelled");
	rota_steps_disconnect(steps);
	return status;
}

static int act_all(const struct verb_scan *scan, int signal, bool quiet)
{
	struct substep_own own = substep_own();
	int status = EXIT_OK;

	for (int i = 0; i < scan->operands; i++) {
		int one = act_one(scan->verb->name, scan->argv[scan->at + i], &own, signal, quiet);

		status = one > status ? one : status;
	}
	substep_own_free(&own);
	return status;
}

int substep_cancel(const struct verb_scan *scan, bool quiet)
{
	return act_all(scan, 0, quiet);
}

int substep_signal(const struct verb_scan *scan, int signal, bool quiet)
{
	return act_all(scan, signal, quiet);
}

static void wait_is_over(int signal)
{
	(void)signal;
	_exit(WAIT_TIMED_OUT);
}

/* Let SIGALRM end this process after `seconds`, with exit status WAIT_TIMED_OUT. */
static void wait_end_after(long seconds)
{
	struct itimerval timer = {.it_value = {.tv_sec = seconds, .tv_usec = seconds ? 0 : 1}};

	signal(SIGALRM, wait_is_over);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Print how a sub-step ended, or add that to `ends`. */
static void wait_print(const char *label, const struct rota_end *end, const struct substep_wait *how, json_t *ends)
{
	json_array_append_new(ends, json_pack("{ss ss ss si si}", "label", label, "state", end->state, "cause", end->cause,
					      "exit_code", end->exit_code, "signal", end->signal));
	if (how->quiet || how->json)
		return;
	printf("%s: %s\n", label, session_words(end));
	fflush(stdout); /* the end by SIGALRM does not flush */
}

/* Wait for one sub-step. Returns the exit status. */
static int wait_one(const char *verb, const char *word, const struct substep_own *own, const struct substep_wait *how,
		    json_t *ends)
{
	bool is_own = substep_parse(word, own->label) > 0;
	int number, status;
	struct rota_steps *steps = substep_open(is_own ? verb : NULL, word, own, &number, &status);
	json_t *record = NULL;
	struct rota_end end;
	bool good = steps && rota_steps_wait_for(steps, number, &end);

	if (steps && !good && is_own)
		status = session_failed(verb, steps);
	if (good) {
		wait_print(session_label(number), &end, how, ends);
	} else if (!status) {
		record = substep_record_wait(word, &end, &status);
		if (record)
			wait_print(word, &end, how, ends);
		good = record != NULL;
	}
	if (good)
		status = session_status(&end);
	json_decref(record);
	if (steps)
		rota_steps_disconnect(steps);
	return status;
}

int substep_wait(const struct verb_scan *scan, const struct substep_wait *how)
{
	struct substep_own own = substep_own();
	json_t *ends = json_array();
	int status = EXIT_OK;

	if (how->timeout_s >= 0)
		wait_end_after(how->timeout_s);
	for (int i = 0; i < scan->operands; i++) {
		int one = wait_one(scan->verb->name, scan->argv[scan->at + i], &own, how, ends);

		status = one > status ? one : status;
	}
	if (how->json) {
		json_t *answer = json_pack("{sO}", "substeps", ends);

		json_dumpf(answer, stdout, 0);
		putchar('\n');
		json_decref(answer);
	}
	json_decref(ends);
	substep_own_free(&own);
	return status;
}
