/* agent_cache.h - the folder cache/: scripts and environments under their hashes. */
#ifndef ROTA_PROCMGR_AGENT_CACHE_H
#define ROTA_PROCMGR_AGENT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Remove files from the cache whose name is not the hash of their content, except boxes of credentials. */
void agent_cache_open(void);
bool agent_cache_exists(void);						    /* is the cache folder present and writable? */
bool agent_cache_has(const char *hash);					    /* also marks the file as used now */
bool agent_cache_matches(const char *hash, const void *bytes, size_t size); /* do the bytes have the hash? */
/* Write a file below cache/. Replaces a file with the same path. */
bool agent_cache_write(const char *path, const void *bytes, size_t size, struct err *e);
bool agent_cache_put(const char *hash, const void *bytes, size_t size, struct err *e);

/* Remove cached files that were not used for `unused_s` seconds, oldest first, until the cache has at most `most_bytes`. */
void agent_cache_evict(int64_t most_bytes, int64_t unused_s);

#endif
