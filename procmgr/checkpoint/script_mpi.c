/* script_mpi.c - looks in the script of a step for launchers of MPI programs, such as mpirun and srun.
 *
 * Called by: driver.c.
 * Invariants:
 * - Words in quotes and arguments count too: another program may start the launcher (`time mpirun`), or a line of Python. */
#include "procmgr/checkpoint/script_mpi.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const launchers[] = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "srun"};
static const char word_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-/~";

/* Returns the name of the launcher that a word of this length names, perhaps by a path; NULL: none. */
static const char *launcher_named(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		size_t size = strlen(launchers[i]);
		if (length >= size && strncmp(word + length - size, launchers[i], size) == 0 &&
		    (length == size || word[length - size - 1] == '/'))
			return launchers[i];
	}
	return NULL;
}

/* Returns the name of the first launcher in a line of the script, before the line's comment; NULL: none. */
static const char *launcher_in_line(const char *line)
{
	const char *found = NULL, *at = line;
	while (!found && *at && !(*at == '#' && (at == line || strchr(" \t;", at[-1])))) {
		size_t length = strspn(at, word_bytes);
		found = launcher_named(at, length);
		at += length > 0 ? length : 1;
	}
	return found;
}

const char *script_mpi_find(const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	const char *found = NULL;
	while (file && !found && getline(&line, &size, file) >= 0)
		found = launcher_in_line(line);
	free(line);
	if (file)
		fclose(file);
	return found;
}
