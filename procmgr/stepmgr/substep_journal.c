/* substep_journal.c - appends to and reads the step manager's journal.
 *
 * Called by: substep_engine.c. Invariants: a record is one write, and is in the file before anything is done that follows from
 * the recorded event. The journal survives the death of any process, but not of the machine, with which the allocation ends
 * too. */
#include "procmgr/stepmgr/substep_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/err.h"
#include "lib/journal_reservation.h"

enum { RESERVE_EXTRA = 64 * 1024 }; /* journal space reserved in addition, so that few sub-steps have to reserve any */
enum { TEXT_MOST = 1024 };	    /* most bytes of a journal record that is written as text */

/* The lock belongs to a second open file description of the journal, which is closed when this process or a child executes a
 * program. */
void substep_journal_lock(int fd)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int own = open(path, O_RDONLY | O_CLOEXEC);
	if (own < 0 || flock(own, LOCK_EX) < 0)
		die("could not lock the journal: %m");
}

void substep_journal_append(int fd, const char *kind, json_t *record)
{
	json_object_set_new(record, "kind", json_string(kind));
	json_object_set_new(record, "at", json_integer(clock_boot_us()));
	char *text = json_dumps(record, JSON_COMPACT);
	size_t size = text ? strlen(text) : 0;
	if (size == 0)
		die("could not write a record of kind %s", kind);
	text[size] = '\n'; /* the newline replaces the NUL */
	if (write(fd, text, size + 1) != (ssize_t)(size + 1))
		die("could not write the journal: %m");
	free(text);
	json_decref(record);
}

/* Append a record whose further members `format` prints. Returns false with errno set. */
static bool write_text(int fd, const char *kind, const char *format, va_list values)
{
	char text[TEXT_MOST];
	int size = snprintf(text, sizeof text, "{\"kind\":\"%s\",\"at\":%lld,", kind, (long long)clock_boot_us());
	size += vsnprintf(text + size, sizeof text - (size_t)size, format, values);
	if (size > TEXT_MOST - 2) {
		errno = EOVERFLOW;
		return false;
	}
	text[size++] = '}';
	text[size++] = '\n';
	return write(fd, text, (size_t)size) == size;
}

void substep_journal_append_text(int fd, const char *kind, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	if (!write_text(fd, kind, format, values))
		die("could not write the journal: %m");
	va_end(values);
}

bool substep_journal_try_text(int fd, const char *kind, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	bool good = write_text(fd, kind, format, values);
	va_end(values);
	return good;
}

bool substep_journal_reserve(int fd, int64_t bytes, struct err *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		die("could not stat the journal: %m");
	if (journal_reservation_behind(&st, st.st_size) >= bytes ||
	    journal_reservation_take(fd, st.st_size, bytes + RESERVE_EXTRA, e) ||
	    journal_reservation_take(fd, st.st_size, bytes, e))
		return true;
	snprintf(e->code, sizeof e->code, "%s", SUBSTEP_JOURNAL_FULL);
	return false;
}

int64_t substep_journal_number(const json_t *record, const char *name)
{
	return json_integer_value(json_object_get(record, name));
}

void substep_journal_read(int fd, void (*each)(json_t *record, const char *kind, void *arg), void *arg)
{
	FILE *file = fdopen(dup(fd), "r");
	char *line = NULL;
	size_t capacity = 0;
	ssize_t size;
	off_t whole = 0;
	if (!file || fseek(file, 0, SEEK_SET) < 0)
		die("could not read the journal: %m");
	while ((size = getline(&line, &capacity, file)) > 0 && line[size - 1] == '\n') {
		json_t *record = json_loadb(line, (size_t)size, 0, NULL);
		const char *kind = json_string_value(json_object_get(record, "kind"));
		if (kind)
			each(record, kind, arg);
		json_decref(record);
		whole += size;
	}
	free(line);
	fclose(file);
	if (ftruncate(fd, whole) < 0)
		die("could not cut the journal: %m");
}
