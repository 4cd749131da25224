/* signal.c - `rota signal`: sends a signal to every process of jobs or steps. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/jobs/change.h"
#include "bin/rota/jobs/selection.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "bin/rota/steps/substep.h"
#include "lib/err.h"
#include "lib/nearest.h"

const struct verb_option signal_options[] = {
	{'s', "signal", "NAME", "the signal, as USR1, SIGUSR1 or 10, instead of the first operand"},
	{'q', "quiet", NULL, "print only errors"},
	SELECTION_OPTIONS,
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

/* Returns the name of a signal without the prefix SIG. */
static const char *signal_word(const char *given)
{
	return !strncasecmp(given, "SIG", 3) ? given + 3 : given;
}

/* Returns the number of a signal, or 0 if there is no such signal. Adds the names of signals to `names`, unless it is NULL. */
static int signal_find(const char *given, const char **names)
{
	const char *word = signal_word(given);
	char *end;
	long number = strtol(given, &end, 10);

	for (int s = 1; s < NSIG; s++) {
		const char *name = sigabbrev_np(s);

		if (!name)
			continue;
		if (!strcasecmp(name, word) || (end != given && !*end && number == s))
			return s;
		if (names)
			*names++ = name;
	}
	return 0;
}

/* Returns the number of a signal. An unknown signal is misuse. */
static int signal_number(const struct verb *verb, const char *given)
{
	const char *names[NSIG + 1] = {NULL}, *near;
	int number = signal_find(given, names);

	if (number)
		return number;
	near = nearest_of(signal_word(given), names);
	verb_misuse(verb, "there is no signal \"%s\"%s%s%s", given, near ? "; did you mean \"" : "", near ? near : "",
		    near ? "\"?" : "");
}

/* Take the signal from the operands, of which it is the first. */
static const char *signal_take(struct verb_scan *scan)
{
	const char *given = scan->argv[scan->at], *last = scan->argv[scan->at + scan->operands - 1];

	if (isdigit((unsigned char)given[0]) && isalpha((unsigned char)last[0]) && signal_find(last, NULL))
		verb_misuse(scan->verb, "the signal stands before the jobs: rota signal %s %s", last, given);
	scan->at++;
	scan->operands--;
	return given;
}

int verb_signal(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	json_t *request = json_object();
	const char *given = NULL;
	struct change_line line = {0};
	int number;

	for (int id; (id = verb_next(&scan));) {
		if (selection_take(&scan, id, request, &line.yes))
			continue;
		if (id == 's')
			given = scan.value;
		line.json |= id == VERB_JSON;
		line.quiet |= id == 'q';
	}
	if (!given) {
		verb_operands(&scan, selection_any(request) ? 1 : 2, -1);
		given = signal_take(&scan);
	}
	number = signal_number(scan.verb, given);
	if (substep_operands(&scan)) {
		json_decref(request);
		return substep_signal(&scan, number, line.quiet);
	}
	json_object_set_new(request, "signal", json_string(sigabbrev_np(number)));
	change_jobs(&scan, request);
	return change_send(scan.verb, request, &line);
}
