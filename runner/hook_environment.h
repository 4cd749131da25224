/* hook_environment.h - the environment variables of controller prologs and epilogs. */
#ifndef ROTA_RUNNER_HOOK_ENVIRONMENT_H
#define ROTA_RUNNER_HOOK_ENVIRONMENT_H

#include <libpq-fe.h>

/* Make the environment for the hook in a row of api.hook_take, or, with `result` NULL, for a program that is no hook. `cluster`
 * is the instance's name. Free the NULL-terminated list with hook_environment_free. */
char **hook_environment(const PGresult *result, int row, const char *cluster);
void hook_environment_free(char **environment);

#endif
