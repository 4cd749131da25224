/* plan_change.h - changes of a snapshot: what if nodes were drained or added, a partition had other limits, it were later. */
#ifndef ROTA_BIN_PLAN_CHANGE_H
#define ROTA_BIN_PLAN_CHANGE_H

#include "bin/rota/plan/plan_snapshot.h"
#include "lib/err.h"

/* Nodes, such as "n[1-3]", start nothing more. What runs there goes on. */
bool plan_change_drain(struct plan_snapshot *snapshot, const char *nodes, struct err *e);

/* Add nodes "COUNT:CPUSc,MEM" to all partitions, such as "4:64c,250G". */
bool plan_change_add_nodes(struct plan_snapshot *snapshot, const char *text, struct err *e);

/* Set "partition.NAME.KEY=VALUE"; KEY is max_time, max_nodes or state. */
bool plan_change_set(struct plan_snapshot *snapshot, const char *text, struct err *e);

/* Let time pass: what ends by then has ended, by its time limit. Nothing else has started. */
bool plan_change_at(struct plan_snapshot *snapshot, double at, struct err *e);

#endif
