/* credential_folder.h - the folder in memory in which an attempt finds its credentials.
 *
 * Attempts are named as record_key_text() and record_tag() name them. Paths are relative to the node's folder. */
#ifndef ROTA_PROCMGR_CREDENTIAL_FOLDER_H
#define ROTA_PROCMGR_CREDENTIAL_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/credential.h"
#include "lib/err.h"
#include "procmgr/keeper/task_environment.h"
#include "procmgr/record/record.h"

struct credential_folder {
	char *path; /* absolute path of the folder; NULL: the attempt has no folder */
	int fd;	    /* descriptor of the folder; -1: it is not open */
};

/* Make the folder of an attempt for `files` credentials: as root a tmpfs of its own, else a folder in /dev/shm. */
bool credential_folder_make(struct credential_folder *f, const char *dir, const char *name, const char *tag,
			    const struct task_owner *owner, int files, struct err *e);
/* Write a file that belongs to `owner` into the folder. It replaces a file of the same name. */
bool credential_folder_write(const struct credential_folder *f, const struct task_owner *owner, const char *file,
			     const void *bytes, size_t size, struct err *e);
/* Overwrite a file of the folder with zeros, and remove it. */
void credential_folder_remove(const struct credential_folder *f, const char *file);
/* Overwrite all files of the folder, and remove it. Call when no process of the user is left. */
void credential_folder_destroy(struct credential_folder *f);

/* Remove the folder of an attempt whose keeper has died. */
void credential_folder_recover(const char *dir, const struct record_key *key);

/* Remove the folders that attempts of this node have left in /dev/shm, if is_running(arg, key) is false. `dir` is the node's folder. */
void credential_folder_tidy(const char *dir, bool (*is_running)(void *arg, const struct record_key *key), void *arg);

#endif
