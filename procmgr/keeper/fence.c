/* fence.c - control groups around a step's processes.
 *
 * The launcher calls fence_new, fence_pick and fence_tidy; a keeper makes, reads and removes its own group; a task's process
 * enters it before it becomes the user. libcgroup finds the controllers and makes the node's group in whichever version each
 * is mounted; the attempts' groups are made and single files read and written here, since the library reads /proc/mounts for each. What always holds: a group is ours alone (named by attempt) and holds only
 * processes of that attempt; keepers stand outside. */
#include "procmgr/keeper/fence.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clock.h"
#include "procmgr/keeper/fence_cores.h"
#include "procmgr/keeper/fence_file.h"
#include "procmgr/record/record.h"

enum part { MEMORY, CPUSET, FREEZER, CPUACCT, PARTS };

static const char *const controllers[PARTS] = {"memory", "cpuset", "freezer", "cpuacct"};

struct fence {
	char *path;	     /* below each mount: rota/<instance>-<hash>/<node> */
	char *dir[PARTS];    /* mount and path; NULL = there is no such controller */
	bool two[PARTS];     /* mounted as version 2 */
	const char *two_dir; /* the node's group in version 2, whose core files freeze and kill; NULL = there is none */
	int64_t full_until;  /* until when nobody asks again for `full_count` cores or more, which were not free */
	int full_count;
};

enum { FREEZE_TRIES = 200, PAUSE_USEC = 1000, FULL_USEC = 250000, LEFT_MOST = 2 << 20 };

/* Version 2 hands a controller down only where the group above says so; libcgroup does that below the mount, not at it. */
static bool is_handed_down(const char *mount, const char *controller)
{
	char value[FENCE_VALUE_SIZE], wish[32];
	snprintf(wish, sizeof wish, "+%s", controller);
	fence_file_write(mount, "", "cgroup.subtree_control", wish);
	if (!fence_file_read(mount, "", "cgroup.subtree_control", value))
		return false;
	value[strcspn(value, "\n")] = '\0';
	for (char *rest = value, *word; (word = strsep(&rest, " "));)
		if (strcmp(word, controller) == 0)
			return true;
	return false;
}

/* Where each controller is mounted, and as which version. */
static void find_parts(struct fence *f)
{
	for (int p = 0; p < PARTS; p++) {
		char *mount = NULL, value[FENCE_VALUE_SIZE];
		if (cgroup_get_subsys_mount_point(controllers[p], &mount) != 0)
			continue;
		f->two[p] = fence_file_read(mount, "", "cgroup.controllers", value);
		if (!f->two[p] || is_handed_down(mount, controllers[p]))
			f->dir[p] = xasprintf("%s/%s", mount, f->path);
		if (f->two[p] && f->dir[p])
			f->two_dir = f->dir[p];
		free(mount);
	}
}

static void inherit(const char *above, const char *below, const char *name)
{
	char value[FENCE_VALUE_SIZE], now[FENCE_VALUE_SIZE];
	if (fence_file_read(above, "", name, value) && fence_file_read(below, "", name, now) && now[strspn(now, "\n")] == '\0')
		fence_file_write(below, "", name, value);
}

/* Version 1 wants the cores and memory nodes of a group set before anything can be below it: copy them from above, from the
 * mount down to the node's group. */
static void inherit_cpuset(const struct fence *f)
{
	const char *dir = f->dir[CPUSET];
	size_t above = dir ? strlen(dir) - strlen(f->path) - 1 : 0;
	while (dir && !f->two[CPUSET] && dir[above]) {
		size_t below = above + 1 + strcspn(dir + above + 1, "/");
		char *parent = xstrndup(dir, above), *child = xstrndup(dir, below);
		inherit(parent, child, "cpuset.cpus");
		inherit(parent, child, "cpuset.mems");
		free(parent);
		free(child);
		above = below;
	}
}

