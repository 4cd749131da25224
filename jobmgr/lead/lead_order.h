/* lead_order.h - turns starts into the arguments of api.schedule_commit: rows of starts, and signed launch requests. */
#ifndef ROTA_LEAD_ORDER_H
#define ROTA_LEAD_ORDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "jobmgr/lead/lead_load.h"
#include "jobmgr/schedule/schedule.h"
#include "lib/seal.h"

/* Keys and settings for making launch requests. */
struct lead_signer {
	const struct seal_mac_key *mac;
	const struct seal_sign_key *sign;
	int grace_s;	    /* seconds between SIGTERM and SIGKILL when a step is ended */
	int64_t expires_at; /* time at which the launch requests expire, in seconds since 1970 */
	int hold_s;	    /* seconds by which nodes may hold pre-dispatched elements longer, and by which these expire later */
	/* each array element has a launch request of its own, since each waits for its own controller prolog */
	bool separate;
};

/* Starts that one call of api.schedule_commit commits: all of them or none. */
struct lead_commit {
	json_t *starts, *orders;
};

struct lead_orders {
	struct lead_commit *commits;
	size_t commit_count;
	int64_t *refused_jobs; /* job ids of refused steps: their rows do not match their authenticators, so they were altered */
	int *refused_requests;
	size_t refused_count;
	bool postponed; /* some starts are left to the next scheduling cycle */
};

/* A commit that has this many starts gets no more, so that nodes begin with one commit while the next one is under way. */
enum { LEAD_COMMIT_MOST = 500 };

/* Make the launch requests of all starts; rows->launches must be loaded. A commit with LEAD_COMMIT_MOST starts gets no more
 * starts. The starts of a gang are in one commit. `one_by_one`: each gang has a commit of its own, so that a start that fails
 * does not stop others. */
struct lead_orders *lead_orders_make(const struct lead_rows *rows, const struct schedule_result *result,
				     const struct lead_signer *signer, bool one_by_one);
void lead_orders_free(struct lead_orders *orders);

#endif
