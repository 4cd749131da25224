/* figures.c - reads the resource usage of a step's processes.
 *
 * Called by: agent_measure.c and agent_sample.c.
 * Invariants: a figure that cannot be read is unknown (-1), not 0. */
#include "procmgr/agent/figures.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/proc_file.h"

void figures_set_unknown(struct figures *f)
{
	*f = (struct figures){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
}

void figures_set_zero(struct figures *f)
{
	*f = (struct figures){0};
}

char *figures_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0, capacity = 4096;
	char *text = fd < 0 ? NULL : xmalloc(capacity);
	ssize_t n;
	while (text && (n = read(fd, text + size, capacity - size - 1)) != 0) {
		if (n < 0) { /* the process or cgroup has just vanished */
			free(text);
			text = NULL;
			break;
		}
		size += (size_t)n;
		if (capacity - size < 2048)
			text = xrealloc(text, capacity *= 2);
	}
	if (text)
		text[size] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static char *read_file(const char *mount, const char *group, const char *name)
{
	char *path = mount ? xasprintf("%s/%s/%s", mount, group, name) : NULL, *text = path ? figures_file(path) : NULL;
	free(path);
	return text;
}

static int64_t read_number(const char *mount, const char *group, const char *name, const char *word)
{
	char *text = read_file(mount, group, name);
	int64_t number = text ? proc_file_number(text, word) : -1;
	free(text);
	return number;
}

static int64_t count_lines(const char *mount, const char *group, const char *name)
{
	char *text = read_file(mount, group, name);
	int64_t lines = text ? 0 : -1;
	for (const char *c = text; c && *c; c++)
		lines += *c == '\n';
	free(text);
	return lines;
}

/* Add two figures. If one is unknown (-1), so is the sum. */
static int64_t add_known(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? -1 : a + b;
}

static int64_t kilobytes(int64_t bytes)
{
	return bytes < 0 ? -1 : bytes / 1024;
}

/* Sum the read and written bytes of all devices. The cgroup file io.stat has one line for each device. */
static void read_io(const char *text, struct figures *f)
{
	static const char read_word[] = " rbytes=", write_word[] = " wbytes=";
	f->read_bytes = f->write_bytes = 0;
	for (const char *at = text; (at = strstr(at, read_word)); at++)
		f->read_bytes += strtoll(at + sizeof read_word - 1, NULL, 10);
	for (const char *at = text; (at = strstr(at, write_word)); at++)
		f->write_bytes += strtoll(at + sizeof write_word - 1, NULL, 10);
}

static void read_memory_v1(const struct figures_mounts *m, const char *group, struct figures *f)
{
	char *stat = read_file(m->memory, group, "memory.stat");
	if (!stat)
		return;
	f->rss_kb = kilobytes(add_known(proc_file_number(stat, "total_rss "), proc_file_number(stat, "total_mapped_file ")));
	f->swap_kb = kilobytes(proc_file_number(stat, "total_swap "));
	f->minor_faults = proc_file_number(stat, "total_pgfault ");
	f->major_faults = proc_file_number(stat, "total_pgmajfault ");
	free(stat);
}

static void read_memory_v2(const struct figures_mounts *m, const char *group, struct figures *f)
{
	char *stat = read_file(m->unified, group, "memory.stat");
	if (!stat)
		return;
	f->rss_kb = kilobytes(add_known(proc_file_number(stat, "anon "), proc_file_number(stat, "file_mapped ")));
	f->swap_kb = kilobytes(read_number(m->unified, group, "memory.swap.current", ""));
	f->minor_faults = proc_file_number(stat, "pgfault ");
	f->major_faults = proc_file_number(stat, "pgmajfault ");
	free(stat);
}

/* Subtract major faults from minor faults: both cgroup versions count major faults in the total too. */
static void separate_faults(struct figures *f)
{
	if (f->minor_faults >= 0 && f->major_faults >= 0)
		f->minor_faults -= f->major_faults;
}

bool figures_of_group(const struct figures_mounts *m, const char *group, struct figures *f)
{
	figures_set_unknown(f);
	f->processes = count_lines(m->freezer, group, "cgroup.procs");
	f->threads = count_lines(m->freezer, group, "tasks");
	if (f->processes < 0) {
		f->processes = count_lines(m->unified, group, "cgroup.procs");
		f->threads = count_lines(m->unified, group, "cgroup.threads");
	}
	if (f->processes < 0)
		return false;
	int64_t nanoseconds = read_number(m->cpuacct, group, "cpuacct.usage", "");
	f->cpu_usec = nanoseconds < 0 ? read_number(m->unified, group, "cpu.stat", "usage_usec ") : nanoseconds / 1000;
	read_memory_v1(m, group, f);
	if (f->rss_kb < 0)
		read_memory_v2(m, group, f);
	separate_faults(f);
	char *io = read_file(m->unified, group, "io.stat");
	if (io)
		read_io(io, f);
	free(io);
	return true;
}

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (strncmp(at, word, length) == 0 && (at[length] == ',' || !at[length]))
			return true;
	return false;
}

