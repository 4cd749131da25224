/* hook_environment.h - the variables that a controller prolog or epilog starts with. */
#ifndef ROTA_RUNNER_HOOK_ENVIRONMENT_H
#define ROTA_RUNNER_HOOK_ENVIRONMENT_H

#include <libpq-fe.h>

/* The environment for one row of api.hook_take, or for no hook (`result` NULL). `cluster` is the instance's name. NULL-terminated; free
 * it with hook_environment_free. */
char **hook_environment(const PGresult *result, int row, const char *cluster);
void hook_environment_free(char **environment);

#endif
