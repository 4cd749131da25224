/* trust.h - checks that nobody can change a file on whose content a daemon relies. */
#ifndef ROTA_TRUST_H
#define ROTA_TRUST_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

/* Verify that nobody but root, the calling user and the user `account` can change or replace the file with this absolute path.
 * Returns false if somebody else can, or if there is no such file; errno is then ENOENT. */
bool trust_file(const char *path, uid_t account, struct err *e);

/* Verify that nobody but root and the calling user can change or replace the programs of a NULL-terminated list. An empty path
 * passes, and so does a program that is missing, since it fails when it is to run. */
bool trust_programs(const char *const *paths, struct err *e);

#endif
