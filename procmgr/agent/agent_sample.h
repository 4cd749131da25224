/* agent_sample.h - samples what running steps use, and reports it to the database. */
#ifndef ROTA_PROCMGR_AGENT_SAMPLE_H
#define ROTA_PROCMGR_AGENT_SAMPLE_H

#include "lib/fields.h"
#include "procmgr/agent/agent_context.h"
#include "procmgr/agent/agent_order_read.h"

struct agent_samples;

struct agent_samples *agent_sample_new(const struct agent_context *c);
void agent_sample_free(struct agent_samples *s);

/* The launch of this attempt was accepted: sample it when it runs. */
void agent_sample_expect(struct agent_samples *s, const struct agent_order *o, const struct record_key *key);
void agent_sample_record(struct agent_samples *s, const struct fields *record); /* the attempt runs, or has ended */
void agent_sample_registered(struct agent_samples *s);				/* the node is registered */
void agent_sample_watch(struct agent_samples *s); /* somebody watches the node (rota top): sample more often for a while */

#endif
