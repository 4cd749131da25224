/* substep_feed.h - input of the client for the tasks of a sub-step on another node. */
#ifndef ROTA_PROCMGR_SUBSTEP_FEED_H
#define ROTA_PROCMGR_SUBSTEP_FEED_H

#include <jansson.h>

#include "procmgr/stepmgr/substep.h"

struct substep_feed *substep_feed_new(void);
void substep_feed_free(struct substep_feed *f); /* NULL: nothing is done */

/* The functions below do nothing if the part gets no input of the client. */

/* Send bytes of input to the agent of the part, and the end of the input once the sub-step's input has ended. */
void substep_feed_add(const struct substep *s, struct substep_part *part, const void *bytes, size_t size);

/* Call when the agent is asked to run the part, perhaps again: no input is sent before the agent reports how much of it it
 * has. */
void substep_feed_pause(struct substep_part *part);

/* Handle the agent's event `input`, which reports up to which offset the agent has the input, and how many more bytes it
 * takes. */
void substep_feed_take(struct substep *s, struct substep_part *part, const json_t *event);

/* Returns true if more input may be added for the part, since less than SUBSTEP_INPUT_MOST bytes wait to be sent. */
bool substep_feed_has_room(const struct substep_part *part);

/* Returns true if the part needs no more input: its tasks have all of it, or will not get the rest. */
bool substep_feed_is_over(const struct substep_part *part);

#endif
