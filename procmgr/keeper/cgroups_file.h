/* cgroups_file.h - reads and writes files of cgroups. */
#ifndef ROTA_PROCMGR_CGROUPS_FILE_H
#define ROTA_PROCMGR_CGROUPS_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { CGROUPS_PATH_SIZE = 4096, CGROUPS_VALUE_SIZE = 4096 };

/* The file `name` of the cgroup `key` ("": the folder itself) below the folder `dir`. */
bool cgroups_file_read(const char *dir, const char *key, const char *name, char value[CGROUPS_VALUE_SIZE]);
bool cgroups_file_write(const char *dir, const char *key, const char *name, const char *value);

/* The number after `word` in a file of lines "word number"; with an empty word, the number that begins the file. -1: there is
 * none, or dir is NULL. */
int64_t cgroups_file_number(const char *dir, const char *key, const char *name, const char *word);

/* Keep a file of the cgroup open (flags as for open). Without a name, keep open the folder that the cgroup is in, for
 * cgroups_file_rename. One cgroup at a time. `dir` and `name` have to stay at their addresses. */
void cgroups_file_keep_open(const char *dir, const char *key, const char *name, int flags);

/* Close the open files, if they are of this cgroup. */
void cgroups_file_close(const char *key);

/* Rename a cgroup below `dir`; its open files stay open. */
bool cgroups_file_rename(const char *dir, const char *from, const char *key);
/* The cgroup is renamed below all folders: the open files are now of `key`. */
void cgroups_file_renamed(const char *from, const char *key);

#endif
