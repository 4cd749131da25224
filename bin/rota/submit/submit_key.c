/* submit_key.c - keys of submissions (submit_key.h).
 *
 * Called by: verb/submit.c for scripts; steps/ for allocations and growths.
 * Invariants:
 * - The database keeps a generated key (retry_key) for longer than rota tries, and a given key (client_key) for as long as the
 *   job. */
#include "bin/rota/submit/submit_key.h"

#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "lib/err.h"

char *submit_key_new(void)
{
	unsigned char bytes[16];
	char *key = xmalloc(2 * sizeof(bytes) + 1);
	struct timespec now;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		die("could not get random bytes for the key of the submission: %s", strerror(errno));
	clock_gettime(CLOCK_REALTIME, &now);
	for (uint64_t i = 6, ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000; i > 0; ms >>= 8)
		bytes[--i] = (unsigned char)ms;
	for (size_t i = 0; i < sizeof(bytes); i++)
		sprintf(key + 2 * i, "%02x", bytes[i]);
	return key;
}

void submit_key_add(json_t *request, const char *key)
{
	char *own = key ? NULL : submit_key_new();

	json_object_set_new(request, key ? "client_key" : "retry_key", json_string(key ? key : own));
	free(own);
}
