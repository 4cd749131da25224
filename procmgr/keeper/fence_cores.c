/* fence_cores.c - which cores are free to pin a step to.
 *
 * Called by fence.c before a launch. The groups themselves are the table of what is taken: it is true for all launchers of the
 * machine, survives their restarts, and forgets a step when its group goes. What always holds: a core is given once, or, where
 * there are not enough, none is given and the step runs anywhere. */
#include "procmgr/keeper/fence_cores.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/err.h"

enum { DEPTH = 3, LIST_SIZE = 4096 };

void fence_cores_mark(const char *list, cpu_set_t *cores)
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

static void mark_file(const char *group, cpu_set_t *cores)
{
	char *path = xasprintf("%s/cpuset.cpus", group), list[LIST_SIZE];
	FILE *file = fopen(path, "re");
	if (file && fgets(list, sizeof list, file))
		fence_cores_mark(list, cores);
	if (file)
		fclose(file);
	free(path);
}

/* Mark what the groups `depth` levels below `path` are pinned to. */
static void mark_below(const char *path, int depth, cpu_set_t *cores)
{
	if (depth == 0) {
		mark_file(path, cores);
		return;
	}
	DIR *dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (entry->d_type != DT_DIR || *entry->d_name == '.')
			continue;
		char *below = xasprintf("%s/%s", path, entry->d_name);
		mark_below(below, depth - 1, cores);
		free(below);
	}
	if (dir)
		closedir(dir);
}

int fence_cores_count(void)
{
	cpu_set_t usable;
	return sched_getaffinity(0, sizeof usable, &usable) < 0 ? 0 : CPU_COUNT(&usable);
}

char *fence_cores_pick(const char *top, int count)
{
	cpu_set_t usable, pinned;
	CPU_ZERO(&pinned);
	if (sched_getaffinity(0, sizeof usable, &usable) < 0)
		return NULL;
	mark_below(top, DEPTH, &pinned);
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
