/* lead_verify.c - verifies the authenticators of launch rows.
 *
 * Called by: lead_order.c, once for each cycle with starts. */
#include "jobmgr/lead/lead_verify.h"

#include <stdlib.h>

#include "jobmgr/sign/sign.h"
#include "jobmgr/schedule/schedule_arena.h"
#include "lib/err.h"

struct row {
	const struct lead_launch *launch;
	bool authentic;
};

struct lead_verified {
	size_t count;
	struct row rows[]; /* steps to launch, each with the verdict on its authenticator, sorted by job and step */
};

static int compare_rows(const void *a, const void *b)
{
	const struct lead_launch *x = ((const struct row *)a)->launch, *y = ((const struct row *)b)->launch;

	if (x->job_id != y->job_id)
		return x->job_id < y->job_id ? -1 : 1;
	return (x->request_id > y->request_id) - (x->request_id < y->request_id);
}

static bool launch_is_authentic(const struct lead_launch *launch, const struct seal_mac_key *mac)
{
	struct sign_subject subject = {
		.uid = (uid_t)launch->uid,
		.gid = (gid_t)launch->gid,
		.user = launch->user_name,
		.script_hash = launch->script_hash,
		.environment_hash = launch->environment_hash,
		.spec = launch->spec,
		.number = launch->auth_number,
	};

	return launch->auth && launch->user_name && launch->script_hash && launch->environment_hash && launch->spec &&
	       sign_authenticator_check(mac, &subject, launch->auth);
}

struct lead_verified *lead_verify(const struct lead_rows *rows, const struct seal_mac_key *mac, struct lead_orders *orders)
{
	struct lead_verified *v = schedule_arena_take(rows->arena, 1, sizeof *v + rows->launch_count * sizeof v->rows[0]);

	v->count = rows->launch_count;
	orders->refused_jobs = xcalloc(rows->launch_count, sizeof *orders->refused_jobs);
	orders->refused_requests = xcalloc(rows->launch_count, sizeof *orders->refused_requests);
	for (size_t i = 0; i < rows->launch_count; i++) {
		const struct lead_launch *launch = &rows->launches[i];

		v->rows[i] = (struct row){launch, launch_is_authentic(launch, mac)};
		if (v->rows[i].authentic)
			continue;
		orders->refused_jobs[orders->refused_count] = launch->job_id;
		orders->refused_requests[orders->refused_count++] = launch->request_id;
	}
	qsort(v->rows, v->count, sizeof v->rows[0], compare_rows);
	return v;
}

const struct lead_launch *lead_verified_launch(const struct lead_verified *v, int64_t job_id, int request_id)
{
	const struct lead_launch wanted = {.job_id = job_id, .request_id = request_id};
	const struct row key = {.launch = &wanted}, *found = NULL;

	if (v->count > 0)
		found = bsearch(&key, v->rows, v->count, sizeof v->rows[0], compare_rows);
	return found && found->authentic ? found->launch : NULL;
}