static void set_mount(char **mount, const char *path)
{
	if (!*mount)
		*mount = xstrdup(path);
}

void figures_mounts_read(struct figures_mounts *m, const char *path)
{
	char *text = figures_file(path), *rest = text, *line;
	*m = (struct figures_mounts){NULL, NULL, NULL, NULL};
	while (rest && (line = strsep(&rest, "\n"))) {
		char *dir, *type, *options;
		strsep(&line, " ");
		dir = strsep(&line, " ");
		type = strsep(&line, " ");
		options = strsep(&line, " ");
		if (!options)
			continue;
		if (strcmp(type, "cgroup2") == 0)
			set_mount(&m->unified, dir);
		if (strcmp(type, "cgroup") != 0)
			continue;
		if (has_word(options, "memory"))
			set_mount(&m->memory, dir);
		if (has_word(options, "cpuacct"))
			set_mount(&m->cpuacct, dir);
		if (has_word(options, "freezer"))
			set_mount(&m->freezer, dir);
	}
	free(text);
}

void figures_mounts_free(struct figures_mounts *m)
{
	free(m->memory);
	free(m->cpuacct);
	free(m->freezer);
	free(m->unified);
	*m = (struct figures_mounts){NULL, NULL, NULL, NULL};
}

/* Parse /proc/PID/stat. */
static bool parse_stat(const char *text, struct figures_process *p)
{
	long long utime, stime, cutime, cstime, minflt, majflt, cminflt, cmajflt, threads, started, rss;
	int parent, session;
	char state;
	const char *fields = proc_file_stat(text);
	if (!fields ||
	    sscanf(fields, " %c %d %*d %d %*d %*d %*u %lld %lld %lld %lld %lld %lld %lld %lld %*d %*d %lld %*d %lld %*u %lld",
		   &state, &parent, &session, &minflt, &cminflt, &majflt, &cmajflt, &utime, &stime, &cutime, &cstime, &threads,
		   &started, &rss) != 14 ||
	    strchr("ZX", state))
		return false;
	p->pid = (pid_t)atol(text);
	p->parent = parent;
	p->session = session;
	p->started = started;
	p->cpu_usec = (utime + stime + cutime + cstime) * 1000000 / sysconf(_SC_CLK_TCK);
	p->minor_faults = minflt + cminflt;
	p->major_faults = majflt + cmajflt;
	p->threads = threads;
	p->rss_kb = rss * (sysconf(_SC_PAGESIZE) / 1024);
	p->root = p->task = 0;
	return true;
}

static int compare_pids(const void *a, const void *b)
{
	pid_t x = ((const struct figures_process *)a)->pid, y = ((const struct figures_process *)b)->pid;
	return (x > y) - (x < y);
}

