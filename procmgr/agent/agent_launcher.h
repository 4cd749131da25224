/* agent_launcher.h - the connection to the launcher. */
#ifndef ROTA_PROCMGR_AGENT_LAUNCHER_H
#define ROTA_PROCMGR_AGENT_LAUNCHER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/fields.h"

struct agent_launcher;

/* Called when the launcher answers the control message with number `id`. `taken` is false if a keeper cannot accept the message
 * now. */
typedef void agent_launcher_answer(int64_t id, bool taken, void *arg);

/* `fd` is the agent's end of the socket pair. Returns NULL if `fd` is not open. */
struct agent_launcher *agent_launcher_new(struct event_base *base, int fd, agent_launcher_answer *answer, void *arg,
					  struct err *e);
void agent_launcher_free(struct agent_launcher *l);

/* Queue a message to the launcher. It is sent as soon as the socket has space. */
void agent_launcher_send(struct agent_launcher *l, const struct fields *message);

#endif
