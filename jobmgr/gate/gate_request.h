/* gate_request.h - a request as a JSON object: parsing it, and reading its members. For gate*.c only. */
#ifndef ROTA_GATE_REQUEST_H
#define ROTA_GATE_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* Parse the query of a URI (NULL: none); a name that is given more than once becomes a list. NULL with an error. */
json_t *gate_request_parse_query(const char *query, struct err *e);

/* Parse a body; an empty one is an empty object. NULL with an error. */
json_t *gate_request_parse_body(const char *body, size_t size, struct err *e);

/* A member of a request; NULL also for JSON null. */
json_t *gate_request_member(const json_t *request, const char *name);

/* The text of a member that must be a string; `otherwise` where it is absent. False with an error where it is no string. */
bool gate_request_text(const json_t *request, const char *name, const char *otherwise, const char **text, struct err *e);

/* The texts of a member that must be a list of strings; empty where it is absent. *texts is malloc'ed, its strings are the request's. */
bool gate_request_texts(const json_t *request, const char *name, const char ***texts, int *count, struct err *e);

/* Refuse a member that is not one of `names` (separated by blanks), because a misspelt one would have no effect. */
bool gate_request_check_members(const json_t *request, const char *names, struct err *e);

#endif
