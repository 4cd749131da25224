/* unit.h - shared by the cmocka programs of this folder: cmocka with its headers, and a temporary folder for a test. */
#ifndef ROTA_TESTS_UNIT_H
#define ROTA_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char unit_folder[64]; /* of the running test */

static inline int unit_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

/* Setup and teardown of a test that needs a folder of its own. */
static inline int unit_folder_make(void **state)
{
	(void)state;
	snprintf(unit_folder, sizeof unit_folder, "/tmp/rota-unit-XXXXXX");
	return mkdtemp(unit_folder) ? 0 : -1;
}

static inline int unit_folder_remove(void **state)
{
	(void)state;
	return nftw(unit_folder, unit_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* A path in that folder; valid until the third next call. */
static inline const char *unit_path(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof paths[0], "%s/%s", unit_folder, name);
	return path;
}

#endif