static bool make_node(const struct fence *f, struct err *e)
{
	struct cgroup *group = cgroup_new_cgroup(f->path);
	for (int p = 0; p < PARTS; p++)
		if (!group || (f->dir[p] && !cgroup_add_controller(group, controllers[p])))
			die("out of memory");
	int failed = ECGOTHER;
	for (int try = 0; failed && try < 3; try++) /* a launcher that ends may remove the folders above */
		failed = cgroup_create_cgroup(group, 1);
	cgroup_free(&group);
	if (failed)
		return err_set(e, "could not make control group \"%s\": %s", f->path, cgroup_strerror(failed));
	inherit_cpuset(f);
	for (int p = 0; p < PARTS; p++) { /* in version 2 the node's group has to hand down what its attempts' groups need */
		char wish[32];
		snprintf(wish, sizeof wish, "+%s", controllers[p]);
		if (f->dir[p] && f->two[p])
			fence_file_write(f->dir[p], "", "cgroup.subtree_control", wish);
	}
	return true;
}

struct fence *fence_new(const char *instance, const char *state, const char *node, struct err *e)
{
	int failed = cgroup_init();
	if (failed) {
		err_set(e, "there are no control groups: %s", cgroup_strerror(failed));
		return NULL;
	}
	struct fence *f = xcalloc(1, sizeof *f);
	f->path = record_group(instance, state, node);
	find_parts(f);
	bool usable = f->dir[FREEZER] || f->two_dir;
	if (usable ? !make_node(f, e) : !err_set(e, "there is no freezer")) {
		fence_free(f);
		return NULL;
	}
	return f;
}

void fence_free(struct fence *f)
{
	if (!f)
		return;
	for (int p = 0; p < PARTS; p++)
		free(f->dir[p]);
	free(f->path);
	free(f);
}

bool fence_limits_memory(const struct fence *f)
{
	return f && f->dir[MEMORY];
}

bool fence_limits_cpus(const struct fence *f)
{
	return f && f->dir[CPUSET];
}

bool fence_tidy(const struct fence *f, bool (*in_use)(const char *key))
{
	bool left = false;
	for (int p = 0; p < PARTS; p++) {
		DIR *dir = f->dir[p] ? opendir(f->dir[p]) : NULL;
		for (struct dirent *entry; dir && (entry = readdir(dir));)
			if (isdigit((unsigned char)*entry->d_name) && !in_use(entry->d_name))
				left = unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) < 0 || left;
		if (dir)
			closedir(dir);
	}
	return left;
}

void fence_leave(const struct fence *f)
{
	for (int p = 0; p < PARTS; p++)
		for (int depth = 0; f->dir[p] && depth < 3; depth++) {
			char *path = xstrdup(f->dir[p]);
			for (int i = 0; i < depth; i++)
				*strrchr(path, '/') = '\0';
			rmdir(path);
			free(path);
		}
}

char *fence_pick(struct fence *f, int count, int others)
{
	if (!f->dir[CPUSET] || count <= 0 || count > fence_cores_count() - others ||
	    (count >= f->full_count && clock_boot_us() < f->full_until))
		return NULL;
	char *top = xstrndup(f->dir[CPUSET], strlen(f->dir[CPUSET]) - strlen(f->path) + strlen("rota"));
	char *cores = fence_cores_pick(top, count);
	free(top);
	f->full_count = count;
	f->full_until = cores ? 0 : clock_boot_us() + FULL_USEC;
	return cores;
}

/* The limit with the files that this kernel has for it; swap counts as memory. */
static bool set_memory(const struct fence *f, const char *key, int64_t mem_mb)
{
	const char *swap = f->two[MEMORY] ? "memory.swap.max" : "memory.memsw.limit_in_bytes";
	char value[FENCE_VALUE_SIZE], bytes[32];
	snprintf(bytes, sizeof bytes, "%lld", (long long)mem_mb * 1024 * 1024);
	bool limited = fence_file_write(f->dir[MEMORY], key, f->two[MEMORY] ? "memory.max" : "memory.limit_in_bytes", bytes);
	if (limited && fence_file_read(f->dir[MEMORY], key, swap, value))
		limited = fence_file_write(f->dir[MEMORY], key, swap, f->two[MEMORY] ? "0" : bytes);
	return limited;
}

static bool set_cores(const struct fence *f, const char *key, const char *cores)
{
	char mems[FENCE_VALUE_SIZE];
	bool set = true;
	if (!f->two[CPUSET] && fence_file_read(f->dir[CPUSET], "", "cpuset.mems", mems)) {
		mems[strcspn(mems, "\n")] = '\0';
		set = fence_file_write(f->dir[CPUSET], key, "cpuset.mems", mems);
	}
	return set && fence_file_write(f->dir[CPUSET], key, "cpuset.cpus", cores);
}

