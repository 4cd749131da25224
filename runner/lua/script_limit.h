/* script_limit.h - stops a Lua function that runs too long, in its own code and in library functions.
 *
 * A stop leaves the function by a jump, which no pcall, metamethod or coroutine can catch. The Lua state is then in an unknown
 * condition: drop its memory (script_memory_drop()) without calling Lua again. */
#ifndef ROTA_RUNNER_SCRIPT_LIMIT_H
#define ROTA_RUNNER_SCRIPT_LIMIT_H

#include <lua.h>

enum script_stop { SCRIPT_STOP_NONE, SCRIPT_STOP_INSTRUCTIONS, SCRIPT_STOP_TIME };

/* Install the handler of SIGALRM. Call this once, before the other functions of this file. */
void script_limit_open(void);

/* Set the hook that counts instructions in a Lua state, and in the coroutines that it makes from now on. */
void script_limit_watch(lua_State *L);

/* Call run(arg) with limits. `run` and what it calls may hold no resource that a jump would leak, except between
 * script_limit_hold() and script_limit_release(). Returns which limit stopped it, or that it was not stopped. */
enum script_stop script_limit_run(void (*run)(void *arg), void *arg, long long instructions, double seconds);

/* Returns where the function was stopped, as "FILE:LINE: ", or "" if that is unknown. Valid until the next run. */
const char *script_limit_where(void);

/* Between script_limit_hold() and script_limit_release() no jump happens. The calls nest. The code between them must be short,
 * and may not raise a Lua error. A delayed jump happens in script_limit_release(). */
void script_limit_hold(void);
void script_limit_release(void);

#endif
