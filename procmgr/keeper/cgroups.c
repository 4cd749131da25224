/* cgroups.c - the cgroups of one node and of its attempts.
 *
 * Called by: the launcher for the node's cgroup, for cores and to clean up; a keeper for the cgroup of its attempt; a task's
 * process to enter it.
 * Invariants:
 * - The cgroup of an attempt has processes of that attempt only. Keepers and site hooks stay outside.
 * - libcgroup finds the controllers and makes the node's cgroup. All other functions read and write files directly, since the
 *   library reads /proc/mounts for each access. */
#include "procmgr/keeper/cgroups.h"

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
#include "procmgr/keeper/cgroups_cores.h"
#include "procmgr/keeper/cgroups_devices.h"
#include "procmgr/keeper/cgroups_file.h"
#include "procmgr/keeper/cgroups_signal.h"
#include "procmgr/record/record.h"

enum controller { MEMORY, CPUSET, FREEZER, CPUACCT, PIDS, DEVICES, IO, CONTROLLERS };

/* "io" is in version 2 only: samples read its figures (procmgr/agent/figures.c). */
static const char *const controller_names[CONTROLLERS] = {"memory", "cpuset", "freezer", "cpuacct", "pids", "devices", "io"};

struct cgroups {
	char *path; /* path of the node's cgroup below each mount: rota/<instance>-<hash>/<node> */
	/* path of the node's cgroup, with the mount, for each cgroup controller; NULL: the node cannot use this controller */
	char *dir[CONTROLLERS];
	bool is_v2[CONTROLLERS]; /* the cgroup controller is mounted as version 2 */
	const char *v2_dir; /* the node's cgroup in version 2, which has cgroup.freeze and cgroup.kill; NULL if there is none */
	struct cgroups_options options;
	/* Time until which cgroups_pick_cores does not search for `no_cores_count` cores or more, because the last search found
	 * fewer. */
	int64_t no_cores_until;
	int no_cores_count;
};

enum { FREEZE_TRIES = 200, PAUSE_USEC = 1000, NO_CORES_USEC = 250000, CHARGED_MOST = 2 << 20 };

/* Let child cgroups use a controller of version 2, by naming it in the parent's subtree_control. libcgroup does this below the
 * mount, but not at the mount. Returns false if that fails. */
static bool is_handed_down(const char *mount, const char *controller)
{
	char value[CGROUPS_VALUE_SIZE], wish[32];
	snprintf(wish, sizeof wish, "+%s", controller);
	cgroups_file_write(mount, "", "cgroup.subtree_control", wish);
	if (!cgroups_file_read(mount, "", "cgroup.subtree_control", value))
		return false;
	value[strcspn(value, "\n")] = '\0';
	for (char *rest = value, *word; (word = strsep(&rest, " "));)
		if (strcmp(word, controller) == 0)
			return true;
	return false;
}

/* Returns true if the options need this controller. A controller that they do not need is left alone: a container may have it
 * mounted but not be able to use it. */
static bool is_wanted(const struct cgroups *f, enum controller p)
{
	return p == PIDS ? f->options.processes > 0 : p == DEVICES ? f->options.devices : true;
}

/* Find the mount point and the version of each cgroup controller. */
static void find_controllers(struct cgroups *f)
{
	for (int p = 0; p < CONTROLLERS; p++) {
		char *mount = NULL, value[CGROUPS_VALUE_SIZE];
		if (!is_wanted(f, p) || cgroup_get_subsys_mount_point(controller_names[p], &mount) != 0)
			continue;
		f->is_v2[p] = cgroups_file_read(mount, "", "cgroup.controllers", value);
		if (!f->is_v2[p] || is_handed_down(mount, controller_names[p]))
			f->dir[p] = xasprintf("%s/%s", mount, f->path);
		if (f->is_v2[p] && f->dir[p])
			f->v2_dir = f->dir[p];
		free(mount);
	}
}

static void copy_value(const char *parent, const char *child, const char *name)
{
	char value[CGROUPS_VALUE_SIZE], now[CGROUPS_VALUE_SIZE];
	if (cgroups_file_read(parent, "", name, value) && cgroups_file_read(child, "", name, now) &&
	    now[strspn(now, "\n")] == '\0')
		cgroups_file_write(child, "", name, value);
}

/* In version 1, a cgroup needs cores and memory nodes before it can have children. Copy both from parent to child, from the mount
 * down to the node's cgroup. */
