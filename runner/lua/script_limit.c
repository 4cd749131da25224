/* script_limit.c - limits on instructions and time of a Lua function (script_limit.h).
 *
 * Called by: script_serve.c around each call; script_memory.c, script_library.c and script_sandbox.c call script_limit_hold().
 * Invariants:
 * - When the time limit has passed, Lua's instruction hook stops the function, so the line is known. A long library function,
 *   such as a pattern match in exponential time, runs no Lua instructions: the handler of SIGALRM itself then jumps, 10 ms later.
 * - The handler jumps only out of Lua and its library, which hold no lock and only memory of the Lua state. All other code is
 *   between script_limit_hold() and script_limit_release(), where no jump happens. */
#include "runner/lua/script_limit.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/time.h>

#include "lib/err.h"

enum {
	COUNT = 1000,  /* instructions between two calls of the hook */
	AGAIN_MS = 10, /* time between two alarms, once the time limit has passed */
	WHERE_SIZE = 128
};

static struct {
	sigjmp_buf back;
	volatile sig_atomic_t running, held, alarms;
	long long instructions_left;
	char where[WHERE_SIZE];
} limit;

static void limit_alarm(int number)
{
	(void)number;
	if (!limit.running)
		return;
	limit.alarms = limit.alarms < 2 ? limit.alarms + 1 : 2;
	if (limit.alarms > 1 && !limit.held)
		siglongjmp(limit.back, SCRIPT_STOP_TIME);
}

void script_limit_open(void)
{
	struct sigaction action = {.sa_handler = limit_alarm, .sa_flags = SA_NODEFER | SA_RESTART};

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGALRM, &action, NULL) < 0)
		die("could not set the handler of SIGALRM");
}

/* The hook of Lua, after each COUNT instructions. */
static void limit_count(lua_State *L, lua_Debug *ar)
{
	enum script_stop stop = SCRIPT_STOP_NONE;

	if (!limit.running)
		return;
	limit.instructions_left -= COUNT;
	if (limit.alarms)
		stop = SCRIPT_STOP_TIME;
	else if (limit.instructions_left <= 0)
		stop = SCRIPT_STOP_INSTRUCTIONS;
	if (stop == SCRIPT_STOP_NONE || limit.held)
		return;
	limit.held++;
	if (lua_getinfo(L, "Sl", ar) && ar->currentline > 0)
		snprintf(limit.where, sizeof limit.where, "%s:%d: ", ar->short_src, ar->currentline);
	siglongjmp(limit.back, stop);
}

void script_limit_watch(lua_State *L)
{
	lua_sethook(L, limit_count, LUA_MASKCOUNT, COUNT);
}

static void limit_set_timer(double seconds)
{
	struct itimerval timer = {0};

	if (seconds > 0) {
		timer.it_value.tv_sec = (time_t)seconds;
		timer.it_value.tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6);
		timer.it_interval.tv_usec = AGAIN_MS * 1000;
	}
	setitimer(ITIMER_REAL, &timer, NULL);
}

enum script_stop script_limit_run(void (*run)(void *arg), void *arg, long long instructions, double seconds)
{
	int stop;

	limit.instructions_left = instructions;
	limit.alarms = limit.held = 0;
	limit.where[0] = '\0';
	limit_set_timer(seconds);
	stop = sigsetjmp(limit.back, 0);
	if (stop == SCRIPT_STOP_NONE) {
		limit.running = true;
		run(arg);
	}
	limit.running = false;
	limit.held = 0;
	limit_set_timer(0);
	return (enum script_stop)stop;
}

const char *script_limit_where(void)
{
	return limit.where;
}

void script_limit_hold(void)
{
	limit.held = limit.held + 1;
}

void script_limit_release(void)
{
	limit.held = limit.held - 1;
	if (limit.held == 0 && limit.running && limit.alarms > 1)
		siglongjmp(limit.back, SCRIPT_STOP_TIME);
}
