/* handles.c - whether a process handles a signal by a function of its own.
 *
 * Called by: cgroups_signal.c and descendants.c, for a signal that asks and is not to end a process. */
#include "procmgr/keeper/handles.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/proc_file.h"

/* Is `text`, the content of /proc/PID/status, of a program that serves a step: rota-terminal or ssh-agent? */
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
	char text[8192];
	proc_file_read(pid, "status", text, sizeof text);
	const char *caught = proc_file_field(text, "SigCgt:");
	uint64_t mask = caught ? strtoull(caught, NULL, 16) : 0;
	return signal >= 1 && signal <= 64 && !serves_step(text) && (mask >> (signal - 1) & 1);
}
