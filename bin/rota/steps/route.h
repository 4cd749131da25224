/* route.h - the way to the step manager of a job that runs on another machine. */
#ifndef ROTA_BIN_ROUTE_H
#define ROTA_BIN_ROUTE_H

#include <stdbool.h>

/* The route to the step manager that $ROTA_STEP_ROUTE names: nothing, `local`, `tls` or `relay`. */
enum route { ROUTE_ANY, ROUTE_LOCAL, ROUTE_TLS, ROUTE_RELAY };

/* Returns the route that the environment asks for. Another word ends the process with EXIT_USAGE. */
enum route route_asked(void);

/* Let this process connect by TLS, straight or through jobmgrd. Returns the path for rota_steps_connect() of an attempt of a step, malloc'ed. */
char *route_use(const char *label, long long attempt);

/* Did route_use() return this path? */
bool route_is_remote(const char *path);

#endif
