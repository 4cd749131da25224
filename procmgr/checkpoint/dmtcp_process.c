/* dmtcp_process.c - finds processes that DMTCP cannot save.
 *
 * Called by: driver_dmtcp.c, dmtcp_tasks.c. */
#include "procmgr/checkpoint/dmtcp_process.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "procmgr/checkpoint/process_tree.h"
#include "procmgr/checkpoint/program_file.h"

/* Does a line of the list end its process with "]@HOST"? A comma or the address of the host follows. */
static bool line_is_of_host(const char *line, size_t length, const char *host)
{
	size_t size = strlen(host);
	const char *at = line, *end = line + length;
	while ((at = memmem(at, (size_t)(end - at), "]@", 2))) {
		at += 2;
		if ((size_t)(end - at) >= size && memcmp(at, host, size) == 0 && (at + size == end || strchr(",(", at[size])))
			return true;
	}
	return false;
}

void dmtcp_process_keep_host(char *list, const char *host)
{
	char *kept = list;
	for (char *line = list, *next; *line; line = next) {
		next = strchrnul(line, '\n');
		size_t length = (size_t)(next - line);
		next += *next == '\n';
		if (!line_is_of_host(line, length, host))
			continue;
		memmove(kept, line, (size_t)(next - line));
		kept += next - line;
	}
	*kept = '\0';
}

/* dmtcp_command lists processes as NAME[VIRTUAL PID:PID]@HOST, one a line. */
bool dmtcp_process_is_listed(const char *list, pid_t pid)
{
	char entry[32];
	snprintf(entry, sizeof entry, ":%d]@", (int)pid);
	return strstr(list, entry) != NULL;
}

/* Does the process run a program of Rota, or is it the coordinator? These are in the step but need not be saved: a restored step
 * gets new ones. */
static bool process_is_helper(pid_t pid, const char *coordinator)
{
	char link[64];
	struct stat its, known;
	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	return (stat(link, &its) == 0 && stat(coordinator, &known) == 0 && its.st_dev == known.st_dev &&
		its.st_ino == known.st_ino) ||
	       process_tree_is_own(pid);
}

/* Would DMTCP save this process, by its program and the coordinator's list? Being in the list is not enough: a static program,
 * which DMTCP cannot save, keeps the connection of the process that executed it. The program of a restored process is
 * mtcp_restart. */
static bool process_would_be_saved(pid_t pid, const char *list, struct err *e)
{
	char path[PATH_MAX];
	struct err why;
	if (!process_tree_program(pid, path))
		return true; /* the process has ended meanwhile */
	const char *slash = strrchr(path, '/');
	if ((!slash || strcmp(slash + 1, "mtcp_restart") != 0) && access(path, R_OK) == 0 && !program_file_is_dynamic(path, &why))
		return err_set(e, "process %d would not be saved: %.400s", (int)pid, why.message);
	return dmtcp_process_is_listed(list, pid) ||
	       err_set(e, "process %d would not be saved: \"%.300s\" does not run under DMTCP", (int)pid, path);
}

/* Returns the pid of the step manager, which is a child of the keeper, or 0. */
static pid_t process_manager(const struct process_item *all, int count, pid_t keeper)
{
	static const char name[] = "/rota-stepmgr";
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];
		bool is_read = all[i].parent == keeper && process_tree_program(all[i].pid, path);
		const char *slash = is_read ? strrchr(path, '/') : NULL;
		if (slash && strcmp(slash, name) == 0)
			return all[i].pid;
	}
	return 0;
}

/* Would DMTCP save this process of the step? Not if the step manager has started it, for `rota run` or `rota shell`: it does so
 * without DMTCP. */
static bool process_can_be_saved(const struct process_item *all, int count, pid_t pid, pid_t manager, const char *list,
				 struct err *e)
{
	if (!process_tree_is_shown(pid, e))
		return false;
	if (!manager || dmtcp_process_is_listed(list, pid) || !process_tree_has(all, count, pid, manager))
		return process_would_be_saved(pid, list, e);
	char path[PATH_MAX];
	return !process_tree_program(pid, path) || /* the process has ended meanwhile */
	       err_set(e,
		       "process %d would not be saved: \"%.300s\" is of a shell or sub-step (rota shell, rota run), also one "
		       "from outside; end it",
		       (int)pid, path);
}

bool dmtcp_process_all_listed(pid_t root, const char *list, const char *coordinator, struct err *e)
{
	int count;
	bool good = true;
	struct process_item *all = process_tree_read(&count);
	pid_t keeper = process_tree_parent(root); /* the parent of processes whose parents have ended */
	pid_t manager = keeper > 1 ? process_manager(all, count, keeper) : 0;
	for (int i = 0; i < count && good; i++)
		if (process_tree_has(all, count, all[i].pid, root) ||
		    (keeper > 1 && all[i].pid != keeper && process_tree_has(all, count, all[i].pid, keeper) &&
		     !process_is_helper(all[i].pid, coordinator)))
			good = process_can_be_saved(all, count, all[i].pid, manager, list, e);
	free(all);
	return good;
}
