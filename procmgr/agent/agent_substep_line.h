/* agent_substep_line.h - turns lines of a step manager's journal into rows for api.node_substep_report. */
#ifndef ROTA_PROCMGR_AGENT_SUBSTEP_LINE_H
#define ROTA_PROCMGR_AGENT_SUBSTEP_LINE_H

#include <jansson.h>
#include <stddef.h>

#include "procmgr/record/record.h"

/* Rows of a report. Each sub-step has one row, which collects the facts of all its lines. */
struct agent_substep_rows;

/* Make an empty list for at most `most` rows; `most` is at most 2000. */
struct agent_substep_rows *agent_substep_rows_new(int most);
void agent_substep_rows_free(struct agent_substep_rows *r);
int agent_substep_rows_count(const struct agent_substep_rows *r); /* number of rows of sub-steps and of calls */
bool agent_substep_rows_is_full(const struct agent_substep_rows *r);

/* Return the rows of sub-steps, and the calls of step managers to the other nodes of their attempts, as arrays that the list
 * owns. */
json_t *agent_substep_rows_json(const struct agent_substep_rows *r);
json_t *agent_substep_rows_calls(const struct agent_substep_rows *r);

/* Set the attempt to whose journal the next lines belong. */
void agent_substep_rows_begin(struct agent_substep_rows *r, const struct record_key *key);

/* SKIPPED: the line is of a kind that is not reported. BAD: the line is not valid. FULL: the line needs a row, and the list is
 * full. */
enum agent_substep_taken { AGENT_SUBSTEP_TAKEN, AGENT_SUBSTEP_SKIPPED, AGENT_SUBSTEP_BAD, AGENT_SUBSTEP_FULL };
enum agent_substep_taken agent_substep_rows_add(struct agent_substep_rows *r, const char *line, size_t size);

#endif
