/* cgroups_file.h - reads and writes files of cgroups. */
#ifndef ROTA_PROCMGR_CGROUPS_FILE_H
#define ROTA_PROCMGR_CGROUPS_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { CGROUPS_PATH_SIZE = 4096, CGROUPS_VALUE_SIZE = 4096 };

/* Read or write the file `name` of the cgroup `key` below the folder `dir`. If `key` is "", use the cgroup `dir` itself. */
bool cgroups_file_read(const char *dir, const char *key, const char *name, char value[CGROUPS_VALUE_SIZE]);
bool cgroups_file_write(const char *dir, const char *key, const char *name, const char *value);

/* Read the number after `word` from a cgroup file with lines "word number". If `word` is "", read the number that begins the
 * file. Returns -1 if there is no number, or if `dir` is NULL. */
int64_t cgroups_file_number(const char *dir, const char *key, const char *name, const char *word);

/* Returns the number after `word` in the text of a cgroup's file, or -1. */
int64_t cgroups_file_find(const char *text, const char *word);

/* Keep a file of the cgroup open, with `flags` as for open(). If `name` is NULL, keep open the parent folder of the cgroup, for
 * cgroups_file_rename. Only files of one cgroup are open at a time. `dir` and `name` must stay at their addresses. */
void cgroups_file_keep_open(const char *dir, const char *key, const char *name, int flags);

/* Close the files that are kept open, if they are of this cgroup. */
void cgroups_file_close(const char *key);

/* Rename a cgroup below `dir`. Files of the cgroup that are kept open stay open. */
bool cgroups_file_rename(const char *dir, const char *from, const char *key);
/* The cgroup has been renamed under all controllers: the files that are kept open now belong to `key`. */
void cgroups_file_renamed(const char *from, const char *key);

#endif
