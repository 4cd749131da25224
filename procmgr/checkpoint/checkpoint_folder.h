/* checkpoint_folder.h - makes, reads, compares and removes folders of checkpoints. Folders are given by descriptors. */
#ifndef ROTA_CHECKPOINT_FOLDER_H
#define ROTA_CHECKPOINT_FOLDER_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"

/* Open the folder `path`, and make it if it does not exist. Returns a descriptor, or -1 with an error. */
int folder_open(const char *path, struct err *e);
/* Open the folder `name` in `parent`; `make`: make it if it does not exist. The folder must belong to the caller, and nobody
 * else may write to it. */
int folder_open_own(int parent, const char *name, bool make, struct err *e);

/* Returns the list of all files below a folder, [{name, bytes, sha256}], after writing them and their folders to disk. NULL with
 * an error, also if there is anything but files and folders. */
json_t *folder_hash(int folder, struct err *e);
/* The result of a comparison. An error of the file system, such as a lost mount, is not a difference: FOLDER_UNREADABLE. */
enum folder_match {
	FOLDER_UNREADABLE,
	FOLDER_DIFFERS, /* a file has another size or digest, or an entry of an opened folder is missing or of another type */
	FOLDER_SAME
};

/* Compare the files of a folder with a list as folder_hash() returns it. The error names the first file that differs. */
enum folder_match folder_compare(int folder, const json_t *files, struct err *e);
/* The same. A file that is not in the list is a difference, too: a driver that restores processes reads every file of the folder. */
enum folder_match folder_compare_whole(int folder, const json_t *files, struct err *e);

/* Does this errno say that an entry of an open folder does not exist, or is something else than expected? */
bool folder_lacks(int error);

/* Copy the file `path` into a folder, as `name`. */
bool folder_copy(const char *path, int folder, const char *name, struct err *e);
/* Returns true if a folder has no entry. */
bool folder_is_empty(int folder);
/* Remove the entry `name` of a folder with all that is below it. Returns true if the entry does not exist any more. */
bool folder_remove(int parent, const char *name);
/* Call `each` with the name of each entry of a folder. */
void folder_each(int folder, void (*each)(int folder, const char *name, void *arg), void *arg);

#endif