void figures_processes_read(struct figures_processes *all, const char *proc)
{
	DIR *dir = opendir(proc);
	*all = (struct figures_processes){NULL, 0, 0};
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		struct figures_process p;
		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		char *stat = read_file(proc, entry->d_name, "stat");
		bool parsed = stat && parse_stat(stat, &p);
		free(stat);
		if (!parsed)
			continue;
		if (all->count == all->capacity) {
			all->capacity = all->capacity ? 2 * all->capacity : 256;
			all->list = xrealloc(all->list, (unsigned long)all->capacity * sizeof *all->list);
		}
		all->list[all->count++] = p;
	}
	if (dir)
		closedir(dir);
	if (all->count > 0)
		qsort(all->list, (size_t)all->count, sizeof *all->list, compare_pids);
}

void figures_processes_free(struct figures_processes *all)
{
	free(all->list);
	*all = (struct figures_processes){NULL, 0, 0};
}

static struct figures_process *find_process(struct figures_processes *all, pid_t pid)
{
	struct figures_process wanted = {.pid = pid};
	return all->count > 0 ? bsearch(&wanted, all->list, (size_t)all->count, sizeof *all->list, compare_pids) : NULL;
}

static bool is_keeper(const pid_t *keepers, int count, pid_t pid)
{
	for (int i = 0; i < count; i++)
		if (keepers[i] == pid)
			return true;
	return false;
}

void figures_find_keepers(struct figures_processes *all, const pid_t *keepers, int count)
{
	enum { DEEPEST = 1000 }; /* processes change while /proc is read, so parents may seem to form a circle */
	for (int i = 0; i < all->count; i++) {
		struct figures_process *p = &all->list[i], *up = p;
		for (int depth = 0; up && depth < DEEPEST && !p->root; depth++) {
			if (is_keeper(keepers, count, up->parent)) {
				p->root = up->parent;
				p->task = up->pid;
			}
			up = find_process(all, up->parent);
		}
	}
}

void figures_add(struct figures *f, const struct figures_process *p, const char *proc)
{
	char pid[32];
	snprintf(pid, sizeof pid, "%ld", (long)p->pid);
	char *io = read_file(proc, pid, "io"), *status = read_file(proc, pid, "status");
	f->cpu_usec = add_known(f->cpu_usec, p->cpu_usec);
	f->rss_kb = add_known(f->rss_kb, p->rss_kb);
	f->swap_kb = add_known(f->swap_kb, status ? proc_file_number(status, "VmSwap:") : -1);
	f->minor_faults = add_known(f->minor_faults, p->minor_faults);
	f->major_faults = add_known(f->major_faults, p->major_faults);
	f->rchar = add_known(f->rchar, io ? proc_file_number(io, "rchar:") : -1);
	f->wchar = add_known(f->wchar, io ? proc_file_number(io, "wchar:") : -1);
	f->read_bytes = add_known(f->read_bytes, io ? proc_file_number(io, "read_bytes:") : -1);
	f->write_bytes = add_known(f->write_bytes, io ? proc_file_number(io, "write_bytes:") : -1);
	f->processes++;
	f->threads += p->threads;
	free(status);
	free(io);
}

pid_t figures_lock_owner(const char *locks, const char *path)
{
	struct stat st;
	unsigned major_number, minor_number;
	unsigned long long inode;
	long pid;
	if (stat(path, &st) < 0)
		return 0;
	for (const char *line = locks; line && *line; line = (line = strchr(line, '\n')) ? line + 1 : NULL) {
		if (sscanf(line, "%*d: %*s %*s %*s %ld %x:%x:%llu", &pid, &major_number, &minor_number, &inode) == 4 && pid > 0 &&
		    inode == st.st_ino && major_number == major(st.st_dev) && minor_number == minor(st.st_dev))
			return (pid_t)pid;
	}
	return 0;
}
