/* substep_session.h - the session of a sub-step with a terminal: who is attached, when it was used, its idle timeout. */
#ifndef ROTA_PROCMGR_SUBSTEP_SESSION_H
#define ROTA_PROCMGR_SUBSTEP_SESSION_H

#include "procmgr/stepmgr/substep.h"

struct substep_person; /* a person who is attached to a terminal */

/* Set the shortest idle limit that the keeper has for all sessions, "3600 partition debug"; NULL: there is none. */
void substep_session_use_limit(const char *text);

/* Choose a name for the socket of the sub-step's terminal, which nobody can guess and bind first. Does nothing if the sub-step
 * has no terminal. */
void substep_session_choose_terminal(struct substep *s);
/* Call when the terminal of a sub-step runs. `idle` is called when the terminal has been idle for its idle limit. */
void substep_session_begin(struct substep *s, void (*idle)(struct substep *s));
/* Called when the run of a sub-step ends. Writes the times that are not in the journal yet. */
void substep_session_end(struct substep *s);

/* Call when a person has attached to the terminal by a client, and when that person has left it. */
struct substep_person *substep_session_join(struct substep *s, const char *user, const char *host);
void substep_session_leave(struct substep *s, struct substep_person *person);

/* Add the members of a session that the request `list` reports (docs/step-protocol.md) to the object of its sub-step. */
void substep_session_describe(const struct substep *s, json_t *object);

#endif
