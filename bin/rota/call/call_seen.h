/* call_seen.h - where `rota` keeps which incarnation of the database has answered its user. */
#ifndef ROTA_BIN_CALL_SEEN_H
#define ROTA_BIN_CALL_SEEN_H

#include "lib/conf.h"

/* Keep it for the jobmgrd of this configuration, if the user has a home. */
void call_seen_keep(const struct conf *conf);

#endif
