/* log_file.h - reads the output of one step or element: the file of an attempt, then the files of later attempts. */
#ifndef ROTA_BIN_LOG_FILE_H
#define ROTA_BIN_LOG_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bin/rota/output/lines.h"

/* The request of the command line. */
struct log {
	json_t *operands; /* one label */
	const char *key;  /* "output" or "error" */
	bool follow, json;
	long lines, attempt; /* -1: all; 0: the latest */
};

/* Before log_file_update(), all members are zero but `log`, and `fd`, which is -1. */
struct log_file {
	const struct log *log;
	struct lines *lines; /* NULL: print the bytes unchanged */
	int watcher;	     /* an inotify descriptor; -1: none */
	json_t *job, *step;  /* of the last answer */
	char *path;	     /* NULL: private */
	int fd, watch;	     /* -1: not open */
	off_t at;	     /* start of reading, unless the file is shorter; after log_file_end(), the end of reading */
	json_int_t attempt;  /* the attempt that writes the file; 0: none yet */
	json_int_t latest;   /* of the last answer */
	bool renewed;	     /* the file was truncated since that attempt began */
	bool opened;	     /* opened, or tried to, at least once */
	bool ended;	     /* the step, or the requested attempt, has ended */
};

/* The latest attempt of a step that has started; 0: none. */
json_int_t log_attempt_latest(const json_t *step);

/* The path of the file of an attempt (0: before the first); for errors without a file of their own, the output file. malloc'ed; NULL: private. */
char *log_path(const struct log *log, const json_t *job, const json_t *step, json_int_t attempt);

/* Update the state of the step from an answer; the first time, also set the path of its output. */
void log_file_update(struct log_file *f, json_t *job, json_t *step);

/* Does the output of the requested attempt exist? False: there is no such attempt, or a later one overwrote the file; prints an error. */
bool log_attempt_check(const struct log *log, const json_t *job, const json_t *step, const char *path);

/* Print new output of the file, then of the files of later attempts. False (errno): could not read or print. A missing file is no failure. */
bool log_file_read(struct log_file *f);

/* Print an error: the file could not be read. */
void log_file_print_error(const struct log_file *f, int error);

/* Close the file, end an unfinished line, and free the members. */
void log_file_end(struct log_file *f);

/* Wait until one of the files of `watcher` is written to, at most LOG_ASK_EVERY milliseconds. */
enum { LOG_ASK_EVERY = 500 };
void log_rest(int watcher);

#endif
