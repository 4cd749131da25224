/* record.h - the names of step attempts and the records about them, as launcher and keepers write them into the journal. */
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
	int node; /* which of the virtual nodes of one launcher, from 1; 0: the node itself */
};

enum { RECORD_KEY_SIZE = 48, RECORD_MARK_SIZE = RECORD_KEY_SIZE + 9 };

/* "812.0.1": job, step, attempt; the name of the spool folder and of the cgroup. */
void record_key_text(const struct record_key *key, char text[RECORD_KEY_SIZE]);
bool record_key_parse(const char *text, struct record_key *key);

/* "1f0c9a2e.812.0.1": the attempt among those of all nodes and instances of this machine; `dir` is the node's folder. */
void record_mark(const char *dir, const struct record_key *key, char mark[RECORD_MARK_SIZE]);

/* The fields job, step, attempt and, of a virtual node, node of a message or record. */
bool record_key_read(const struct fields *f, struct record_key *key, struct err *e);
void record_key_add(struct fields *f, const struct record_key *key);
bool record_key_equal(const struct record_key *a, const struct record_key *b);

/* A record of this kind about the attempt, stamped with clock_boot_us(). */
struct fields *record_new(const char *kind, const struct record_key *key);

/* Append the record and free it; false, and logged, where that fails. */
bool record_write(struct journal *j, struct fields *record);

/* The same for several that must not be lost: waits until they can be written. */
void record_must(struct journal *j, struct fields **records, int count);

/* What was gathered since journal_gather: waits until it can be written. */
void record_flush(struct journal *j);

/* "rota/<instance>-<hash of the state folder>/<node>": the node's control group below each mount; an attempt's is in it, called as
 * record_key_text says. malloc'ed. */
char *record_group(const char *instance, const char *state, const char *node);

#endif
