/* gate_route.h - the verbs of the HTTP API, each with its api function and the members of its request. */
#ifndef ROTA_GATE_ROUTE_H
#define ROTA_GATE_ROUTE_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/db.h"
#include "lib/err.h"

enum {
	GATE_READ = 1,
	GATE_WAIT = 2,
	GATE_SUBMIT = 4,
	GATE_MODIFY = 8,
	GATE_ADMIN = 16,
	GATE_TOKEN = 32,
	GATE_RELAY = 64,
	GATE_HOOK = 128,
	GATE_GRANT = 256,
	GATE_STALE = 512
};

/* The members of a request for one job. */
#define GATE_JOB_MEMBERS                                                                                                         \
	"script script_name arguments options environment workdir umask rlimits client_key retry_key submit_line forwarded"

struct gate_route {
	const char *verb;
	enum api_function function;
	unsigned flags;
	const char *members; /* members that a request of the verb may have, separated by blanks */
	const char *help;
};

/* Returns the route of a path such as "/v1/queue", or NULL with an error that names the nearest verb. */
const struct gate_route *gate_route_find(const char *path, struct err *e);

/* Returns the answer of GET /v1/: {"verbs":[{"verb","methods","members","help"}]}. */
json_t *gate_route_list(void);

#endif
