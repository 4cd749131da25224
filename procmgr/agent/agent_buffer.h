/* agent_buffer.h - records that have been read from the journal and are in no report yet. */
#ifndef ROTA_PROCMGR_AGENT_BUFFER_H
#define ROTA_PROCMGR_AGENT_BUFFER_H

#include "procmgr/record/record.h"

struct agent_buffer;

struct agent_buffer *agent_buffer_new(void);
void agent_buffer_free(struct agent_buffer *b);
void agent_buffer_clear(struct agent_buffer *b);

/* Add a record of an attempt. The record begins at `position` of the journal and is to be reported by `due`. */
void agent_buffer_add(struct agent_buffer *b, const struct record_key *key, const struct fields *record, int64_t position,
		      int64_t due);
int agent_buffer_count(const struct agent_buffer *b);

/* Returns the time when the first buffered record is due, or INT64_MAX if the buffer is empty. */
int64_t agent_buffer_due(const struct agent_buffer *b);

/* Returns the journal position before which every record has left the buffer. Returns `read_to` if the buffer is empty. */
int64_t agent_buffer_first_position(const struct agent_buffer *b, int64_t read_to);

/* A callback that gets all buffered records of one attempt, in the journal's order. Returns the number of records that count
 * towards `most`. */
typedef int agent_buffer_each(const struct record_key *key, struct fields *const *records, int count, void *arg);

/* Remove all records of each attempt that has a record due by `now`, and pass them to `each`. Stop after the attempt with which
 * `most` records are reached. */
void agent_buffer_take(struct agent_buffer *b, int64_t now, int most, agent_buffer_each *each, void *arg);

#endif
