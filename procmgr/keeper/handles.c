/* handles.c - whether a process handles a signal by a function of its own.
 *
 * Called by: cgroups_signal.c and descendants.c, for a signal that asks and is not to end a process. */
#include "procmgr/keeper/handles.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Does a status of a process begin with the name of a program that serves a step? */
static bool serves_step(const char *text)
{
	static const char *const names[] = {"Name:\trota-terminal\n", "Name:\tssh-agent\n"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(text, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

bool handles_signal(pid_t pid, int signal)
{
	char path[64], text[8192];
	snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	const char *caught = strstr(text, "\nSigCgt:\t");
	uint64_t mask = caught ? strtoull(caught + 9, NULL, 16) : 0;
	return signal >= 1 && signal <= 64 && !serves_step(text) && (mask >> (signal - 1) & 1);
}
