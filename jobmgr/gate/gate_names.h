/* gate_names.h - the names under which clients may call this jobmgrd. For gate*.c only. */
#ifndef ROTA_GATE_NAMES_H
#define ROTA_GATE_NAMES_H

#include "lib/conf.h"

/* Returns the names for HTTPS, a NULL-terminated list: those of gate.names, or else the host's name with and without its
 * domain, and the host in gate.url. */
char **gate_names_new_remote(const struct conf *conf);

/* Returns the name for the Unix socket, as a list. */
char **gate_names_new_local(const struct conf *conf);

void gate_names_free(char **names);

#endif
