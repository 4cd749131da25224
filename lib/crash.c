/* crash.c - ends the process at a named place (crash.h). Only the crash build has code here.
 *
 * Called by: daemons of the crash build.
 * Invariants:
 * - The line of a place is removed from the crash file before the process dies, so the next process that comes to the place
 *   survives.
 * - A process holds a lock while it counts down, so the count of a place is exact over all processes. */
#include "lib/crash.h"

#ifdef ROTA_CRASH
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/log.h"

enum { FILE_SIZE = 1024 };

static const char *const names[CRASH_COUNT] = {
#define CRASH(place, hits, first, help) [CRASH_##place] = #place,
#define CRASH_CALL(function)
#include "lib/crash.def"
#undef CRASH
#undef CRASH_CALL
};

/* Replace the content of the crash file by `text`. If `text` is empty, remove the file. */
static void file_write(int fd, const char *path, const char *text)
{
	size_t length = strlen(text);
	bool written = *text ? ftruncate(fd, 0) == 0 && pwrite(fd, text, length, 0) == (ssize_t)length : unlink(path) == 0;
	if (!written)
		log_error("could not change \"%s\": %m", path);
}

/* If the first line of the crash file is the place `name`, count it down. Returns true if its count was 1. The caller has locked
 * the file. */
static bool is_turn(int fd, const char *path, const char *name)
{
	char text[FILE_SIZE], rest[FILE_SIZE + 128], point[64];
	int count, used;
	ssize_t size = pread(fd, text, sizeof text - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	if (sscanf(text, "%63s %d %n", point, &count, &used) != 2 || strcmp(point, name) != 0)
		return false;
	snprintf(rest, sizeof rest, "%s %d\n%s", point, count - 1, text + used);
	file_write(fd, path, count > 1 ? rest : text + used);
	return count <= 1;
}

static bool is_due(const char *name)
{
	const char *path = getenv("ROTA_CRASH");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	bool due = flock(fd, LOCK_EX) == 0 && is_turn(fd, path, name);
	close(fd);
	if (due)
		log_info("dies at %s", name);
	return due;
}

void crash_now(void)
{
	for (;;)
		raise(SIGKILL);
}

bool crash_is_due(enum crash_place place)
{
	return is_due(names[place]);
}

void crash_point(enum crash_place place)
{
	if (is_due(names[place]))
		crash_now();
}

void crash_call(const char *function, const char *moment)
{
	char name[128];
	snprintf(name, sizeof name, "%s_%s", function, moment);
	if (is_due(name))
		crash_now();
}
#endif
