/* call_seen.h - the file in which `rota` keeps the newest incarnation of the database that its user has seen. */
#ifndef ROTA_BIN_CALL_SEEN_H
#define ROTA_BIN_CALL_SEEN_H

#include "lib/conf.h"

/* Call db_seen_keep() with the file for this user and the jobmgrd of this configuration, if the user has a home. */
void call_seen_keep(const struct conf *conf);

#endif
