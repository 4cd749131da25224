/* cores.c - claims cores for a step that no cpuset pins.
 *
 * Called by: the keeper, before and after the tasks of an attempt.
 * Invariants:
 * - A claim is a bound abstract socket, rota-core-N. The kernel gives a name to one process of the machine, and frees the name
 *   when the keeper dies.
 * - A step gets as many cores as it has CPUs, or none. A step with none runs on any core.
 * - Affinity is no protection: a program may change its own affinity, and any account can bind these names. Either only undoes
 *   the pinning. */
#include "procmgr/keeper/cores.h"

#include <stdio.h>
#include <stdlib.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/err.h"

/* Claim a core. Returns the bound socket, or -1 if another process has claimed the core. */
static int claim_core(int core)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "rota-core-%d", core);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0)
		return fd;
	close(fd);
	return -1;
}

bool cores_take(struct cores *c, int count)
{
	cpu_set_t usable;
	*c = (struct cores){.count = 0};
	if (count <= 0 || sched_getaffinity(0, sizeof usable, &usable) < 0 || count > CPU_COUNT(&usable))
		return false;
	c->claims = xcalloc((size_t)count, sizeof *c->claims);
	for (int core = 0; core < CPU_SETSIZE && c->count < count; core++) {
		int fd = CPU_ISSET(core, &usable) ? claim_core(core) : -1;
		if (fd < 0)
			continue;
		CPU_SET(core, &c->set);
		c->claims[c->count++] = fd;
	}
	if (c->count == count)
		return true;
	cores_release(c);
	return false;
}

void cores_release(struct cores *c)
{
	for (int i = 0; i < c->count; i++)
		close(c->claims[i]);
	free(c->claims);
	*c = (struct cores){.count = 0};
}
