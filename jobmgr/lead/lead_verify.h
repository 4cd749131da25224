/* lead_verify.h - which launch rows may be signed: those whose authenticator fits what they say. */
#ifndef ROTA_LEAD_VERIFY_H
#define ROTA_LEAD_VERIFY_H

#include "jobmgr/lead/lead_order.h"

struct lead_verified;

/* Judge each launch row once, however many elements of its array start; those that are refused go into `orders`. What it answers
 * belongs to the rows' arena. */
struct lead_verified *lead_verify(const struct lead_rows *rows, const struct seal_mac_key *mac, struct lead_orders *orders);

/* The launch row of a request; NULL where it is gone or may not be signed. */
const struct lead_launch *lead_verified_launch(const struct lead_verified *v, int64_t job_id, int request_id);

#endif
