/* agent_buffer.h - records that have been read from the journal and are in no report yet. */
#ifndef ROTA_PROCMGR_AGENT_BUFFER_H
#define ROTA_PROCMGR_AGENT_BUFFER_H

#include "procmgr/record/record.h"

struct agent_buffer;

struct agent_buffer *agent_buffer_new(void);
void agent_buffer_free(struct agent_buffer *b);
void agent_buffer_clear(struct agent_buffer *b);

/* Add a record of an attempt. It begins at `position` of the journal and is to be reported by `due`. */
void agent_buffer_add(struct agent_buffer *b, const struct record_key *key, const struct fields *record, int64_t position,
		      int64_t due);
int agent_buffer_count(const struct agent_buffer *b);

/* When the first record is due; INT64_MAX: the buffer is empty. */
int64_t agent_buffer_due(const struct agent_buffer *b);

/* The position of the journal before which every record has been taken out; `read_to` where the buffer is empty. */
int64_t agent_buffer_first_position(const struct agent_buffer *b, int64_t read_to);

/* Gets all buffered records of one attempt, in their order. Returns how many of them count towards `most`. */
typedef int agent_buffer_each(const struct record_key *key, struct fields *const *records, int count, void *arg);

/* Take out all records of the attempts of which one is due by `now`. Stop at the first attempt after `most` records. */
void agent_buffer_take(struct agent_buffer *b, int64_t now, int most, agent_buffer_each *each, void *arg);

#endif
