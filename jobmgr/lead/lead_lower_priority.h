/* lead_lower_priority.h - who only reads the database yields the processors to those who work with it. */
#ifndef ROTA_LEAD_LOWER_PRIORITY_H
#define ROTA_LEAD_LOWER_PRIORITY_H

#include "lib/db.h"

/* Look at the sessions of analysts and readers, those that have come since among them. Where the server runs elsewhere, or as another
 * user, nothing happens. */
void lead_lower_priority(struct db *db);

#endif
