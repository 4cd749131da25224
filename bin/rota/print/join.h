/* join.h - a JSON list of names as one cell of a table, runs of numbered names written as ranges. */
#ifndef ROTA_BIN_JOIN_H
#define ROTA_BIN_JOIN_H

#include <jansson.h>

#include "bin/rota/print/table.h"

/* Append "n[1-4],login" for ["n1","n2","n3","n4","login"]. */
void join_cell(struct table *table, const json_t *names);

/* The same as text, malloc'ed. */
char *join_text(const json_t *names);

#endif
