/* mine.h - the caller's jobs that have not ended, for verbs that mean those where no job is named. */
#ifndef ROTA_BIN_MINE_H
#define ROTA_BIN_MINE_H

#include <jansson.h>

/* Their numbers as texts, the oldest first; NULL after a failure that was printed. Where there are none, that is printed. */
json_t *mine_jobs(void);

#endif
