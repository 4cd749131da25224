/* translate_pool.c - reads which space of a pool of burst_buffer.lua a job requests: "#BB_LUA ... pool=NAME capacity=SIZE".
 *
 * Called by: translate_staging.c.
 * Invariants:
 * - Both words are in one directive. Of several directives, the sizes are added up and the last pool counts, as for Slurm.
 * - A pool without a capacity requests nothing. The database checks whether there is such a pool. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "jobmgr/translate/translate_parts.h"

enum { POOL_LONGEST = 64 };

static const int64_t pool_most = INT64_MAX / 2;

/* Returns the value of the last word `key`=VALUE of a directive, malloc'ed; NULL: there is none. */
static char *directive_value(const char *directive, const char *key)
{
	const char *found = NULL;
	size_t length = strlen(key);
	for (const char *word = directive; *(word += strspn(word, " \t")); word += strcspn(word, " \t"))
		if (strncmp(word, key, length) == 0)
			found = word + length;
	return found ? xasprintf("%.*s", (int)strcspn(found, " \t"), found) : NULL;
}

/* Returns the number of bytes of a unit: "" is 1; K to P and KiB to PiB are powers of 1024, KB to PB powers of 1000; 0: no such
 * unit. */
static int64_t unit_bytes(const char *unit)
{
	static const char letters[] = "KMGTP";
	const char *letter = *unit ? strchr(letters, *unit & ~0x20) : NULL;
	int64_t factor = letter && strcasecmp(unit + 1, "B") == 0 ? 1000 : 1024, bytes = 1;
	if (!*unit)
		return 1;
	if (!letter || (unit[1] && strcasecmp(unit + 1, "B") != 0 && strcasecmp(unit + 1, "iB") != 0))
		return 0;
	for (const char *l = letters; l <= letter; l++)
		bytes *= factor;
	return bytes;
}

/* Returns the number of bytes of a size such as "10G"; 0: not a size, or too large. */
static int64_t size_bytes(const char *size)
{
	char *unit;
	intmax_t number = strtoimax(size, &unit, 10);
	int64_t bytes = unit_bytes(unit);
	return *size < '0' || *size > '9' || bytes == 0 || number > pool_most / bytes ? 0 : number * bytes;
}

/* Returns true if the directive's pool and size are valid; else refuses the directive. */
static bool pool_check(struct translation *t, int line, const char *pool, const char *size)
{
	if (!pool || !*pool || strlen(pool) > POOL_LONGEST) {
		translate_refuse(t, line, "", "the directive with capacity=%s names no pool", size);
		translate_hint(t, "write pool=NAME capacity=%s in one line", size);
		return false;
	}
	if (size_bytes(size) > 0 && size_bytes(size) <= pool_most - t->pool.capacity)
		return true;
	translate_refuse(t, line, "", "capacity=%s of pool \"%s\" is no size above 0 such as 10G, or is too large", size, pool);
	return false;
}

void translate_pool(struct translation *t, const char *directive, int line)
{
	char *pool = directive_value(directive, "pool="), *size = directive_value(directive, "capacity=");
	if (size && pool_check(t, line, pool, size)) {
		free(t->pool.name);
		t->pool.name = pool;
		t->pool.capacity += size_bytes(size);
		t->pool.line = line;
		pool = NULL;
	}
	free(pool);
	free(size);
}
