/* lead.h - leadership: of all jobmgrd of an instance one schedules. */
#ifndef ROTA_LEAD_H
#define ROTA_LEAD_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/seal.h"

struct lead;

/* Strive for leadership from now on, under `name`, on a connection of its own; `changed` tells each time it is won or lost.
 * Everything is the caller's and outlives the lead. */
struct lead *lead_open(struct event_base *base, const struct conf *conf, const char *name, const struct seal_mac_key *mac,
		       const struct seal_sign_key *sign, void (*changed)(bool leader, void *arg), void *arg);

/* Give it up: the connection is closed, and with it leadership goes to whoever asks next. */
void lead_close(struct lead *lead);

#endif
