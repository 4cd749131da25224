/* user_file.h - gives one user a file that the user can read, and cannot change. */
#ifndef ROTA_PROCMGR_USER_FILE_H
#define ROTA_PROCMGR_USER_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "procmgr/keeper/task_environment.h"

/* Let `owner`, and nobody else but root, read the file `fd`, and execute it if it is `executable`. Returns false with errno set
 * if that fails. */
bool user_file_share(int fd, bool executable, const struct task_owner *owner);

/* Returns true if a file with these attributes is a plain file with the owner and the mode that user_file_share sets. */
bool user_file_is_shared(const struct stat *st, bool executable, const struct task_owner *owner);

#endif
