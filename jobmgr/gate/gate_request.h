/* gate_request.h - parses requests into JSON objects, and reads members of requests. For gate*.c only. */
#ifndef ROTA_GATE_REQUEST_H
#define ROTA_GATE_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* Parse the query of a URI (NULL: there is none) into a JSON object. A name that is given more than once becomes a list.
 * Returns NULL with an error. */
json_t *gate_request_parse_query(const char *query, struct err *e);

/* Parse the body of a request as JSON. An empty body is an empty object. Returns NULL with an error. */
json_t *gate_request_parse_body(const char *body, size_t size, struct err *e);

/* Returns a member of a request, or NULL if the member is absent or JSON null. */
json_t *gate_request_member(const json_t *request, const char *name);

/* Set *text to a member that must be a string, or to `otherwise` if the member is absent. Returns false with an error if it is
 * no string. */
bool gate_request_text(const json_t *request, const char *name, const char *otherwise, const char **text, struct err *e);

/* Set *texts and *count to a member that must be a list of strings; an absent member gives an empty list. *texts is malloc'ed,
 * its strings belong to the request. Returns false with an error if the member is anything else. */
bool gate_request_texts(const json_t *request, const char *name, const char ***texts, int *count, struct err *e);

/* Refuse a request with a member that is not one of `names` (separated by blanks): a misspelt member would have no effect. */
bool gate_request_check_members(const json_t *request, const char *names, struct err *e);

#endif
