/* gate_admission.c - caches for a second which users the database has admitted to HTTPS.
 *
 * Called by: gate_dispatch.c.
 * Invariants:
 * - Only admissions are cached, no refusals, so a user is served as soon as a step of this user runs.
 * - An admission is used for ADMISSION_AGE at most. A user whose last step on a node has ended may be served from there
 *   for so long. The function that a request calls checks what the user may do.
 * - An admission is used only for requests with the same facts (struct gate_admission). */
#include "jobmgr/gate/gate_admission.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_auth.h"
#include "jobmgr/gate/gate_quota.h"
#include "lib/clock.h"
#include "lib/err.h"

enum {
	ADMISSION_AGE = 1000, /* milliseconds */
	ADMISSIONS = 64	      /* number of entries; users whose uids are equal modulo this share one */
};

struct entry {
	uid_t uid;
	char user[GATE_USER_SIZE], address[GATE_QUOTA_NAME];
	bool submits;
	int64_t until; /* the admission is used until this time by clock_ms(); 0: the entry is empty */
};

struct gate_admissions {
	struct entry entries[ADMISSIONS];
};

struct gate_admissions *gate_admissions_new(void)
{
	return xcalloc(1, sizeof(struct gate_admissions));
}

void gate_admissions_free(struct gate_admissions *all)
{
	free(all);
}

void gate_admission_remember(struct gate_admissions *all, const struct gate_admission *admission)
{
	struct entry *entry = &all->entries[admission->uid % ADMISSIONS];

	*entry = (struct entry){.uid = admission->uid, .submits = admission->submits, .until = clock_ms() + ADMISSION_AGE};
	snprintf(entry->user, sizeof entry->user, "%s", admission->user);
	snprintf(entry->address, sizeof entry->address, "%s", admission->address);
}

bool gate_admission_is_known(const struct gate_admissions *all, const struct gate_admission *admission)
{
	const struct entry *entry = &all->entries[admission->uid % ADMISSIONS];

	return entry->until > clock_ms() && entry->uid == admission->uid && entry->submits == admission->submits &&
	       strcmp(entry->user, admission->user) == 0 && strcmp(entry->address, admission->address) == 0;
}
