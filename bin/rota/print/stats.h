/* stats.h - prints the resource usage of steps. */
#ifndef ROTA_BIN_STATS_H
#define ROTA_BIN_STATS_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/print/format.h"

/* Request the resource usage of jobs or steps and print it. Returns the exit status. */
int stats_show(const json_t *operands, bool wide, bool json);

/* Format a member of an object as a number with `digits` decimals, or as bytes per second; "-" for null. */
struct word stats_number(const json_t *object, const char *key, int digits);
struct word stats_rate(const json_t *object, const char *key);

#endif
