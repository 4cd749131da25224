/* agent_cache.h - the folder cache/: scripts and environments under their hashes. */
#ifndef ROTA_PROCMGR_AGENT_CACHE_H
#define ROTA_PROCMGR_AGENT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

void agent_cache_open(void);						    /* removes files that are no valid entries */
bool agent_cache_exists(void);						    /* the folder is there and can be written to */
bool agent_cache_has(const char *hash);					    /* also marks the file as used now */
bool agent_cache_matches(const char *hash, const void *bytes, size_t size); /* the bytes have that hash */
bool agent_cache_put(const char *hash, const void *bytes, size_t size, struct err *e);

/* Remove the files that were not used for `unused_s` seconds, oldest first, until at most most_bytes are left. */
void agent_cache_evict(int64_t most_bytes, int64_t unused_s);

#endif
