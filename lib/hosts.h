/* hosts.h - a list of node names in short: "n[1-10000],m3". Names whose numbers count up by one share an item; what the number is has
 * no zeros before it. */
#ifndef ROTA_HOSTS_H
#define ROTA_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

enum { HOSTS_NAME_SIZE = 256 };

/* malloc'ed. Few of a kind are written out, so that a short list is names with commas between. */
char *hosts_pack(const char *const *names, size_t count);

/* How many names; -1 where it is not such a list. */
int hosts_count(const char *list);

/* The name at `index`; false where there is none. */
bool hosts_at(const char *list, int index, char name[HOSTS_NAME_SIZE]);

/* Where the name stands; -1 where it is not among them. */
int hosts_find(const char *list, const char *name);

/* All names, with commas between; malloc'ed. */
char *hosts_expand(const char *list);

/* Names with commas between, as Slurm writes them: "n[1-3,5],m[07-09]"; malloc'ed. */
char *hosts_fold(const char *names);

#endif
