/* power_admin.h - `rota admin power`: nodes powered on and off by the programs of the site. */
#ifndef ROTA_ADMIN_POWER_ADMIN_H
#define ROTA_ADMIN_POWER_ADMIN_H

#include <stdbool.h>

/* Power nodes on or off, or list the last runs of the programs (`nodes` may be NULL then). Returns the exit code. */
int power_admin_run(const char *action, const char *nodes, bool json);

#endif
