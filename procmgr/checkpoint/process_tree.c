/* process_tree.c - reads processes, their parents and their programs from /proc.
 *
 * Called by: dmtcp_process.c, criu_files.c, driver_criu.c, driver_cuda.c. */
#include "procmgr/checkpoint/process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/proc_file.h"

enum { PROCESSES_MOST = 65536 };

pid_t process_tree_parent(pid_t pid)
{
	char text[512], state = 'Z';
	int parent = 0;
	proc_file_read(pid, "stat", text, sizeof text);
	const char *fields = proc_file_stat(text);
	return fields && sscanf(fields, " %c %d", &state, &parent) == 2 && state != 'Z' && state != 'X' ? parent : 0;
}

struct process_item *process_tree_read(int *count)
{
	struct process_item *all = xcalloc(PROCESSES_MOST, sizeof *all);
	const struct dirent *entry;
	DIR *folder = opendir("/proc");
	*count = 0;
	while (folder && *count < PROCESSES_MOST && (entry = readdir(folder)) != NULL) {
		pid_t pid = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0,
		      parent = pid ? process_tree_parent(pid) : 0;
		if (parent > 0)
			all[(*count)++] = (struct process_item){pid, parent};
	}
	if (folder)
		closedir(folder);
	return all;
}

bool process_tree_has(const struct process_item *all, int count, pid_t pid, pid_t root)
{
	for (int depth = 0; pid > 1 && depth < count; depth++) {
		if (pid == root)
			return true;
		pid_t parent = 0;
		for (int i = 0; i < count && parent == 0; i++)
			parent = all[i].pid == pid ? all[i].parent : 0;
		pid = parent;
	}
	return false;
}

bool process_tree_program(pid_t pid, char path[PATH_MAX])
{
	char link[64];
	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	ssize_t size = readlink(link, path, PATH_MAX - 1);
	path[size > 0 ? size : 0] = '\0';
	return size > 0;
}

bool process_tree_is_shown(pid_t pid, struct err *e)
{
	char path[PATH_MAX], name[32];
	bool is_hidden = !process_tree_program(pid, path) && (errno == EACCES || errno == EPERM);
	if (!is_hidden || !proc_file_read(pid, "comm", name, sizeof name) || strncmp(name, "rota-", strlen("rota-")) == 0)
		return true;
	return err_set(e,
		       "process %d would not be saved: it has rights that the owner of the step does not have (setuid bit or "
		       "capabilities of its program)",
		       (int)pid);
}

bool process_tree_is_own(pid_t pid)
{
	char path[PATH_MAX], self[PATH_MAX];
	ssize_t own = readlink("/proc/self/exe", self, sizeof self - 1);
	self[own > 0 ? own : 0] = '\0';
	const char *slash = strrchr(self, '/');
	size_t folder = slash ? (size_t)(slash - self) + 1 : 0;
	return folder && process_tree_program(pid, path) && strncmp(path, self, folder) == 0 &&
	       strncmp(path + folder, "rota-", strlen("rota-")) == 0;
}
