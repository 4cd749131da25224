/* stats.h - what steps used, for people. */
#ifndef ROTA_BIN_STATS_H
#define ROTA_BIN_STATS_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/format.h"

/* One step of a `stats` answer. */
void stats_print(const json_t *step, bool wide);

/* A member with so many digits, or as bytes each second; "-" for null. */
struct word stats_number(const json_t *object, const char *key, int digits);
struct word stats_rate(const json_t *object, const char *key);

#endif
