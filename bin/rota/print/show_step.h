/* show_step.h - steps in `rota show`. */
#ifndef ROTA_BIN_SHOW_STEP_H
#define ROTA_BIN_SHOW_STEP_H

#include <jansson.h>
#include <stdbool.h>

/* Print one step in full. */
void show_step_print(const json_t *job, const json_t *step);

/* Print how the prologs, epilogs and transfers around the tasks of a step ended: "site_prolog on n1: 0", after the name of the step if
 * `with_step` is true. */
void show_step_hooks(const json_t *step, bool with_step);

/* Print which attempts of a step were preempted, for whom and how, and the checkpoints of the step, after its name if `with_step` is true. */
void show_step_lives(const json_t *step, bool with_step);

/* Print an empty line and a table of steps. */
void show_step_table(const json_t *steps, bool wide);

/* Print warnings about nodes of a running step: failing, or drained or reserved within its time limit. Skips warnings in
 * `said`, which were printed before. */
void show_step_warnings(const json_t *step, json_t *said);

#endif
