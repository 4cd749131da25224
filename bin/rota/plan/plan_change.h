/* plan_change.h - changes of a snapshot of the cluster: nodes drained or added, other limits of a partition, a later time. */
#ifndef ROTA_BIN_PLAN_CHANGE_H
#define ROTA_BIN_PLAN_CHANGE_H

#include "bin/rota/plan/plan_snapshot.h"
#include "lib/err.h"

/* Drain nodes, such as "n[1-3]": they start no more steps, and running steps go on. */
bool plan_change_drain(struct plan_snapshot *snapshot, const char *nodes, struct err *e);

/* Add nodes "COUNT:CPUSc,MEM" to all partitions, such as "4:64c,250G". */
bool plan_change_add_nodes(struct plan_snapshot *snapshot, const char *text, struct err *e);

/* Set "partition.NAME.KEY=VALUE"; KEY is max_time, max_nodes or state. */
bool plan_change_set(struct plan_snapshot *snapshot, const char *text, struct err *e);

/* Set the time of the snapshot to `at`. Steps whose time limits lie before it have ended; no step has started. */
bool plan_change_at(struct plan_snapshot *snapshot, double at, struct err *e);

#endif
