/* password_file.h - a file with passwords of database roles, in the format of libpq (.pgpass), of which rota writes the lines of
 * nodes' logins. */
#ifndef ROTA_BIN_PASSWORD_FILE_H
#define ROTA_BIN_PASSWORD_FILE_H

#include <stdbool.h>

#include "lib/err.h"

struct password_file;

/* Read a file; a file that does not exist is empty. `account` is to own the file, if root writes it; NULL: the owner of its
 * folder. A file of any other owner is refused, so that nobody who can write to the folder makes root copy a file for him.
 * Returns NULL on failure. */
struct password_file *password_file_open(const char *path, const char *account, struct err *e);

/* Returns true if the password file belongs to the owner that it must have, or does not exist. */
bool password_file_is_given(const struct password_file *file);

/* Returns the password of a role, valid until the next call for the file; NULL if the file has none. */
const char *password_file_get(const struct password_file *file, const char *role);

/* Set the password of a role, and replace an earlier one in the file. Neither role nor password may have a ":" or "\". */
void password_file_set(struct password_file *file, const char *role, const char *password);

/* Write the file, whole or not at all, with mode 0600. */
bool password_file_save(const struct password_file *file, struct err *e);
void password_file_close(struct password_file *file);

#endif
