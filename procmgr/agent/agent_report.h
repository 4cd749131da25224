/* agent_report.h - reports the journal to the database. */
#ifndef ROTA_PROCMGR_AGENT_REPORT_H
#define ROTA_PROCMGR_AGENT_REPORT_H

#include "procmgr/agent/agent_context.h"
#include "procmgr/agent/agent_energy.h"
#include "procmgr/agent/agent_order.h"
#include "procmgr/agent/agent_sample.h"
#include "procmgr/record/record.h"

struct agent_report;

/* The new object passes each journal record to `orders` and `samples`, and each reported one to `energy`. */
struct agent_report *agent_report_new(const struct agent_context *c, struct agent_orders *orders, struct agent_samples *samples,
				      struct agent_energy *energy);
void agent_report_free(struct agent_report *r);
bool agent_report_open(struct agent_report *r, struct err *e); /* open the journal and read its records */

void agent_report_poll(struct agent_report *r);			/* report new records of the journal, if that is possible now */
void agent_report_finish(struct agent_report *r);		/* report the rest of the journal, then stop procmgrd */
void agent_report_within(struct agent_report *r, int64_t usec); /* send a report within `usec` microseconds */
void agent_report_watch(struct agent_report *r); /* watch the journal, unless its records have to wait for an answer */
/* Handle a registration: procmgrd sent the call at `sent_us` (clock_boot_us), and the database registered the nodes at `server_us` of its own
 * clock. */
void agent_report_registered(struct agent_report *r, int64_t sent_us, int64_t server_us);
void agent_report_disconnected(struct agent_report *r);
void agent_report_truncate(struct agent_report *r); /* let the launcher drop records that the database acknowledged a while ago */

/* Returns true if no report is under way and inotify watches the journal. */
bool agent_report_is_idle(const struct agent_report *r);

/* Call `each` for every record of the journal that the database has not acknowledged. */
bool agent_report_each_unacknowledged(const struct agent_report *r, bool (*each)(const struct fields *record, void *arg),
				      void *arg, struct err *e);

#endif
