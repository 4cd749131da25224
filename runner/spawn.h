/* spawn.h - starts a program in a process group of its own, which the supervisor knows. */
#ifndef ROTA_RUNNER_SPAWN_H
#define ROTA_RUNNER_SPAWN_H

#include <sys/types.h>

struct spawn {
	const char *path;
	char **argv, **environment;
	int input, output, errors; /* descriptors for the standard files of the program; input -1: /dev/null */
	int result;		   /* descriptor that becomes descriptor 3 of the program; 0: none */
};

/* Start the program. It has no other descriptors and the folder /, and is killed when this process ends. Returns its pid, which is
 * also the number of its process group; 0 with errno if it could not be executed. */
pid_t spawn_start(const struct spawn *spawn);

/* Reap a program that spawn_start() started and that has ended, and kill the rest of its process group. Returns its status, as wait()
 * does. */
int spawn_reap(pid_t pid);

#endif
