/* log_file.h - reads the output of one step or element: the file of an attempt, then the files of later attempts. */
#ifndef ROTA_BIN_LOG_FILE_H
#define ROTA_BIN_LOG_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bin/rota/output/lines.h"

/* The request on the command line of `rota log`. */
struct log {
	json_t *operands; /* label of a job, step or element */
	const char *key;  /* "output" or "error": the stream to print */
	bool follow, json;
	long lines, attempt; /* last lines to print (-1 = all); number of the attempt (0 = the latest) */
};

/* The output file of a step. Before the first log_file_update(), all members are zero, except `log`, and `fd`, which is -1. */
struct log_file {
	const struct log *log;
	struct lines *lines; /* how to print lines; NULL: print the bytes unchanged */
	int watcher;	     /* an inotify descriptor; -1: none */
	json_t *job, *step;  /* job and step of the last answer of jobmgrd */
	char *path;	     /* path of the output file; NULL if the output is private */
	int fd, watch;	     /* descriptors of the file and of its inotify watch; -1: not open */
	/* offset where reading starts, if the file is that long; after log_file_end(), the offset where reading ended */
	off_t at;
	json_int_t attempt; /* the attempt that writes the file; 0: none yet */
	json_int_t latest;  /* number of the latest attempt in the last answer of jobmgrd */
	bool renewed;	    /* the file was truncated since `attempt` began */
	bool opened;	    /* opening of the file was tried at least once */
	bool plain;	    /* the last try found a plain file or none */
	bool ended;	    /* the step, or the requested attempt, has ended */
};

/* Returns true if the step has ended without a start since its submission or its last requeue. It then has no output of its
 * own. */
bool log_is_unstarted(const json_t *step);

/* Returns the number of the latest attempt of a step that has started, 0 if none has. Without a requested attempt, also 0 if
 * log_is_unstarted(). */
json_int_t log_attempt_latest(const struct log *log, const json_t *step);

/* Returns the path of the output or error file of an attempt (0: before the first attempt), malloc'ed. Errors without a file
 * of their own go to the output file. Returns NULL if the output is private. */
char *log_path(const struct log *log, const json_t *job, const json_t *step, json_int_t attempt);

/* Update the state of the step from an answer of jobmgrd. The first call also sets the path of the output file. */
void log_file_update(struct log_file *f, json_t *job, json_t *step);

/* Returns true if the output of the requested attempt exists. Returns false, after printing an error, if there is no such attempt
 * or a later attempt overwrote the file. */
bool log_attempt_check(const struct log *log, const json_t *job, const json_t *step, const char *path);

/* Seconds since 1970 at which the step, or the requested attempt, ended (0: it has not), and at which it truncated its output file (0: it
 * has not started, or appends to the file). */
double log_ended(const struct log *log, const json_t *step);
double log_truncated(const struct log *log, const json_t *step);

/* Returns true if `other`, another step of the job, overwrote the file `path` after `step` had ended. */
bool log_is_overwritten(const struct log *log, const json_t *job, const json_t *step, const json_t *other, const char *path);

/* Print new output of the file, then of the files of later attempts. Returns false with errno set if reading or printing
 * failed. A missing file is no failure. */
bool log_file_read(struct log_file *f);

/* Print that a step has not started, or ended without a start, and why. */
void log_print_unstarted(const struct log *log, const json_t *step);

/* Print why a step that has ended has an empty output file, if its message says why it did not complete. */
void log_file_explain(const struct log_file *f);

/* Print the error that the output file could not be read, or that the step that was to write it has not started. */
void log_file_print_error(const struct log_file *f, int error);

/* Close the file, end an unfinished line, and free the members. */
void log_file_end(struct log_file *f);

/* Wait until one of the files of `watcher` is written to, at most LOG_ASK_EVERY milliseconds. */
enum { LOG_ASK_EVERY = 500 };
void log_rest(int watcher);

#endif
