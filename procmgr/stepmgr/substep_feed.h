/* substep_feed.h - input of the client for the tasks of a sub-step on another node. */
#ifndef ROTA_PROCMGR_SUBSTEP_FEED_H
#define ROTA_PROCMGR_SUBSTEP_FEED_H

#include <jansson.h>

#include "procmgr/stepmgr/substep.h"

struct substep_feed *substep_feed_new(void);
void substep_feed_free(struct substep_feed *f); /* NULL: nothing is done */

/* The functions below do nothing if the part gets no input of the client. */

/* Pass on bytes; and the end of the input once the sub-step's input has ended. */
void substep_feed_add(const struct substep *s, struct substep_part *part, const void *bytes, size_t size);

/* The agent is asked to run the part, perhaps again: send nothing before it says what it has. */
void substep_feed_pause(struct substep_part *part);

/* Handle the agent's event `input`: up to where it has the input, and how many more bytes it takes. */
void substep_feed_take(struct substep *s, struct substep_part *part, const json_t *event);

/* May more be added? */
bool substep_feed_has_room(const struct substep_part *part);

/* Does the part need nothing more: its tasks have all input, or will not get it? */
bool substep_feed_is_over(const struct substep_part *part);

#endif
