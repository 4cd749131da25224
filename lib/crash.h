/* crash.h - named places at which a process of a crash build kills itself, for tests/fault/crash.
 *
 * In an ordinary build these functions do nothing. Configured with -DROTA_CRASH=ON (preset `crash`), the environment variable
 * ROTA_CRASH names the crash file, with lines "PLACE COUNT". The process that comes to the place of the first line for the
 * COUNT-th time, counted over all processes, removes the line and dies as by kill -9. The places are listed in crash.def. */
#ifndef ROTA_CRASH_H
#define ROTA_CRASH_H

#include <stdbool.h>

enum crash_place {
#define CRASH(place, hits, first, help) CRASH_##place,
#define CRASH_CALL(function)
#include "lib/crash.def"
#undef CRASH
#undef CRASH_CALL
	CRASH_COUNT
};

#ifdef ROTA_CRASH
/* Kill this process if the first line of the crash file names `place` and its count is reached. */
void crash_point(enum crash_place place);
/* Kill this process if the first line of the crash file names the place FUNCTION_MOMENT and its count is reached. `moment` of a
 * call of the database function is "before", "sent" or "after". */
void crash_call(const char *function, const char *moment);
/* Returns true if the process must die at `place`. The caller then does half of its work and calls crash_now(). */
bool crash_is_due(enum crash_place place);
void crash_now(void) __attribute__((noreturn));
#else
static inline void crash_point(enum crash_place place)
{
	(void)place;
}

static inline void crash_call(const char *function, const char *moment)
{
	(void)function;
	(void)moment;
}

static inline bool crash_is_due(enum crash_place place)
{
	(void)place;
	return false;
}

static inline void crash_now(void)
{
}
#endif

#endif