/* The attempt's group under one controller; several controllers of version 2 have one group. */
static bool make_part(const struct fence *f, const char *key, enum part p)
{
	char path[FENCE_PATH_SIZE];
	snprintf(path, sizeof path, "%s/%s", f->dir[p] ? f->dir[p] : "", key);
	return !f->dir[p] || mkdir(path, 0755) == 0 || errno == EEXIST;
}

static bool remove_part(const struct fence *f, const char *key, enum part p)
{
	char path[FENCE_PATH_SIZE];
	snprintf(path, sizeof path, "%s/%s", f->dir[p] ? f->dir[p] : "", key);
	return !f->dir[p] || rmdir(path) == 0 || errno == ENOENT;
}

bool fence_make(const struct fence *f, const char *key, int64_t mem_mb, struct err *e)
{
	bool made = make_part(f, key, MEMORY) && make_part(f, key, FREEZER) && make_part(f, key, CPUACCT) &&
		    (mem_mb <= 0 || !f->dir[MEMORY] || set_memory(f, key, mem_mb));
	return made || err_sys(e, "could not make control group \"%s/%s\"", f->path, key);
}

bool fence_pin(const struct fence *f, const char *key, const char *cores, struct err *e)
{
	bool pinned = !f->dir[CPUSET] || (make_part(f, key, CPUSET) && set_cores(f, key, cores));
	return pinned || err_sys(e, "could not pin control group \"%s/%s\" to cores %s", f->path, key, cores);
}

/* Version 1 lets a group be renamed. */
static bool moves(const struct fence *f)
{
	bool all = f->dir[FREEZER] != NULL;
	for (int p = 0; p < PARTS; p++)
		all = all && (p == CPUSET || !f->dir[p] || !f->two[p]);
	return all;
}

/* What a short step reads and writes of its group. */
static const struct {
	enum part part;
	const char *name;
	int flags;
} common[] = {
	{MEMORY, "tasks", O_WRONLY},
	{FREEZER, "tasks", O_WRONLY},
	{CPUACCT, "tasks", O_WRONLY},
	{MEMORY, "memory.usage_in_bytes", O_RDONLY},
	{MEMORY, "memory.max_usage_in_bytes", O_RDWR},
	{MEMORY, "memory.oom_control", O_RDONLY},
	{CPUACCT, "cpuacct.usage", O_RDWR},
	{MEMORY, NULL, O_PATH},
	{FREEZER, NULL, O_PATH},
	{CPUACCT, NULL, O_PATH},
};

void fence_hold(const struct fence *f, const char *key)
{
	for (size_t i = 0; moves(f) && i < sizeof common / sizeof *common; i++)
		if (f->dir[common[i].part])
			fence_file_hold(f->dir[common[i].part], key, common[i].name, common[i].flags);
}

bool fence_keep(const struct fence *f, const char *key, bool pinned)
{
	return moves(f) && (!pinned || remove_part(f, key, CPUSET));
}

static bool move_part(const struct fence *f, const char *from, const char *key, enum part p)
{
	return !f->dir[p] || fence_file_rename(f->dir[p], from, key);
}

bool fence_move(const struct fence *f, const char *from, const char *key)
{
	const char *memory = f->dir[MEMORY], *time = f->dir[CPUACCT];
	bool moved = move_part(f, from, key, MEMORY) && move_part(f, from, key, FREEZER) && move_part(f, from, key, CPUACCT);
	if (moved)
		fence_file_renamed(from, key);
	moved = moved &&
		(!memory || (fence_file_number(memory, key, "memory.usage_in_bytes", "") <= LEFT_MOST &&
			     fence_file_write(memory, key, "memory.max_usage_in_bytes", "0"))) &&
		(!time || fence_file_write(time, key, "cpuacct.usage", "0"));
	if (!moved) {
		fence_remove(f, from, 0);
		fence_remove(f, key, 0);
	}
	return moved;
}

