/* mine.h - the caller's jobs that have not ended, the default of `rota wait` and `rota watch`. */
#ifndef ROTA_BIN_MINE_H
#define ROTA_BIN_MINE_H

#include <jansson.h>

/* Returns the ids of the caller's jobs that have not ended, as texts, the oldest first. Returns NULL after printing an error.
 * Prints a message if there are no such jobs. */
json_t *mine_jobs(void);

#endif