static void copy_cpuset(const struct cgroups *f)
{
	const char *dir = f->dir[CPUSET];
	size_t parent_length = dir ? strlen(dir) - strlen(f->path) - 1 : 0;
	while (dir && !f->is_v2[CPUSET] && dir[parent_length]) {
		size_t child_length = parent_length + 1 + strcspn(dir + parent_length + 1, "/");
		char *parent = xstrndup(dir, parent_length), *child = xstrndup(dir, child_length);
		copy_value(parent, child, "cpuset.cpus");
		copy_value(parent, child, "cpuset.mems");
		free(parent);
		free(child);
		parent_length = child_length;
	}
}

static bool make_node(const struct cgroups *f, struct err *e)
{
	struct cgroup *group = cgroup_new_cgroup(f->path);
	for (int p = 0; p < CONTROLLERS; p++)
		if (!group || (f->dir[p] && !cgroup_add_controller(group, controller_names[p])))
			die("out of memory");
	int failed = ECGOTHER;
	for (int try = 0; failed && try < 3; try++) /* another launcher that ends may remove the parent cgroups meanwhile */
		failed = cgroup_create_cgroup(group, 1);
	cgroup_free(&group);
	if (failed)
		return err_set(e, "could not make cgroup \"%s\": %s", f->path, cgroup_strerror(failed));
	copy_cpuset(f);
	for (int p = 0; p < CONTROLLERS; p++) { /* version 2: let the attempts' cgroups use the controller */
		char wish[32];
		snprintf(wish, sizeof wish, "+%s", controller_names[p]);
		if (f->dir[p] && f->is_v2[p])
			cgroups_file_write(f->dir[p], "", "cgroup.subtree_control", wish);
	}
	return true;
}

struct cgroups *cgroups_new(const char *instance, const char *state, const char *node, const struct cgroups_options *options,
			    struct err *e)
{
	int failed = cgroup_init();
	if (failed) {
		err_set(e, "this machine has no cgroups: %s", cgroup_strerror(failed));
		return NULL;
	}
	struct cgroups *f = xcalloc(1, sizeof *f);
	f->path = record_group(instance, state, node);
	f->options = *options;
	find_controllers(f);
	bool usable = f->dir[FREEZER] || f->v2_dir;
	if (usable ? !make_node(f, e) : !err_set(e, "the cgroups of this machine have no freezer")) {
		cgroups_free(f);
		return NULL;
	}
	return f;
}

void cgroups_free(struct cgroups *f)
{
	if (!f)
		return;
	for (int p = 0; p < CONTROLLERS; p++)
		free(f->dir[p]);
	free(f->path);
	free(f);
}

bool cgroups_limit_memory(const struct cgroups *f)
{
	return f && f->dir[MEMORY];
}

bool cgroups_limit_cpus(const struct cgroups *f)
{
	return f && f->dir[CPUSET];
}

bool cgroups_limit_processes(const struct cgroups *f)
{
	return f && f->dir[PIDS];
}

bool cgroups_remove_unused(const struct cgroups *f, bool (*in_use)(const char *key))
{
	bool left = false;
	for (int p = 0; p < CONTROLLERS; p++) {
		DIR *dir = f->dir[p] ? opendir(f->dir[p]) : NULL;
		for (struct dirent *entry; dir && (entry = readdir(dir));)
			if (isdigit((unsigned char)*entry->d_name) && !in_use(entry->d_name))
				left = unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) < 0 || left;
		if (dir)
			closedir(dir);
	}
	return left;
}

void cgroups_remove_node(const struct cgroups *f)
{
	for (int p = 0; p < CONTROLLERS; p++)
		for (int depth = 0; f->dir[p] && depth < 3; depth++) {
			char *path = xstrdup(f->dir[p]);
			for (int i = 0; i < depth; i++)
				*strrchr(path, '/') = '\0';
			rmdir(path);
			free(path);
		}
}

char *cgroups_pick_cores(struct cgroups *f, int count, int others)
{
	if (!f->dir[CPUSET] || count <= 0 || count > cgroups_cores_count() - others ||
	    (count >= f->no_cores_count && clock_boot_us() < f->no_cores_until))
		return NULL;
	char *top = xstrndup(f->dir[CPUSET], strlen(f->dir[CPUSET]) - strlen(f->path) + strlen("rota"));
	char *cores = cgroups_cores_pick(top, count);
	free(top);
	f->no_cores_count = count;
	f->no_cores_until = cores ? 0 : clock_boot_us() + NO_CORES_USEC;
	return cores;
}

