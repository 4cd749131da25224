/* agent_sample.h - samples the resource usage of running steps and reports it to the database. */
#ifndef ROTA_PROCMGR_AGENT_SAMPLE_H
#define ROTA_PROCMGR_AGENT_SAMPLE_H

#include "lib/fields.h"
#include "procmgr/agent/agent_context.h"
#include "procmgr/agent/agent_order_read.h"

struct agent_samples;

struct agent_samples *agent_sample_new(const struct agent_context *c);
void agent_sample_free(struct agent_samples *s);

/* The launcher accepted the launch request of this attempt: sample the attempt once it runs. */
void agent_sample_expect(struct agent_samples *s, const struct agent_order *o, const struct record_key *key);
/* starts sampling at a `run` record, ends it at `done` or `end` */
void agent_sample_record(struct agent_samples *s, const struct fields *record);
void agent_sample_registered(struct agent_samples *s); /* call when the node is registered */
/* A user watches the node with `rota top`: sample more often for ten seconds. */
void agent_sample_watch(struct agent_samples *s);

#endif
