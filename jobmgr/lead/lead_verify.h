/* lead_verify.h - verifies that launch rows are as their owners submitted them. Only verified rows may be signed. */
#ifndef ROTA_LEAD_VERIFY_H
#define ROTA_LEAD_VERIFY_H

#include "jobmgr/lead/lead_order.h"

struct lead_verified;

/* Verify the authenticator of each launch row once, however many elements of its array start. Steps whose rows fail are added
 * to the refused ones of `orders`. The result is in the arena of the rows. */
struct lead_verified *lead_verify(const struct lead_rows *rows, const struct seal_mac_key *mac, struct lead_orders *orders);

/* Returns the launch row of a step or array, or NULL if the row is gone or failed verification. */
const struct lead_launch *lead_verified_launch(const struct lead_verified *v, int64_t job_id, int request_id);

#endif
