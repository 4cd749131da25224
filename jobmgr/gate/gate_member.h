/* gate_member.h - members of a request, as JSON has them. For the files of the gate only. */
#ifndef ROTA_GATE_MEMBER_H
#define ROTA_GATE_MEMBER_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"

/* A member of a request; NULL also for JSON null. */
json_t *gate_member(const json_t *request, const char *name);

/* A member of the request that must be a string: its text, `otherwise` where it is absent or null. False where it is anything
 * else. */
bool gate_member_text(const json_t *request, const char *name, const char *otherwise, const char **text, struct err *e);

/* A member that must be a list of strings; *texts is malloc'ed, its strings are the request's. Absent: empty. */
bool gate_member_texts(const json_t *request, const char *name, const char ***texts, int *count, struct err *e);

/* Whether each member is one of `names`, which have blanks between: a misspelt one would be one that was not asked for. */
bool gate_members_known(const json_t *request, const char *names, struct err *e);

#endif
