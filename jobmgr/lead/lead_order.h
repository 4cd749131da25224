/* lead_order.h - turns starts into what api.schedule_commit takes: rows of starts, and signed orders. */
#ifndef ROTA_LEAD_ORDER_H
#define ROTA_LEAD_ORDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/schedule/schedule.h"
#include "lib/seal.h"

/* What orders are made with. */
struct lead_signer {
	const struct seal_mac_key *mac;
	const struct seal_sign_key *sign;
	int grace_s;	    /* between SIGTERM and SIGKILL */
	int64_t expires_at; /* Unix time */
	bool separate;	    /* each array element has its own order, since each waits for its own controller prolog */
};

/* Starts that are committed together or not at all, in one call of api.schedule_commit. */
struct lead_commit {
	json_t *starts, *orders;
};

struct lead_orders {
	struct lead_commit *commits;
	size_t commit_count;
	int64_t *refused_jobs; /* steps whose authenticator does not fit their row */
	int *refused_requests;
	size_t refused_count;
	bool postponed; /* some starts are left to the next cycle */
};

/* Nodes begin with the first commit while the next one is under way. */
enum { LEAD_COMMIT_MOST = 500 };

/* Make the orders of all starts; rows->launches must be loaded. A commit that has LEAD_COMMIT_MOST starts gets no more; a gang
 * is in one
 * commit. `one_by_one`: one commit for each gang, so that a start that fails does not stop others. */
struct lead_orders *lead_orders_make(const struct lead_rows *rows, const struct schedule_result *result,
				     const struct lead_signer *signer, bool one_by_one);
void lead_orders_free(struct lead_orders *orders);

#endif
