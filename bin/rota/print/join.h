/* join.h - a JSON list of names as one cell of a table, runs of numbered names written as ranges. */
#ifndef ROTA_BIN_JOIN_H
#define ROTA_BIN_JOIN_H

#include <jansson.h>

#include "bin/rota/print/table.h"

/* Append a list of names as one cell: "n[1-4],login" for ["n1","n2","n3","n4","login"]. */
void join_cell(struct table *table, const json_t *names);

/* Returns a list of names as text, such as "n[1-4],login"; malloc'ed. */
char *join_text(const json_t *names);

#endif