/* In version 1 a thread moves itself without stopping all that fork; nothing else of its process is there to be moved. */
bool fence_enter(const struct fence *f, const char *key, bool pinned, struct err *e)
{
	for (int p = 0; p < PARTS; p++) {
		bool entered = !f->dir[p] || (p == CPUSET && !pinned) ||
			       fence_file_write(f->dir[p], key, f->two[p] ? "cgroup.procs" : "tasks", "0");
		if (!entered)
			return err_sys(e, "could not enter control group \"%s/%s\"", f->path, key);
	}
	return true;
}

static bool frozen_is(const struct fence *f, const char *key, bool frozen)
{
	char value[FENCE_VALUE_SIZE];
	if (f->dir[FREEZER])
		return fence_file_read(f->dir[FREEZER], key, "freezer.state", value) &&
		       strncmp(value, frozen ? "FROZEN" : "THAWED", 6) == 0;
	return fence_file_number(f->two_dir, key, "cgroup.events", "frozen") == frozen;
}

bool fence_freeze(const struct fence *f, const char *key, bool frozen)
{
	bool asked = f->dir[FREEZER] ? fence_file_write(f->dir[FREEZER], key, "freezer.state", frozen ? "FROZEN" : "THAWED")
				     : fence_file_write(f->two_dir, key, "cgroup.freeze", frozen ? "1" : "0");
	for (int try = 0; asked && try < FREEZE_TRIES && !frozen_is(f, key, frozen); try++)
		usleep(500);
	return asked;
}

/* A signal to each process that the group lists now; true where there was one. */
static bool signal_listed(const char *dir, const char *key, int signal, pid_t but)
{
	char path[FENCE_PATH_SIZE];
	snprintf(path, sizeof path, "%s/%s/cgroup.procs", dir, key);
	FILE *file = fopen(path, "re");
	bool any = false;
	int pid;
	while (file && fscanf(file, "%d", &pid) == 1) {
		any = true;
		if (pid > 0 && pid != but)
			kill(pid, signal);
	}
	if (file)
		fclose(file);
	return any;
}

static const char *core_dir(const struct fence *f)
{
	return f->dir[FREEZER] ? f->dir[FREEZER] : f->two_dir;
}

void fence_signal(const struct fence *f, const char *key, int signal, pid_t but)
{
	signal_listed(core_dir(f), key, signal, but);
}

bool fence_is_empty(const struct fence *f, const char *key)
{
	char procs[FENCE_VALUE_SIZE];
	return !fence_file_read(core_dir(f), key, "cgroup.procs", procs) || !*procs;
}

bool fence_kill(const struct fence *f, const char *key)
{
	const char *dir = core_dir(f);
	if (fence_is_empty(f, key))
		return false;
	if (dir == f->two_dir && fence_file_write(dir, key, "cgroup.kill", "1"))
		return true;
	fence_freeze(f, key, true); /* so that nothing can fork meanwhile */
	bool any = signal_listed(dir, key, SIGKILL, 0);
	fence_freeze(f, key, false);
	return any;
}

void fence_read(const struct fence *f, const char *key, struct fence_figures *figures)
{
	bool two = f->two[MEMORY];
	int64_t peak = fence_file_number(f->dir[MEMORY], key, two ? "memory.peak" : "memory.max_usage_in_bytes", "");
	int64_t kills = fence_file_number(f->dir[MEMORY], key, two ? "memory.events" : "memory.oom_control", "oom_kill");
	int64_t cpu = f->dir[CPUACCT] ? fence_file_number(f->dir[CPUACCT], key, "cpuacct.usage", "")
				      : fence_file_number(f->two_dir, key, "cpu.stat", "usage_usec");
	if (f->dir[MEMORY]) {
		figures->peak_mb = peak < 0 ? -1 : (peak + 1024 * 1024 - 1) / (1024 * 1024);
		figures->oom_kills = kills < 0 ? 0 : kills;
	}
	figures->cpu_usec = cpu < 0 || !f->dir[CPUACCT] ? cpu : cpu / 1000;
}

bool fence_remove(const struct fence *f, const char *key, int64_t patience_usec)
{
	bool removed = true;
	fence_file_drop(key);
	for (int p = 0; p < PARTS; p++) {
		bool gone = remove_part(f, key, p);
		for (; !gone && errno == EBUSY && patience_usec > 0; patience_usec -= PAUSE_USEC) {
			usleep(PAUSE_USEC);
			gone = remove_part(f, key, p);
		}
		removed = removed && gone;
	}
	return removed;
}
