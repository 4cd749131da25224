/* agent_credential.h - fetches the boxes with credentials of this node's attempts into the cache, and renews them there. */
#ifndef ROTA_PROCMGR_AGENT_CREDENTIAL_H
#define ROTA_PROCMGR_AGENT_CREDENTIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/fields.h"
#include "procmgr/agent/agent_context.h"
#include "procmgr/agent/agent_order_read.h"

struct agent_credentials;

/* Called when the database has answered a request for boxes. */
typedef void agent_credential_fetched(void *arg);

/* The working directory is the node's folder. */
struct agent_credentials *agent_credential_new(const struct agent_context *c, agent_credential_fetched *fetched, void *arg);
void agent_credential_free(struct agent_credentials *cs);

/* Put the boxes that came with a launch request into the cache. */
void agent_credential_take(struct agent_credentials *cs, struct agent_order *o);

/* Are the boxes of all attempts of a launch request in the cache? Missing ones are requested from the database. Also true if the
 * database has answered that it lacks them: the keeper then reports that a credential is missing. */
bool agent_credential_is_ready(struct agent_credentials *cs, struct agent_order *o);

/* After a notification: ask the database for newer boxes of the attempts that have boxes here. */
void agent_credential_ask(struct agent_credentials *cs);
/* Repeat database calls that failed, and the messages to keepers that are sent several times. */
void agent_credential_poll(struct agent_credentials *cs);
bool agent_credential_is_idle(const struct agent_credentials *cs);

/* Remove the boxes of an order that was dropped before it was sent. */
void agent_credential_drop(struct agent_credentials *cs, const struct agent_order *o);

/* Handle a record of the journal: the boxes of an attempt that has ended or was refused are removed. */
void agent_credential_record(struct agent_credentials *cs, const struct record_key *key, const struct fields *record);

#endif
