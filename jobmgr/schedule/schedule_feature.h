/* schedule_feature.h - constraint expressions over node features. */
#ifndef ROTA_SCHEDULE_FEATURE_H
#define ROTA_SCHEDULE_FEATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "jobmgr/schedule/schedule_cluster.h"

/* Remove from `set` the nodes that do not match the constraint expression. `!` binds before `&`, `&` before `|`; parentheses
 * group. If the expression is malformed, returns false and makes `set` empty. A feature that no node has matches no node. */
bool schedule_feature_match(const struct schedule_cluster *cluster, const char *expression, uint64_t *set);

#endif