/* Set the memory limit of an attempt with the files that this kernel has. Swap counts as memory. */
static bool set_memory_limit(const struct cgroups *f, const char *key, int64_t mem_mb)
{
	const char *swap = f->is_v2[MEMORY] ? "memory.swap.max" : "memory.memsw.limit_in_bytes";
	char value[CGROUPS_VALUE_SIZE], bytes[32];
	snprintf(bytes, sizeof bytes, "%lld", (long long)mem_mb * 1024 * 1024);
	bool limited = cgroups_file_write(f->dir[MEMORY], key, f->is_v2[MEMORY] ? "memory.max" : "memory.limit_in_bytes", bytes);
	if (limited && cgroups_file_read(f->dir[MEMORY], key, swap, value))
		limited = cgroups_file_write(f->dir[MEMORY], key, swap, f->is_v2[MEMORY] ? "0" : bytes);
	return limited;
}

static bool set_process_limit(const struct cgroups *f, const char *key)
{
	char number[16];
	snprintf(number, sizeof number, "%d", f->options.processes);
	return cgroups_file_write(f->dir[PIDS], key, "pids.max", number);
}

static bool set_cores(const struct cgroups *f, const char *key, const char *cores)
{
	char mems[CGROUPS_VALUE_SIZE];
	bool set = true;
	if (!f->is_v2[CPUSET] && cgroups_file_read(f->dir[CPUSET], "", "cpuset.mems", mems)) {
		mems[strcspn(mems, "\n")] = '\0';
		set = cgroups_file_write(f->dir[CPUSET], key, "cpuset.mems", mems);
	}
	return set && cgroups_file_write(f->dir[CPUSET], key, "cpuset.cpus", cores);
}

/* Make the attempt's cgroup under one controller. Controllers of version 2 share one cgroup. */
static bool make_group(const struct cgroups *f, const char *key, enum controller p)
{
	char path[CGROUPS_PATH_SIZE];
	snprintf(path, sizeof path, "%s/%s", f->dir[p] ? f->dir[p] : "", key);
	return !f->dir[p] || mkdir(path, 0755) == 0 || errno == EEXIST;
}

static bool remove_group(const struct cgroups *f, const char *key, enum controller p)
{
	char path[CGROUPS_PATH_SIZE];
	snprintf(path, sizeof path, "%s/%s", f->dir[p] ? f->dir[p] : "", key);
	return !f->dir[p] || rmdir(path) == 0 || errno == ENOENT;
}

bool cgroups_make(const struct cgroups *f, const char *key, int64_t mem_mb, struct err *e)
{
	bool made = make_group(f, key, MEMORY) && make_group(f, key, FREEZER) && make_group(f, key, CPUACCT) &&
		    make_group(f, key, PIDS) && (!cgroups_limit_processes(f) || set_process_limit(f, key)) &&
		    (mem_mb <= 0 || !f->dir[MEMORY] || set_memory_limit(f, key, mem_mb));
	return made || err_sys(e, "could not make cgroup \"%s/%s\"", f->path, key);
}

bool cgroups_pin(const struct cgroups *f, const char *key, const char *cores, struct err *e)
{
	bool pinned = !f->dir[CPUSET] || (make_group(f, key, CPUSET) && set_cores(f, key, cores));
	return pinned || err_sys(e, "could not pin cgroup \"%s/%s\" to cores %s", f->path, key, cores);
}

bool cgroups_restrict_devices(const struct cgroups *f, const char *key, const struct device *list, int count, struct err *e)
{
	const char *dir = f->dir[DEVICES] ? f->dir[DEVICES] : f->v2_dir;
	if (!dir)
		return err_set(e, "the cgroups of this machine cannot restrict devices");
	return (make_group(f, key, DEVICES) && cgroups_devices_restrict(dir, key, dir == f->v2_dir, list, count)) ||
	       err_sys(e, "could not restrict the devices of cgroup \"%s/%s\"", f->path, key);
}

bool cgroups_change_devices(const struct cgroups *f, const char *key, const struct device *list, int count, struct err *e)
{
	const char *dir = f->dir[DEVICES] ? f->dir[DEVICES] : f->v2_dir;
	if (!dir)
		return err_set(e, "the cgroups of this machine cannot restrict devices");
	return cgroups_devices_change(dir, key, dir == f->v2_dir, list, count) ||
	       err_sys(e, "could not change the devices of cgroup \"%s/%s\"", f->path, key);
}

/* Can the cgroups of attempts be renamed? Only those of version 1 can. */
static bool can_rename(const struct cgroups *f)
{
	bool all = f->dir[FREEZER] != NULL;
	for (int p = 0; p < CONTROLLERS; p++)
		all = all && (p == CPUSET || p == DEVICES || !f->dir[p] || !f->is_v2[p]);
	return all;
}

