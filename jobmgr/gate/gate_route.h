/* gate_route.h - the verbs of the HTTP API: which one a path means, its api function and the members of its request. */
#ifndef ROTA_GATE_ROUTE_H
#define ROTA_GATE_ROUTE_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/db.h"
#include "lib/err.h"

enum { GATE_READ = 1, GATE_WAIT = 2, GATE_SUBMIT = 4, GATE_MODIFY = 8 };

/* The members of a request for one job. */
#define GATE_JOB_MEMBERS "script script_name arguments options environment workdir umask rlimits client_key retry_key"

struct gate_route {
	const char *verb;
	enum api_function function;
	unsigned flags;
	const char *members; /* that its request may have, separated by blanks */
	const char *help;
};

/* The route of `path` ("/v1/queue"), or NULL and an error that names the nearest verb. */
const struct gate_route *gate_route_find(const char *path, struct err *e);

/* {"verbs":[{"verb","methods","members","help"}]}: what GET /v1/ answers. */
json_t *gate_route_list(void);

#endif
