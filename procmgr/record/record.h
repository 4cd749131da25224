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
	int node; /* number of a virtual node of the launcher, from 1; 0: the real node */
};

enum { RECORD_KEY_SIZE = 48, RECORD_TAG_SIZE = RECORD_KEY_SIZE + 9 };

/* "812.0.1": job, step, attempt. It names the spool folder and the cgroup. */
void record_key_text(const struct record_key *key, char text[RECORD_KEY_SIZE]);
bool record_key_parse(const char *text, struct record_key *key);

/* "1f0c9a2e.812.0.1": the environment tag of the attempt, unique among all nodes and instances of this machine. `dir` is the
 * node's folder. */
void record_tag(const char *dir, const struct record_key *key, char tag[RECORD_TAG_SIZE]);

/* Read or add the fields job, step, attempt and, for a virtual node, node. */
bool record_key_read(const struct fields *f, struct record_key *key, struct err *e);
void record_key_add(struct fields *f, const struct record_key *key);
bool record_key_equal(const struct record_key *a, const struct record_key *b);

/* Make a record of this kind about the attempt, with the time clock_boot_us(). */
struct fields *record_new(const char *kind, const struct record_key *key);

/* Append the record and free it; false, and logged, where that fails. */
bool record_write(struct journal *j, struct fields *record);

/* The same for several records that must not be lost: wait until they can be written. */
void record_must(struct journal *j, struct fields **records, int count);

/* Write the records since journal_gather; wait until they can be written. */
void record_flush(struct journal *j);

/* "rota/<instance>-<hash of the state folder>/<node>": the node's cgroup below each mount. Those of attempts are in it, named
 * as record_key_text does. malloc'ed. */
char *record_group(const char *instance, const char *state, const char *node);

#endif
