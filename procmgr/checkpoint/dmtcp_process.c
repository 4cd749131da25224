/* dmtcp_process.c - programs and processes that DMTCP cannot save.
 *
 * Called by: driver_dmtcp.c. */
#include "procmgr/checkpoint/dmtcp_process.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A script may name a script as its interpreter; the kernel follows four. */
enum { HEAD_SIZE = 256, SCRIPTS_MOST = 4, PROCESSES_MOST = 65536 };

/* Does an ELF file name a dynamic linker? */
static bool elf_is_dynamic(int fd, const Elf64_Ehdr *head)
{
	for (int i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr part;
		off_t at = (off_t)head->e_phoff + (off_t)i * head->e_phentsize;
		if (pread(fd, &part, sizeof part, at) == (ssize_t)sizeof part && part.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* Cut a script's first line down to the path of its interpreter. Returns the path. */
static char *script_interpreter(char *head)
{
	char *path = head + 2 + strspn(head + 2, " \t");
	path[strcspn(path, " \t\n")] = '\0';
	return path;
}

static bool file_can_save(const char *path, int depth, struct err *e)
{
	union {
		char text[HEAD_SIZE];
		Elf64_Ehdr elf;
	} head = {.text = {0}};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 && fstat(fd, &st) == 0 ? pread(fd, head.text, sizeof head.text - 1, 0) : -1;
	bool good;
	if (size < 0)
		good = err_sys(e, "could not read program \"%s\"", path);
	else if (st.st_mode & (S_ISUID | S_ISGID))
		good = err_set(e, "program \"%s\" has the setuid or setgid bit", path);
	else if (strncmp(head.text, "#!", 2) == 0)
		good = depth >= SCRIPTS_MOST || file_can_save(script_interpreter(head.text), depth + 1, e);
	else
		good = memcmp(head.text, ELFMAG, SELFMAG) != 0 || elf_is_dynamic(fd, &head.elf) ||
		       err_set(e, "program \"%s\" is statically linked", path);
	if (fd >= 0)
		close(fd);
	return good;
}

bool dmtcp_process_can_save(const char *path, struct err *e)
{
	return file_can_save(path, 0, e);
}

/* A process with its parent. */
struct process {
	pid_t pid, parent;
};

/* Read the parent of a process. Returns 0 if it is gone, or has ended and only waits for its parent. */
static pid_t process_parent(pid_t pid)
{
	char path[64], text[512], state = 'Z';
	int parent = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	char *after = strrchr(text, ')'); /* the name may have spaces and brackets */
	return after && sscanf(after + 1, " %c %d", &state, &parent) == 2 && state != 'Z' && state != 'X' ? parent : 0;
}

/* Returns all processes that have not ended, and sets *count. malloc'ed. */
static struct process *processes_read(int *count)
{
	struct process *all = xcalloc(PROCESSES_MOST, sizeof *all);
	const struct dirent *entry;
	DIR *folder = opendir("/proc");
	*count = 0;
	while (folder && *count < PROCESSES_MOST && (entry = readdir(folder)) != NULL) {
		pid_t pid = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0,
		      parent = pid ? process_parent(pid) : 0;
		if (parent > 0)
			all[(*count)++] = (struct process){pid, parent};
	}
	if (folder)
		closedir(folder);
	return all;
}

static bool process_is_below(const struct process *all, int count, pid_t pid, pid_t root)
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

/* dmtcp_command lists processes as NAME[VIRTUAL PID:PID]@HOST. */
static bool process_is_listed(const char *list, pid_t pid)
{
	char entry[32];
	snprintf(entry, sizeof entry, ":%d]@", (int)pid);
	return strstr(list, entry) != NULL;
}

/* Read the path of a process's program. Returns false if the process has ended, or belongs to somebody else. */
static bool process_program(pid_t pid, char path[PATH_MAX])
{
	char link[64];
	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	ssize_t size = readlink(link, path, PATH_MAX - 1);
	path[size > 0 ? size : 0] = '\0';
	return size > 0;
}

/* Would DMTCP save this process? A static program keeps the connection of the process that became it, so the list has it too. What was restored has
 * the program that restored it. */
static bool process_would_be_saved(pid_t pid, const char *list, struct err *e)
{
	char path[PATH_MAX];
	struct err why;
	if (!process_program(pid, path))
		return true; /* it has ended meanwhile */
	const char *slash = strrchr(path, '/');
	if ((!slash || strcmp(slash + 1, "mtcp_restart") != 0) && access(path, R_OK) == 0 && !dmtcp_process_can_save(path, &why))
		return err_set(e, "process %d would not be saved: %.400s", (int)pid, why.message);
	return process_is_listed(list, pid) ||
	       err_set(e, "process %d would not be saved: \"%.300s\" does not run under DMTCP", (int)pid, path);
}

/* Is it a program of Rota, beside this one, or the coordinator? These are in the step, and new ones are started when it is restored. */
static bool process_is_helper(pid_t pid, const char *coordinator)
{
	char link[64], path[PATH_MAX], self[PATH_MAX];
	struct stat its, known;
	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	if (stat(link, &its) == 0 && stat(coordinator, &known) == 0 && its.st_dev == known.st_dev && its.st_ino == known.st_ino)
		return true;
	ssize_t size = readlink(link, path, sizeof path - 1), own = readlink("/proc/self/exe", self, sizeof self - 1);
	path[size > 0 ? size : 0] = '\0';
	self[own > 0 ? own : 0] = '\0';
	const char *slash = strrchr(self, '/');
	size_t folder = slash ? (size_t)(slash - self) + 1 : 0;
	return folder && strncmp(path, self, folder) == 0 && strncmp(path + folder, "rota-", strlen("rota-")) == 0;
}

/* Returns the step manager, a child of the keeper, or 0. */
static pid_t process_manager(const struct process *all, int count, pid_t keeper)
{
	static const char name[] = "/rota-stepmgr";
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];
		bool is_read = all[i].parent == keeper && process_program(all[i].pid, path);
		const char *slash = is_read ? strrchr(path, '/') : NULL;
		if (slash && strcmp(slash, name) == 0)
			return all[i].pid;
	}
	return 0;
}

/* Would DMTCP save this process? The step manager starts what `rota run` and `rota shell` ask for, without DMTCP. */
static bool process_can_be_saved(const struct process *all, int count, pid_t pid, pid_t manager, const char *list, struct err *e)
{
	if (!manager || process_is_listed(list, pid) || !process_is_below(all, count, pid, manager))
		return process_would_be_saved(pid, list, e);
	char path[PATH_MAX];
	return !process_program(pid, path) || /* it has ended meanwhile */
	       err_set(e,
		       "process %d would not be saved: \"%.300s\" is of a shell or sub-step (rota shell, rota run), also one "
		       "from outside; end it",
		       (int)pid, path);
}

bool dmtcp_process_all_listed(pid_t root, const char *list, const char *coordinator, struct err *e)
{
	int count;
	bool good = true;
	struct process *all = processes_read(&count);
	pid_t keeper = process_parent(root); /* the parent of processes whose parents have ended */
	pid_t manager = keeper > 1 ? process_manager(all, count, keeper) : 0;
	for (int i = 0; i < count && good; i++)
		if (process_is_below(all, count, all[i].pid, root) ||
		    (keeper > 1 && all[i].pid != keeper && process_is_below(all, count, all[i].pid, keeper) &&
		     !process_is_helper(all[i].pid, coordinator)))
			good = process_can_be_saved(all, count, all[i].pid, manager, list, e);
	free(all);
	return good;
}
