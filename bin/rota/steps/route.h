/* route.h - connects this process to a step manager on another machine. */
#ifndef ROTA_BIN_ROUTE_H
#define ROTA_BIN_ROUTE_H

#include <stdbool.h>

/* The route to a step manager, as $ROTA_STEP_ROUTE names it: not set, `local`, `tls` or `relay`. */
enum route { ROUTE_ANY, ROUTE_LOCAL, ROUTE_TLS, ROUTE_RELAY };

/* Returns the route that the environment asks for. Another word ends the process with EXIT_USAGE. */
enum route route_asked(void);

/* Let this process connect to step managers by TLS, directly or through jobmgrd. Returns the path with which rota_steps_connect()
 * connects to the attempt of this step, malloc'ed. */
char *route_use(const char *label, long long attempt);

/* Returns true if the path is one that route_use() returns. */
bool route_is_remote(const char *path);

#endif
