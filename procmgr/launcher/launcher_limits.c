/* launcher_limits.c - writes how limits of memory, CPUs and processes are enforced to the file `limits` in the node's folder.
 *
 * Called by: launcher.c at its start; `rota up` reads the file.
 * Invariants: the file names the methods that keepers of this launcher use, in one line of name=value, and is replaced whole. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/log.h"
#include "procmgr/launcher/launcher_parts.h"

static const char *memory_method(const struct launcher *l)
{
	if (l->dry)
		return "none";
	if (cgroups_limit_memory(l->cgroups))
		return "cgroup";
	return access("/proc/self/smaps_rollup", R_OK) == 0 ? "sampling" : "none";
}

static const char *cpus_method(const struct launcher *l)
{
	if (l->dry)
		return "none";
	return cgroups_limit_cpus(l->cgroups) ? "cgroup" : "affinity";
}

void launcher_limits_write(const struct launcher *l)
{
	char text[96];
	int size = snprintf(text, sizeof text, "memory=%s cpus=%s processes=%s\n", memory_method(l), cpus_method(l),
			    !l->dry && cgroups_limit_processes(l->cgroups) ? "cgroup" : "none");
	int fd = open("limits.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	bool written = fd >= 0 && write(fd, text, (size_t)size) == size && fchmod(fd, 0644) == 0;
	if (fd >= 0)
		close(fd);
	if (!written || rename("limits.new", "limits") < 0)
		log_warning("could not write \"%s/limits\": %m", l->dir);
}
