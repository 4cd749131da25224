/* dag_request.h - makes the request for a sub-step from a step of a plan, for `rota run --file`. */
#ifndef ROTA_BIN_DAG_REQUEST_H
#define ROTA_BIN_DAG_REQUEST_H

#include <jansson.h>

#include "bin/rota/steps/dag.h"
#include "lib/rota.h"

/* Settings that the sub-steps of all steps of a file share. */
struct dag_common {
	const json_t *arguments; /* arguments of the script: a list of strings, or NULL */
	char *const *env;	 /* environment of the client, NULL at the end */
	int priority;
};

struct dag_request {
	struct rota_run run; /* the texts of `run` live as long as this request and the plan */
	void *owned[16];
	int owned_count;
};

/* Make the request for one unit, whose script is the file `script`. Input, output and size are those of the step. */
void dag_request_make(struct dag_request *r, const struct dag *d, int unit, const struct dag_common *common, const char *script);
void dag_request_free(struct dag_request *r);

/* Returns the malloc'ed name of a unit: "draw", or "draw[7]" of an element. */
char *dag_request_name(const struct dag *d, int unit);

#endif
