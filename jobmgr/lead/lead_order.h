/* lead_order.h - decisions become what api.schedule_commit takes: starts, and signed launch orders. */
#ifndef ROTA_LEAD_ORDER_H
#define ROTA_LEAD_ORDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/schedule/schedule.h"
#include "lib/seal.h"

/* By what orders are made. */
struct lead_signer {
	const struct seal_mac_key *mac;
	const struct seal_sign_key *sign;
	int grace_s;	    /* between SIGTERM and SIGKILL */
	int64_t expires_at; /* Unix time */
	bool separate;	    /* no order is for several elements: each leaves when the prolog of its own has ended */
};

/* Starts that stand or fall together in one call of api.schedule_commit. */
struct lead_commit {
	json_t *starts, *orders;
};

struct lead_orders {
	struct lead_commit *commits;
	size_t commit_count;
	int64_t *refused_jobs; /* steps whose authenticator does not fit */
	int *refused_requests;
	size_t refused_count;
	bool postponed; /* some starts were left for the next pass */
};

/* Nodes begin with what the first commit has while the next one is under way. */
enum { LEAD_COMMIT_MOST = 500 };

/* Make the orders of all starts; rows->launches must be loaded. Steps that start together are in one commit, and no more are added to
 * one that has LEAD_COMMIT_MOST. `apart`: one commit for each set of these, so that one impossible start does not keep the others back. */
struct lead_orders *lead_orders_make(const struct lead_rows *rows, const struct schedule_result *result,
				     const struct lead_signer *signer, bool one_by_one);
void lead_orders_free(struct lead_orders *orders);

#endif
