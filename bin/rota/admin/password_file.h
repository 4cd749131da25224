/* password_file.h - a file with passwords of database roles, in the format of libpq (.pgpass), of which rota writes the lines of
 * nodes' logins. */
#ifndef ROTA_BIN_PASSWORD_FILE_H
#define ROTA_BIN_PASSWORD_FILE_H

#include <stdbool.h>

#include "lib/err.h"

struct password_file;

/* Read a file; a file that does not exist is empty. `account` is to own the file, if root writes it; NULL: the owner of its folder.
 * A file of somebody else than these two is refused, so that nobody who may write to the folder has root copy a file for him.
 * Returns NULL on failure. */
struct password_file *password_file_open(const char *path, const char *account, struct err *e);

/* Does the owner that the password file is to have own it? Also true if the file does not exist. */
bool password_file_is_given(const struct password_file *file);

/* Returns the password of a role, valid until the next call for the file; NULL if the file has none. */
const char *password_file_get(const struct password_file *file, const char *role);

/* Set the password of a role, in place of any that the file has for it. Neither may have a ":" or "\". */
void password_file_set(struct password_file *file, const char *role, const char *password);

/* Write the file, whole or not at all, with mode 0600. */
bool password_file_save(const struct password_file *file, struct err *e);
void password_file_close(struct password_file *file);

#endif
