/* lead_lower_priority.h - lowers the CPU priority of backends that serve analysts and readers. */
#ifndef ROTA_LEAD_LOWER_PRIORITY_H
#define ROTA_LEAD_LOWER_PRIORITY_H

#include "lib/db.h"

/* Lower the CPU priority of all backends of analysts and readers, new backends included. Does nothing if the PostgreSQL server
 * runs on another host or as another user. */
void lead_lower_priority(struct db *db);

#endif
