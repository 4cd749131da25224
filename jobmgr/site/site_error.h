/* site_error.h - Slurm's error numbers, which the site's scripts return. */
#ifndef ROTA_SITE_ERROR_H
#define ROTA_SITE_ERROR_H

#include <stdint.h>

/* Returns what a return value of a script says, as Slurm words it. */
const char *site_error_text(int64_t number);

#endif
