/* substep_session.h - the session of a sub-step with a terminal: who is attached, when it was used, its idle timeout. */
#ifndef ROTA_PROCMGR_SUBSTEP_SESSION_H
#define ROTA_PROCMGR_SUBSTEP_SESSION_H

#include "procmgr/stepmgr/substep.h"

struct substep_person; /* somebody who is attached */

/* Set the shortest idle limit that the keeper has for all sessions, "3600 partition debug"; NULL: there is none. */
void substep_session_use_limit(const char *text);

/* Choose the name of the socket of its terminal, which nobody can guess and take before. Nothing if the sub-step has no terminal. */
void substep_session_choose_terminal(struct substep *s);
/* The terminal of a sub-step runs. `idle` is called when it has been idle for its timeout. */
void substep_session_begin(struct substep *s, void (*idle)(struct substep *s));
/* Called when the run of a sub-step ends. Writes the times that are not in the journal yet. */
void substep_session_end(struct substep *s);

/* A client's person has attached to the terminal; has left it. */
struct substep_person *substep_session_join(struct substep *s, const char *user, const char *host);
void substep_session_leave(struct substep *s, struct substep_person *person);

/* Add what `list` of the step protocol says of a session to the object of its sub-step. */
void substep_session_describe(const struct substep *s, json_t *object);

#endif
