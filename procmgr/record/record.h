/* record.h - names of step attempts, and records of the journal about them. */
#ifndef ROTA_PROCMGR_RECORD_H
#define ROTA_PROCMGR_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/fields.h"
#include "lib/journal.h"

struct record_key {
	int64_t job_id;
	int step_id;
	int attempt;
	int node; /* number of the launcher's virtual node, from 1; 0 for the real node */
};

enum { RECORD_KEY_SIZE = 48, RECORD_TAG_SIZE = RECORD_KEY_SIZE + 9 };

/* Format an attempt as job, step and attempt number, such as "812.0.1". This text names the spool folder and the cgroup. */
void record_key_text(const struct record_key *key, char text[RECORD_KEY_SIZE]);
bool record_key_parse(const char *text, struct record_key *key);

/* Write the environment tag of the attempt, such as "1f0c9a2e.812.0.1". The tag is unique among all nodes and instances of this
 * machine. `dir` is the node's folder. */
void record_tag(const char *dir, const struct record_key *key, char tag[RECORD_TAG_SIZE]);

/* Read or add the fields `job`, `step` and `attempt` and, for a virtual node, `node`. */
bool record_key_read(const struct fields *f, struct record_key *key, struct err *e);
void record_key_add(struct fields *f, const struct record_key *key);
bool record_key_equal(const struct record_key *a, const struct record_key *b);

/* Make a record of kind `kind` about the attempt, with the current time of clock_boot_us(). */
struct fields *record_new(const char *kind, const struct record_key *key);
/* Make a record of kind `kind` about the attempt, with the time `at` of clock_boot_us(). */
struct fields *record_new_at(const char *kind, const struct record_key *key, int64_t at);

/* Append the record to the journal and free it. Logs an error and returns false if appending fails. */
bool record_write(struct journal *j, struct fields *record);

/* Append several records to the journal and free them. If the journal cannot be written, wait and try again. */
void record_must(struct journal *j, struct fields **records, int count);

/* Write the records gathered since journal_gather. If the journal cannot be written, wait and try again. */
void record_flush(struct journal *j);

/* Returns the path of the node's cgroup below each cgroup mount, "rota/<instance>-<hash of the state folder>/<node>", malloc'ed.
 * It contains the cgroups of attempts, named by record_key_text. */
char *record_group(const char *instance, const char *state, const char *node);

#endif
