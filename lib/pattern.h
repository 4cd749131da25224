/* pattern.h - expands patterns of output files: a pattern with %-letters becomes a path. jobmgrd shows the path, the keeper opens
 * it. */
#ifndef ROTA_PATTERN_H
#define ROTA_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

/* Name of the only step of a plain script, which is a script that defines no steps. */
#define PATTERN_PLAIN "script"

/* Values of the %-letters of a pattern. A letter whose value is not known stays in the path as it is in the pattern. */
struct pattern_facts {
	int64_t job_id;
	int step_id;
	const char *step_name, *job_name, *user;
	bool array;	  /* the step is an array (or an element of one) */
	int array_index;  /* -1 = not known */
	int attempt;	  /* number of the attempt, from 1; 0 = not known */
	bool append;	  /* the file is opened for appending, so all attempts write the same file */
	const char *node; /* NULL = not known */
	int node_index;	  /* -1 = not known */
	int task;	  /* -1 = not known */
};

/* Expand the %-letters of a pattern: %A %j job, %a array index, %b array index modulo 10, %J job.step, %N node, %n position of
 * the node, %r number of earlier attempts, %R ".attempt2" for the second attempt and so on (empty for the first, and if files are
 * appended to), %s number of the step, %S name of the step, %t task, %u user, %x name of the job, %% a per cent sign. A number up
 * to 10 between % and a letter is the width to which numbers are filled with zeros. Returns malloc'ed text. */
char *pattern_expand(const char *pattern, const struct pattern_facts *facts);

/* Returns the default pattern of an output file, without its ending: for an array, a plain script, or else a step of a script. */
const char *pattern_name(bool plain, bool array);

/* Returns the malloc'ed absolute path of the file for standard output. A relative path is below `workdir`. An empty pattern
 * stands for rota-%j%R.out for a plain script, rota-%j.%S.%a%R.out for array elements, and rota-%j.%S%R.out for other steps. */
char *pattern_output(const char *pattern, const struct pattern_facts *facts, const char *workdir);

/* Returns the malloc'ed absolute path that a pattern expands to. A relative path is below `workdir`. The pattern is not empty:
 * unlike pattern_output(), this function has no default pattern. */
char *pattern_path(const char *pattern, const struct pattern_facts *facts, const char *workdir);

#endif
