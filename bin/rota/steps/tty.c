/* tty.c - a person's terminal (tty.h).
 *
 * Called by: run_one.c. Invariants: the settings of the terminal are restored when this process ends, except by SIGKILL. */
#include "bin/rota/steps/tty.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static bool is_raw;

void tty_begin(void)
{
	struct termios raw;

	if (is_raw || tcgetattr(STDIN_FILENO, &before) < 0)
		return;
	raw = before;
	cfmakeraw(&raw);
	is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
	if (is_raw)
		atexit(tty_end);
}

void tty_end(void)
{
	if (is_raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	is_raw = false;
}

void tty_size(int *rows, int *cols)
{
	struct winsize size;
	bool known = ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;

	*rows = known ? size.ws_row : 24;
	*cols = known ? size.ws_col : 80;
}

size_t tty_filter(const char *typed, size_t size, char *bytes, bool *leave)
{
	static enum { WITHIN, AT_BEGIN, AFTER_TILDE } place = AT_BEGIN;
	size_t count = 0;

	for (size_t i = 0; i < size && !*leave; i++) {
		char c = typed[i];
		bool held = place == AFTER_TILDE;

		*leave = held && c == '.';
		if (place == AT_BEGIN && c == '~') {
			place = AFTER_TILDE;
			continue;
		}
		/* a tilde without an escape letter after it: the program gets the tilde too; `~~` is one tilde */
		if (held && c != '~')
			bytes[count++] = '~';
		bytes[count++] = c;
		place = c == '\r' || c == '\n' ? AT_BEGIN : WITHIN;
	}
	return *leave ? 0 : count;
}
