/* log_file.h - the output of one step (or element) as `rota log` reads it: the file of an attempt, then those of later attempts. */
#ifndef ROTA_BIN_LOG_FILE_H
#define ROTA_BIN_LOG_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bin/rota/output/lines.h"

/* What the command line asks for. */
struct log {
	json_t *operands; /* one label */
	const char *key;  /* "output" or "error" */
	bool follow, json;
	long lines, attempt; /* -1: all; 0: the latest */
};

/* All zero but for log and fd (-1) before log_file_update(). */
struct log_file {
	const struct log *log;
	struct lines *lines; /* NULL: the bytes are printed as they are */
	int watcher;	     /* an inotify descriptor; -1: none */
	json_t *job, *step;  /* as the gate told them last */
	char *path;	     /* NULL: private */
	int fd, watch;	     /* -1: not open */
	off_t at;	     /* where reading begins, unless the file is shorter; after log_file_end(), where it ended */
	json_int_t attempt;  /* which one writes the file; 0: none yet */
	json_int_t latest;   /* as far as is known */
	bool renewed;	     /* since that attempt began, the file was seen to be written anew */
	bool opened;	     /* once at least, or waited for */
	bool ended;	     /* the step, or the attempt that was asked for, can write no more */
};

/* The latest attempt of a step whose output can be there; 0: none. */
json_int_t log_attempt_latest(const json_t *step);

/* The file of an attempt (0: before any) of the step; where errors have no file of their own, that of the output. malloc'ed, NULL where
 * it is private. */
char *log_path(const struct log *log, const json_t *job, const json_t *step, json_int_t attempt);

/* Take over what is known of the step by now; the first time, also where its output is. */
void log_file_update(struct log_file *f, json_t *job, json_t *step);

/* Whether the attempt that was asked for has run, and no later one wrote the same file anew; false when that was printed. */
bool log_attempt_check(const struct log *log, const json_t *job, const json_t *step, const char *path);

/* Print what is new in the file, and in those of later attempts. False (errno) where it cannot be read, or not printed. A file that is not
 * there yet is no failure. */
bool log_file_read(struct log_file *f);

/* Print that the file could not be read. */
void log_file_complain(const struct log_file *f, int error);

/* Close the file and free what it has; a line without an end is ended. */
void log_file_end(struct log_file *f);

/* Rest until one of the files that `watcher` has was written to, for LOG_ASK_EVERY milliseconds at the most. */
enum { LOG_ASK_EVERY = 500 };
void log_rest(int watcher);

#endif
