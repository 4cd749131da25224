/* gate_route.h - which verb a request means, and what it asks of it. */
#ifndef ROTA_GATE_ROUTE_H
#define ROTA_GATE_ROUTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/db.h"
#include "lib/err.h"

enum { GATE_READ = 1, GATE_WAIT = 2, GATE_SUBMIT = 4, GATE_MODIFY = 8 };

struct gate_route {
	const char *verb;
	enum api_function function;
	unsigned flags;
	const char *members; /* that its request may have, with blanks between */
	const char *help;
};

/* The route of `path` ("/v1/queue"), or NULL and an error that names the nearest verb. */
const struct gate_route *gate_route_find(const char *path, struct err *e);

/* {"verbs":[{"verb","methods","members","help"}]}: what GET /v1/ answers. */
json_t *gate_route_list(void);

/* The request as a JSON object: from the query of a URI (NULL: none); a name given more than once becomes a list. */
json_t *gate_request_query(const char *query, struct err *e);

/* ... or from a body; an empty one is an empty object. */
json_t *gate_request_body(const char *body, size_t size, struct err *e);

#endif
