/* lead_prefetch.c - lists the launch rows of arrays that started elements in the last cycle.
 *
 * Called by: lead_cycle_read.c: ..._list with the snapshot, ..._is_complete after the decision; lead_cycle_write.c: ..._note
 * before the commit; lead_rate.c.
 * Invariants:
 *  - A prefetched launch row that is not needed is ignored. A launch row that is missing is read after the decision. */
#include "jobmgr/lead/lead_prefetch.h"

static int start_request(const struct lead_rows *rows, const struct schedule_start *start)
{
	return rows->keys[start->pending].request_id;
}

bool lead_prefetch_has(const struct lead_rows *rows, int64_t job, int request)
{
	for (size_t i = 0; i < rows->launch_count; i++) {
		if (rows->launches[i].job_id == job && rows->launches[i].request_id == request)
			return true;
	}
	return false;
}

bool lead_prefetch_is_first(const struct lead_rows *rows, const struct schedule_result *result, size_t i)
{
	const struct schedule_start *start = &result->starts[i];

	return i == 0 || start[-1].job != start->job || start_request(rows, &start[-1]) != start_request(rows, start);
}

bool lead_prefetch_is_complete(const struct lead_rows *rows, const struct schedule_result *result)
{
	for (size_t i = 0; i < result->start_count; i++) {
		const struct schedule_start *start = &result->starts[i];

		if (lead_prefetch_is_first(rows, result, i) && !lead_prefetch_has(rows, start->job, start_request(rows, start)))
			return false;
	}
	return true;
}

static bool launch_is_started(const struct lead_rows *rows, const struct schedule_result *result,
			      const struct lead_launch *launch)
{
	for (size_t i = 0; i < result->start_count; i++) {
		if (result->starts[i].job == launch->job_id && start_request(rows, &result->starts[i]) == launch->request_id)
			return true;
	}
	return false;
}

static bool launch_is_pending(const struct lead_rows *rows, const struct lead_launch *launch)
{
	for (size_t i = 0; i < rows->snapshot.pending_count; i++) {
		if (rows->pending[i].job == launch->job_id && rows->pending[i].step == launch->request_id)
			return true;
	}
	return false;
}

void lead_prefetch_note(struct lead_prefetch *prefetch, const struct lead_rows *rows, const struct schedule_result *result,
			bool keeps)
{
	prefetch->count = 0;
	for (size_t i = 0; i < rows->launch_count && prefetch->count < LEAD_PREFETCH_MOST; i++) {
		const struct lead_launch *launch = &rows->launches[i];

		if (launch->array_size > 0 && !launch->group_name &&
		    (launch_is_started(rows, result, launch) || (keeps && launch_is_pending(rows, launch))))
			prefetch->keys[prefetch->count++] = (struct lead_prefetch_key){launch->job_id, launch->request_id};
	}
}

size_t lead_prefetch_list(const struct lead_prefetch *prefetch, struct db_array *jobs, struct db_array *requests)
{
	for (size_t i = 0; i < prefetch->count; i++) {
		db_array_int(jobs, prefetch->keys[i].job);
		db_array_int(requests, prefetch->keys[i].request);
	}
	return prefetch->count;
}
