/* option_signal.c - the values of --signal, as in Slurm: [[R][B]:]SIG[@SECONDS], of --checkpoint-signal: [B:]SIG, and of
 * --notify: SIG or none.
 *
 * Called by: option_value.c.
 * Invariants:
 * - A signal is one that a process can receive and catch.
 * - R, which in Slurm lets a job reach into a reservation, has no effect. */
#include <signal.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/option_value.h"
#include "lib/order.h"

enum { SECONDS_DEFAULT = 60 };

/* Returns the number of the signal that `word` names, with or without SIG, or gives as a number. Returns 0 if there is no such
 * signal. */
static int signal_find(const char *word)
{
	int64_t number;
	const char *name = strncasecmp(word, "SIG", 3) == 0 ? word + 3 : word;
	if (option_number(word, 1, ORDER_SIGNAL_MOST, &number))
		return (int)number;
	for (int s = 1; s < NSIG; s++)
		if (sigabbrev_np(s) && strcasecmp(sigabbrev_np(s), name) == 0)
			return s;
	return 0;
}

/* Read the letters before the colon of --signal. Returns false if one of them is neither R nor B. */
static bool signal_read_prefix(const char *text, size_t length, bool *shell)
{
	for (size_t i = 0; i < length; i++) {
		if (!strchr("RrBb", text[i]))
			return false;
		*shell = *shell || text[i] == 'B' || text[i] == 'b';
	}
	return length > 0;
}

static bool signal_check_catchable(const char *text, int signal, struct err *e)
{
	if (signal != SIGKILL && signal != SIGSTOP)
		return true;
	err_set(e, "\"%s\" is a signal that no program can catch", OPTION_QUOTE(text));
	err_hint(e, "write USR1, TERM or another signal that the program catches");
	return false;
}

json_t *option_catchable(const char *text, struct err *e)
{
	int signal = signal_find(text);
	if (strcmp(text, "none") == 0)
		return json_integer(0);
	if (signal == 0) {
		err_set(e, "\"%s\" is not a signal", OPTION_QUOTE(text));
		err_hint(e, "write USR1, or none");
		return NULL;
	}
	return signal_check_catchable(text, signal, e) ? json_integer(signal) : NULL;
}

json_t *option_request(const char *text, struct err *e)
{
	const char *colon = strchr(text, ':');
	bool shell = false;
	if (colon && !signal_read_prefix(text, (size_t)(colon - text), &shell)) {
		err_set(e, "\"%s\" is not a signal", OPTION_QUOTE(text));
		err_hint(e, "write USR1 or B:USR1");
		return NULL;
	}
	json_t *signal = option_catchable(colon ? colon + 1 : text, e);
	return signal ? json_pack("{s:o, s:b}", "signal", signal, "shell", shell) : NULL;
}

json_t *option_signal(const char *text, struct err *e)
{
	const char *colon = strchr(text, ':'), *word = colon ? colon + 1 : text, *at = strchr(word, '@');
	bool shell = false, good = !colon || signal_read_prefix(text, (size_t)(colon - text), &shell);
	int64_t seconds = SECONDS_DEFAULT;
	char *name = xstrndup(word, at ? (size_t)(at - word) : strlen(word));
	int signal = signal_find(name);
	free(name);
	if (!good || signal == 0) {
		err_set(e, "\"%s\" is not a signal", OPTION_QUOTE(text));
		err_hint(e, "write USR1, B:USR1 or B:USR1@120");
		return NULL;
	}
	if (at && !option_number(at + 1, 0, ORDER_SIGNAL_AHEAD_MOST, &seconds)) {
		err_set(e, "\"%s\" is not a number of seconds from 0 to %d", OPTION_QUOTE(at + 1), ORDER_SIGNAL_AHEAD_MOST);
		return NULL;
	}
	if (!signal_check_catchable(text, signal, e))
		return NULL;
	return json_pack("{s:i, s:I, s:b}", "signal", signal, "seconds", (json_int_t)seconds, "shell", shell);
}
