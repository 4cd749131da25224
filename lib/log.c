/* log.c - a daemon's log: each entry is one line and one write(2), so entries of several processes never mix.
 *
 * Called by: daemons. Libraries return errors instead.
 * Invariants:
 * - An entry is one line: control characters become spaces.
 * - errno does not change. */
#include "lib/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct {
	const char *name;
	int priority; /* priority number of syslog, which systemd's journal reads */
} levels[] = {
	[LOG_LEVEL_DEBUG] = {"debug", 7},
	[LOG_LEVEL_INFO] = {"info", 6},
	[LOG_LEVEL_WARNING] = {"warning", 4},
	[LOG_LEVEL_ERROR] = {"error", 3},
};

static char name[128] = "rota";
static enum log_level lowest_level = LOG_LEVEL_INFO;
static bool for_systemd;

void log_open(const char *program, const char *node, enum log_level lowest)
{
	snprintf(name, sizeof name, node ? "%s[%s]" : "%s", program, node);
	lowest_level = lowest;
	for_systemd = getenv("JOURNAL_STREAM") != NULL;
}

static int log_head(char *line, size_t size, enum log_level level)
{
	if (for_systemd)
		return snprintf(line, size, "<%d>%s: ", levels[level].priority, name);
	struct timespec now;
	struct tm tm;
	char day[32], zone[8];
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &tm);
	strftime(zone, sizeof zone, "%z", &tm);
	return snprintf(line, size, "%s.%03ld%s %s %s: ", day, now.tv_nsec / 1000000, zone, levels[level].name, name);
}

static void __attribute__((format(printf, 2, 0))) log_write(enum log_level level, const char *format, va_list args)
{
	if (level < lowest_level)
		return;
	int number = errno;
	char line[2048];
	size_t head = (size_t)log_head(line, sizeof line, level);
	errno = number; /* for %m in the format */
	vsnprintf(line + head, sizeof line - head - 1, format, args);
	size_t length = strlen(line);
	for (size_t i = head; i < length; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 127)
			line[i] = ' ';
	line[length++] = '\n';
	if (write(STDERR_FILENO, line, length) < 0) {
		/* a failure of the log cannot be logged */
	}
	errno = number;
}

void log_debug(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	log_write(LOG_LEVEL_DEBUG, format, args);
	va_end(args);
}

void log_info(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	log_write(LOG_LEVEL_INFO, format, args);
	va_end(args);
}

void log_warning(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	log_write(LOG_LEVEL_WARNING, format, args);
	va_end(args);
}

void log_error(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	log_write(LOG_LEVEL_ERROR, format, args);
	va_end(args);
}