/* Files of the attempt's cgroup that a short step reads and writes. */
static const struct {
	enum controller controller;
	const char *name;
	int flags;
} kept_open[] = {
	{MEMORY, "tasks", O_WRONLY},
	{FREEZER, "tasks", O_WRONLY},
	{CPUACCT, "tasks", O_WRONLY},
	{PIDS, "tasks", O_WRONLY},
	{MEMORY, "memory.usage_in_bytes", O_RDONLY},
	{MEMORY, "memory.max_usage_in_bytes", O_RDWR},
	{MEMORY, "memory.oom_control", O_RDONLY},
	{PIDS, "pids.events", O_RDONLY},
	{CPUACCT, "cpuacct.usage", O_RDWR},
	{MEMORY, NULL, O_PATH},
	{FREEZER, NULL, O_PATH},
	{CPUACCT, NULL, O_PATH},
	{PIDS, NULL, O_PATH},
};

void cgroups_keep_open(const struct cgroups *f, const char *key)
{
	for (size_t i = 0; can_rename(f) && i < sizeof kept_open / sizeof *kept_open; i++)
		if (f->dir[kept_open[i].controller])
			cgroups_file_keep_open(f->dir[kept_open[i].controller], key, kept_open[i].name, kept_open[i].flags);
}

bool cgroups_release(const struct cgroups *f, const char *key, bool pinned)
{
	return can_rename(f) && (!pinned || remove_group(f, key, CPUSET)) && remove_group(f, key, DEVICES);
}

static bool rename_group(const struct cgroups *f, const char *from, const char *key, enum controller p)
{
	return !f->dir[p] || cgroups_file_rename(f->dir[p], from, key);
}

bool cgroups_reuse(const struct cgroups *f, const char *from, const char *key)
{
	const char *memory = f->dir[MEMORY], *time = f->dir[CPUACCT];
	bool moved = rename_group(f, from, key, MEMORY) && rename_group(f, from, key, FREEZER) &&
		     rename_group(f, from, key, CPUACCT) && rename_group(f, from, key, PIDS);
	if (moved)
		cgroups_file_renamed(from, key);
	moved = moved &&
		(!memory || (cgroups_file_number(memory, key, "memory.usage_in_bytes", "") <= CHARGED_MOST &&
			     cgroups_file_write(memory, key, "memory.max_usage_in_bytes", "0"))) &&
		(!time || cgroups_file_write(time, key, "cpuacct.usage", "0"));
	if (!moved) {
		cgroups_remove(f, from, 0);
		cgroups_remove(f, key, 0);
	}
	return moved;
}

/* In version 1, the file "tasks" moves only the calling thread, the only one of this process. Unlike cgroup.procs, it delays no
 * forks of other processes. */
bool cgroups_enter(const struct cgroups *f, const char *key, bool pinned, struct err *e)
{
	for (int p = 0; p < CONTROLLERS; p++) {
		bool entered = !f->dir[p] || (p == CPUSET && !pinned) ||
			       cgroups_file_write(f->dir[p], key, f->is_v2[p] ? "cgroup.procs" : "tasks", "0");
		if (!entered)
			return err_sys(e, "could not enter cgroup \"%s/%s\"", f->path, key);
	}
	return true;
}

static bool is_frozen(const struct cgroups *f, const char *key, bool frozen)
{
	char value[CGROUPS_VALUE_SIZE];
	if (f->dir[FREEZER])
		return cgroups_file_read(f->dir[FREEZER], key, "freezer.state", value) &&
		       strncmp(value, frozen ? "FROZEN" : "THAWED", 6) == 0;
	return cgroups_file_number(f->v2_dir, key, "cgroup.events", "frozen") == frozen;
}

bool cgroups_freeze(const struct cgroups *f, const char *key, bool frozen)
{
	bool asked = f->dir[FREEZER] ? cgroups_file_write(f->dir[FREEZER], key, "freezer.state", frozen ? "FROZEN" : "THAWED")
				     : cgroups_file_write(f->v2_dir, key, "cgroup.freeze", frozen ? "1" : "0");
	for (int try = 0; asked && try < FREEZE_TRIES && !is_frozen(f, key, frozen); try++)
		usleep(500);
	return asked;
}

static const char *main_dir(const struct cgroups *f)
{
	return f->dir[FREEZER] ? f->dir[FREEZER] : f->v2_dir;
}

