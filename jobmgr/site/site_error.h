/* site_error.h - Slurm's error numbers, which the site's scripts return. */
#ifndef ROTA_SITE_ERROR_H
#define ROTA_SITE_ERROR_H

#include <stdint.h>

/* Returns Slurm's text for an error number that the site's script returned. */
const char *site_error_text(int64_t number);

#endif
