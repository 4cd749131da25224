/* lead_expect.c - the requests of arrays that the last pass started something of.
 *
 * lead_pass.c calls it: ask with the snapshot, met when the scheduler has decided, note before the commit. What always holds: what is
 * expected and does not come is of no consequence, and what comes and was not expected is asked for then. */
#include "jobmgr/lead/lead_expect.h"

static int request_of(const struct lead_rows *rows, const struct schedule_start *start)
{
	return rows->keys[start->pending].request_id;
}

bool lead_expect_has(const struct lead_rows *rows, int64_t job, int request)
{
	for (size_t i = 0; i < rows->launch_count; i++) {
		if (rows->launches[i].job_id == job && rows->launches[i].request_id == request)
			return true;
	}
	return false;
}

bool lead_expect_first(const struct lead_rows *rows, const struct schedule_result *result, size_t i)
{
	const struct schedule_start *start = &result->starts[i];

	return i == 0 || start[-1].job != start->job || request_of(rows, &start[-1]) != request_of(rows, start);
}

bool lead_expect_met(const struct lead_rows *rows, const struct schedule_result *result)
{
	for (size_t i = 0; i < result->start_count; i++) {
		const struct schedule_start *start = &result->starts[i];

		if (lead_expect_first(rows, result, i) && !lead_expect_has(rows, start->job, request_of(rows, start)))
			return false;
	}
	return true;
}

static bool is_started(const struct lead_rows *rows, const struct schedule_result *result, const struct lead_launch *launch)
{
	for (size_t i = 0; i < result->start_count; i++) {
		if (result->starts[i].job == launch->job_id && request_of(rows, &result->starts[i]) == launch->request_id)
			return true;
	}
	return false;
}

void lead_expect_note(struct lead_expect *x, const struct lead_rows *rows, const struct schedule_result *result)
{
	x->count = 0;
	for (size_t i = 0; i < rows->launch_count && x->count < EXPECT_MOST; i++) {
		const struct lead_launch *launch = &rows->launches[i];

		if (launch->array_size > 0 && !launch->group_name && is_started(rows, result, launch))
			x->launches[x->count++] = (struct lead_expected){launch->job_id, launch->request_id};
	}
}

size_t lead_expect_ask(const struct lead_expect *x, struct db_array *jobs, struct db_array *requests)
{
	for (size_t i = 0; i < x->count; i++) {
		db_array_int(jobs, x->launches[i].job);
		db_array_int(requests, x->launches[i].request);
	}
	return x->count;
}
