/* mine.h - the caller's jobs that have not ended, the default of `rota wait` and `rota watch`. */
#ifndef ROTA_BIN_MINE_H
#define ROTA_BIN_MINE_H

#include <jansson.h>

/* Their ids as texts, the oldest first. NULL: failed, with the error printed. Prints a message when there are none. */
json_t *mine_jobs(void);

#endif