void cgroups_signal(const struct cgroups *f, const char *key, int signal, pid_t but)
{
	cgroups_signal_listed(main_dir(f), key, signal, but, false);
}

int cgroups_signal_handlers(const struct cgroups *f, const char *key, int signal, pid_t but)
{
	return cgroups_signal_listed(main_dir(f), key, signal, but, true);
}

bool cgroups_have_thread(const struct cgroups *f, const char *key, bool (*is_it)(pid_t thread, const void *arg), const void *arg)
{
	char path[CGROUPS_PATH_SIZE];
	int thread;
	snprintf(path, sizeof path, "%s/%s/%s", main_dir(f), key, f->dir[FREEZER] ? "tasks" : "cgroup.threads");
	FILE *file = fopen(path, "re");
	bool found = !file && errno != ENOENT;
	while (file && !found && fscanf(file, "%d", &thread) == 1)
		found = is_it(thread, arg);
	if (file)
		fclose(file);
	return found;
}

bool cgroups_are_empty(const struct cgroups *f, const char *key)
{
	char procs[CGROUPS_VALUE_SIZE];
	return !cgroups_file_read(main_dir(f), key, "cgroup.procs", procs) || !*procs;
}

bool cgroups_kill(const struct cgroups *f, const char *key)
{
	const char *dir = main_dir(f);
	if (cgroups_are_empty(f, key))
		return false;
	if (dir == f->v2_dir && cgroups_file_write(dir, key, "cgroup.kill", "1"))
		return true;
	cgroups_freeze(f, key, true); /* freeze the cgroup, so that no process in it can fork while they are killed */
	bool any = cgroups_signal_listed(dir, key, SIGKILL, 0, false) > 0;
	cgroups_freeze(f, key, false);
	return any;
}

void cgroups_read(const struct cgroups *f, const char *key, struct cgroups_figures *figures)
{
	bool is_v2 = f->is_v2[MEMORY];
	int64_t peak = cgroups_file_number(f->dir[MEMORY], key, is_v2 ? "memory.peak" : "memory.max_usage_in_bytes", "");
	int64_t kills = cgroups_file_number(f->dir[MEMORY], key, is_v2 ? "memory.events" : "memory.oom_control", "oom_kill");
	int64_t cpu = f->dir[CPUACCT] ? cgroups_file_number(f->dir[CPUACCT], key, "cpuacct.usage", "")
				      : cgroups_file_number(f->v2_dir, key, "cpu.stat", "usage_usec");
	int64_t refused = cgroups_file_number(f->dir[PIDS], key, "pids.events", "max");
	if (f->dir[MEMORY]) {
		figures->peak_mb = peak < 0 ? -1 : (peak + 1024 * 1024 - 1) / (1024 * 1024);
		figures->oom_kills = kills < 0 ? 0 : kills;
	}
	figures->forks_refused = refused < 0 ? 0 : refused;
	figures->cpu_usec = cpu < 0 || !f->dir[CPUACCT] ? cpu : cpu / 1000;
}

int64_t cgroups_memory_kb(const struct cgroups *f, const char *key)
{
	static const char *const v1[] = {"total_rss", "total_shmem"}, *const v2[] = {"anon", "shmem", "kernel"};
	char stat[CGROUPS_VALUE_SIZE];
	bool is_v2 = f->is_v2[MEMORY];
	if (!f->dir[MEMORY] || !cgroups_file_read(f->dir[MEMORY], key, "memory.stat", stat))
		return -1;
	int64_t bytes = 0;
	for (size_t i = 0; i < (is_v2 ? sizeof v2 / sizeof *v2 : sizeof v1 / sizeof *v1); i++) {
		int64_t number = cgroups_file_find(stat, is_v2 ? v2[i] : v1[i]);
		bytes += number > 0 ? number : 0;
	}
	int64_t reclaimable = is_v2 ? cgroups_file_find(stat, "slab_reclaimable") : 0;
	return (bytes - (reclaimable > 0 ? reclaimable : 0)) / 1024;
}

bool cgroups_remove(const struct cgroups *f, const char *key, int64_t wait_usec)
{
	bool removed = true;
	cgroups_file_close(key);
	for (int p = 0; p < CONTROLLERS; p++) {
		bool gone = remove_group(f, key, p);
		for (; !gone && errno == EBUSY && wait_usec > 0; wait_usec -= PAUSE_USEC) {
			usleep(PAUSE_USEC);
			gone = remove_group(f, key, p);
		}
		removed = removed && gone;
	}
	return removed;
}
