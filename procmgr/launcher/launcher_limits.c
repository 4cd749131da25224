/* launcher_limits.c - tells the node's administrator which limits hold how, in the file `limits` of the node's folder.
 *
 * Called by: the launcher at its start; `rota up` reads the file.
 * Invariants: the file says what keepers of this launcher do, one line of name=word, and is replaced whole. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/log.h"
#include "procmgr/launcher/launcher_parts.h"

static const char *memory_word(const struct launcher *l)
{
	if (l->dry)
		return "none";
	if (fence_limits_memory(l->fence))
		return "cgroup";
	return access("/proc/self/smaps_rollup", R_OK) == 0 ? "sampling" : "none";
}

static const char *cpus_word(const struct launcher *l)
{
	if (l->dry)
		return "none";
	return fence_limits_cpus(l->fence) ? "cgroup" : "affinity";
}

void launcher_limits_write(const struct launcher *l)
{
	char text[64];
	int size = snprintf(text, sizeof text, "memory=%s cpus=%s\n", memory_word(l), cpus_word(l));
	int fd = open("limits.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	bool written = fd >= 0 && write(fd, text, (size_t)size) == size && fchmod(fd, 0644) == 0;
	if (fd >= 0)
		close(fd);
	if (!written || rename("limits.new", "limits") < 0)
		log_warning("could not write \"%s/limits\": %m", l->dir);
}
