/* lead.h - leadership: of all jobmgrd of an instance, one schedules. */
#ifndef ROTA_LEAD_H
#define ROTA_LEAD_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/seal.h"

struct lead;

/* Start to claim leadership for the daemon `name`, on a database connection of its own. `changed` is called each time
 * leadership is won or lost. All arguments stay the caller's and must outlive the result. */
struct lead *lead_open(struct event_base *base, const struct conf *conf, const char *name, const struct seal_mac_key *mac,
		       const struct seal_sign_key *sign, void (*changed)(bool leader, void *arg), void *arg);

/* Give up leadership. The database connection is closed, so the next claim of another jobmgrd succeeds. */
void lead_close(struct lead *lead);

#endif
