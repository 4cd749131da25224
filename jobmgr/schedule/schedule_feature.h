/* schedule_feature.h - constraint expressions over node features. */
#ifndef ROTA_SCHEDULE_FEATURE_H
#define ROTA_SCHEDULE_FEATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_cluster.h"

/* Narrow `set` to the nodes that match. `!` binds before `&`, `&` before `|`; parentheses group. False, and `set` is
 * empty, if the expression is malformed. A feature that no node has matches none. */
bool schedule_feature_match(const struct schedule_cluster *cluster, const char *expression, uint64_t *set);

#endif
