/* hostlist.h - names in ranges, as node lists are written: n[1-4,7],login1. */
#ifndef ROTA_BIN_HOSTLIST_H
#define ROTA_BIN_HOSTLIST_H

#include "lib/err.h"

/* The names that `text` stands for, NULL-terminated; NULL with an error where it is none. Zeros at the head of a number are kept. */
char **hostlist_expand(const char *text, struct err *e);
void hostlist_free(char **names);

#endif
