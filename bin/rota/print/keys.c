/* keys.c - reads single keys from the terminal (keys.h).
 *
 * Called by: `rota top` and `rota watch`.
 * Invariants:
 * - Ctrl-C and Ctrl-Z work as usual: ISIG stays set.
 * - The original settings of the terminal are restored before the process ends or stops, except by SIGKILL. */
#include "bin/rota/print/keys.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "bin/rota/instance/process.h"
#include "lib/clock.h"

static struct {
	struct termios found, own;
	void (*leave)(void);
	int interrupted;
} keys;

static volatile sig_atomic_t taken;

static void terminal_restore(void)
{
	if (taken)
		tcsetattr(STDIN_FILENO, TCSANOW, &keys.found);
}

static void keys_on_end(int signal)
{
	terminal_restore();
	keys.leave();
	_exit(signal == SIGINT ? keys.interrupted : 128 + signal);
}

static void keys_on_stop(int number)
{
	int error = errno;

	terminal_restore();
	signal(number, SIG_DFL);
	raise(number);
	errno = error;
}

static void keys_on_continue(int number)
{
	(void)number;
	signal(SIGTSTP, keys_on_stop);
	if (taken && tcgetpgrp(STDIN_FILENO) == getpgrp())
		tcsetattr(STDIN_FILENO, TCSANOW, &keys.own);
}

void keys_take(void (*leave)(void), int interrupted)
{
	static const int ENDS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

	keys.leave = leave;
	keys.interrupted = interrupted;
	for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++)
		signal(ENDS[i], keys_on_end);
	if (tcgetpgrp(STDIN_FILENO) != getpgrp() || tcgetattr(STDIN_FILENO, &keys.found))
		return;
	keys.own = keys.found;
	keys.own.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.own.c_cc[VMIN] = 1;
	keys.own.c_cc[VTIME] = 0;
	taken = 1;
	atexit(terminal_restore);
	signal(SIGTSTP, keys_on_stop);
	signal(SIGCONT, keys_on_continue);
	tcsetattr(STDIN_FILENO, TCSANOW, &keys.own);
}

bool keys_rest(int milliseconds)
{
	int64_t until = clock_ms() + milliseconds;
	struct pollfd p = {STDIN_FILENO, POLLIN, 0};
	char key;

	for (int64_t left = milliseconds; taken && left > 0; left = until - clock_ms()) {
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		if (read(STDIN_FILENO, &key, 1) != 1) {
			terminal_restore(); /* the terminal is gone */
			taken = 0;
		} else if (key == 'q' || key == 'Q') {
			return true;
		}
	}
	if (until > clock_ms())
		process_rest((int)(until - clock_ms()));
	return false;
}
