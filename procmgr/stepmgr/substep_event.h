/* substep_event.h - changes of the nodes of the step, for programs of the job. */
#ifndef ROTA_PROCMGR_SUBSTEP_EVENT_H
#define ROTA_PROCMGR_SUBSTEP_EVENT_H

#include "procmgr/stepmgr/substep_connection.h"

struct substep_events;

/* Called for each change of a node, after the subscribers were sent the event. */
typedef void substep_event_handler(struct substep_engine *m);

struct substep_events *substep_events_new(substep_event_handler *changed);
void substep_events_free(struct substep_events *events); /* call when nobody subscribes any more */

/* Set the state of a node: up, drained, leaving, lost, joined or left. The reason is "" or a short text. The first state of a node is no
 * change for the handler. Nothing happens if the node has this state for this reason already. */
void substep_event_node(struct substep_engine *m, const char *name, const char *state, const char *reason);

/* Set the state of a node to what an earlier step manager has reported: no subscriber is sent an event. */
void substep_event_restore(struct substep_engine *m, const char *name, const char *state, const char *reason);

bool substep_event_is_state(const char *state);

/* May new tasks start on the node? After "lost" and "left" they may not. With "drained" and "leaving" they may if no other node can run
 * them. */
enum substep_event_use { SUBSTEP_NODE_FREE, SUBSTEP_NODE_AVOIDED, SUBSTEP_NODE_GONE };
enum substep_event_use substep_event_use(const struct substep_engine *m, const char *name);

/* Returns the name of the i-th node that is drained, leaving or lost; NULL: there are no more. */
const char *substep_event_failed(const struct substep_engine *m, int i);

/* Add the state of each node to the list that substep_pool_json makes. */
void substep_event_describe(const struct substep_engine *m, json_t *nodes);

/* Send the connection the state of every node, and then each change, as events that answer the request with this id. */
void substep_event_subscribe(struct substep_engine *m, struct substep_connection *c, json_int_t id);
void substep_event_forget(struct substep_connection *c);

/* Send the events that did not fit into a subscriber's output buffer. */
void substep_event_pump(struct substep_connection *c);

#endif
