/* fence_file.h - files of control groups, and those of one group that stay open. */
#ifndef ROTA_PROCMGR_FENCE_FILE_H
#define ROTA_PROCMGR_FENCE_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { FENCE_PATH_SIZE = 4096, FENCE_VALUE_SIZE = 4096 };

/* The file `name` of the group `key` ("": the folder itself) below the folder `dir`. */
bool fence_file_read(const char *dir, const char *key, const char *name, char value[FENCE_VALUE_SIZE]);
bool fence_file_write(const char *dir, const char *key, const char *name, const char *value);

/* The number behind `word` in a file of "word number" lines; without a word, the number the file begins with; -1: none, or no folder. */
int64_t fence_file_number(const char *dir, const char *key, const char *name, const char *word);

/* Keep this file of the group open (flags of open), or, without a name, the folder that the group is in, for fence_file_rename; one group at
 * a time. Folder and name have to stay where they are in memory. */
void fence_file_hold(const char *dir, const char *key, const char *name, int flags);

/* Close them all, where it is those of this group that are open. */
void fence_file_drop(const char *key);

/* Rename a group below `dir`; what is open of it stays so. */
bool fence_file_rename(const char *dir, const char *from, const char *key);
/* That was done below all folders: what is open is of `key` now. */
void fence_file_renamed(const char *from, const char *key);

#endif
