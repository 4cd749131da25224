/* lead_prefetch.h - what the signer will most likely need in the next pass: asked for before it is known which steps start, it costs no
 * round trip of its own.
 *
 * An array of which elements have started mostly starts more of them. */
#ifndef ROTA_LEAD_PREFETCH_H
#define ROTA_LEAD_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobmgr/lead/lead_load.h"
#include "lib/db.h"

enum { LEAD_PREFETCH_MOST = 16 };

struct lead_prefetch_key {
	int64_t job;
	int request;
};

struct lead_prefetch {
	struct lead_prefetch_key keys[LEAD_PREFETCH_MOST];
	size_t count;
};

/* The pass starts these: the arrays among them may start more, the first EXPECT_MOST of them. Those of job groups are left out: where
 * the group's prolog has been run is to be read when it is known that they start. */
void lead_prefetch_note(struct lead_prefetch *prefetch, const struct lead_rows *rows, const struct schedule_result *result);

/* Their jobs and requests, and how many they are. */
size_t lead_prefetch_list(const struct lead_prefetch *prefetch, struct db_array *jobs, struct db_array *requests);

/* Elements of an array stand together and have one request: is start `i` the first of its request? */
bool lead_prefetch_is_first(const struct lead_rows *rows, const struct schedule_result *result, size_t i);

/* Has what the signer needs of this request been read? */
bool lead_prefetch_has(const struct lead_rows *rows, int64_t job, int request);

/* Whether rows->launches has all that starts. */
bool lead_prefetch_is_complete(const struct lead_rows *rows, const struct schedule_result *result);

#endif
