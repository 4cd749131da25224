/* route.h - the way to the step manager of a job that runs on another machine. */
#ifndef ROTA_BIN_ROUTE_H
#define ROTA_BIN_ROUTE_H

#include <stdbool.h>

/* What $ROTA_STEP_ROUTE asks for: nothing, `local`, `tls` or `relay`. */
enum route { ROUTE_ANY, ROUTE_LOCAL, ROUTE_TLS, ROUTE_RELAY };

/* Returns the route that the environment asks for. Another word ends the process with EXIT_USAGE. */
enum route route_asked(void);

/* Let this process connect by TLS, straight or through jobmgrd. Returns the path for rota_steps_connect() of an attempt of a step, malloc'ed. */
char *route_use(const char *label, long long attempt);

/* Is this a path that route_use() has returned? */
bool route_is_remote(const char *path);

#endif
