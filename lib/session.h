/* session.h - makes the database end those of its own sessions (connections of clients) that exceed their limits. */
#ifndef ROTA_SESSION_H
#define ROTA_SESSION_H

#include "lib/conf.h"
#include "lib/db.h"

/* Call api.session_judge, which ends such sessions, and log each that it ended. A daemon's session that was silent for
 * schedule.lease seconds within a transaction is ended too, as its daemon is taken for lost: it may hold locks that the next
 * leader waits for. */
void session_judge(struct db *db, const struct conf *conf);

#endif
