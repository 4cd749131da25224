/* script_mpi.h - does the script of a step run MPI programs? */
#ifndef ROTA_SCRIPT_MPI_H
#define ROTA_SCRIPT_MPI_H

#include <stdbool.h>

/* Has the script of this path a program that starts MPI programs as a word, outside of comments? Returns its name, NULL if it has none. What
 * cannot be read has none. */
const char *script_mpi_find(const char *path);

#endif
