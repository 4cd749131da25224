/* stats.h - what steps used, for people. */
#ifndef ROTA_BIN_STATS_H
#define ROTA_BIN_STATS_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/print/format.h"

/* Ask for the statistics of these jobs or steps and print them; an exit status. */
int stats_show(const json_t *operands, bool wide, bool json);

/* A member with so many digits, or as bytes each second; "-" for null. */
struct word stats_number(const json_t *object, const char *key, int digits);
struct word stats_rate(const json_t *object, const char *key);

#endif
