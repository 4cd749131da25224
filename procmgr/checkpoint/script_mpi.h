/* script_mpi.h - does the script of a step run MPI programs? */
#ifndef ROTA_SCRIPT_MPI_H
#define ROTA_SCRIPT_MPI_H

#include <stdbool.h>

/* Returns the first program that starts MPI programs (mpirun, srun) among the words of the script at this path, comments left
 * out. NULL: the script has none, or cannot be read. */
const char *script_mpi_find(const char *path);

#endif
