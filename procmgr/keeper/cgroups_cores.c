/* cgroups_cores.c - finds the cores to which no step is pinned.
 *
 * Called by: cgroups.c before a launch.
 * Invariants:
 * - The cpusets themselves are the table of pinned cores. The table therefore holds for all launchers of the machine, also across
 *   their restarts, and a core is free when its cpuset is removed.
 * - A core is given to one step. If too few cores are free, a step gets none and runs on any core. */
#include "procmgr/keeper/cgroups_cores.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/err.h"

enum { DEPTH = 3, LIST_SIZE = 4096 };

void cgroups_cores_add(const char *list, cpu_set_t *cores)
{
	while (isdigit((unsigned char)*list)) {
		char *end;
		long from = strtol(list, &end, 10), to = from;
		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		for (long core = from; core <= to && core < CPU_SETSIZE; core++)
			CPU_SET((int)core, cores);
		list = *end == ',' ? end + 1 : end;
	}
}

static void add_file(const char *group, cpu_set_t *cores)
{
	char *path = xasprintf("%s/cpuset.cpus", group), list[LIST_SIZE];
	FILE *file = fopen(path, "re");
	if (file && fgets(list, sizeof list, file))
		cgroups_cores_add(list, cores);
	if (file)
		fclose(file);
	free(path);
}

/* Add to `cores` the cores to which the cgroups `depth` levels below the cgroup `path` are pinned. */
static void add_pinned(const char *path, int depth, cpu_set_t *cores)
{
	if (depth == 0) {
		add_file(path, cores);
		return;
	}
	DIR *dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (entry->d_type != DT_DIR || *entry->d_name == '.')
			continue;
		char *child = xasprintf("%s/%s", path, entry->d_name);
		add_pinned(child, depth - 1, cores);
		free(child);
	}
	if (dir)
		closedir(dir);
}

int cgroups_cores_count(void)
{
	cpu_set_t usable;
	return sched_getaffinity(0, sizeof usable, &usable) < 0 ? 0 : CPU_COUNT(&usable);
}

char *cgroups_cores_pick(const char *top, int count)
{
	cpu_set_t usable, pinned;
	CPU_ZERO(&pinned);
	if (sched_getaffinity(0, sizeof usable, &usable) < 0)
		return NULL;
	add_pinned(top, DEPTH, &pinned);
	char *list = xstrdup("");
	for (int core = 0; core < CPU_SETSIZE && count > 0; core++) {
		if (!CPU_ISSET(core, &usable) || CPU_ISSET(core, &pinned))
			continue;
		char *longer = xasprintf("%s%s%d", list, *list ? "," : "", core);
		free(list);
		list = longer;
		count--;
	}
	if (count > 0) {
		free(list);
		list = NULL;
	}
	return list;
}
