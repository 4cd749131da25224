/* pattern.h - names of output files: a pattern with %-letters becomes a path. The gate shows it, the keeper opens it. */
#ifndef ROTA_PATTERN_H
#define ROTA_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

/* What the one step of a script without steps is called. */
#define PATTERN_PLAIN "script"

/* What the letters stand for. What is not known yet stays as it is written in the pattern. */
struct pattern_facts {
	int64_t job_id;
	int step_id;
	const char *step_name, *job_name, *user;
	bool array;	  /* the step is an array (or an element of one) */
	int array_index;  /* -1 = not known */
	int attempt;	  /* 0 = not known; else 1 for the first run */
	bool append;	  /* the file is opened for appending: all attempts write the same one */
	const char *node; /* NULL = not known */
	int node_index;	  /* -1 = not known */
	int task;	  /* -1 = not known */
};

/* Expand the letters: %A %j job, %a element, %b element modulo 10, %J job.step, %N node, %n node's position, %r times it was run
 * before, %R ".attempt2" in the second run and so on (nothing in the first, nor where files are appended to), %s step's number, %S step's
 * name, %t task, %u user, %x job's name, %% a per cent sign; a number of up to 10 between % and a letter fills numbers with zeros.
 * malloc'ed. */
char *pattern_expand(const char *pattern, const struct pattern_facts *facts);

/* What a file is called where nothing names it, but for its ending: for a step of a script, the plain script itself, or an array. */
const char *pattern_name(bool plain, bool array);

/* The file that standard output goes to, absolute: the pattern ("" = rota-%j%R.out for a plain script, else rota-%j.%S%R.out, for
 * array elements rota-%j.%S.%a%R.out), expanded, below `workdir` where it is relative. malloc'ed. */
char *pattern_output(const char *pattern, const struct pattern_facts *facts, const char *workdir);

/* The same for a pattern that has no default. */
char *pattern_path(const char *pattern, const struct pattern_facts *facts, const char *workdir);

#endif
