/* hosts.h - short lists of node names, such as "n[1-10000],m3". Consecutive names whose numbers count up by one share an item.
 * Such a number has no leading zeros. */
#ifndef ROTA_HOSTS_H
#define ROTA_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

enum { HOSTS_NAME_SIZE = 256 };

/* Write node names as a malloc'ed short list. Fewer than eight consecutive names are written out with commas between them. */
char *hosts_pack(const char *const *names, size_t count);

/* Returns the number of names in a short list, or -1 if `list` is malformed. */
int hosts_count(const char *list);

/* Copy the name at position `index` of a short list. Returns false if the list has no such position. */
bool hosts_at(const char *list, int index, char name[HOSTS_NAME_SIZE]);

/* Returns the position of `name` in a short list, or -1 if `name` is not in the list. */
int hosts_find(const char *list, const char *name);

/* Returns all names of a short list, separated by commas; malloc'ed. */
char *hosts_expand(const char *list);

/* Returns comma-separated node names in the form of Slurm, such as "n[1-3,5],m[07-09]"; malloc'ed. */
char *hosts_fold(const char *names);

#endif
