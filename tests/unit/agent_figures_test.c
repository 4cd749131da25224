/* agent_figures_test.c - resources that steps use, read from made-up cgroups of both versions, a made-up /proc, and the test's
 * own processes. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/err.h"
#include "procmgr/agent/agent_plugin.h"
#include "procmgr/agent/figures.h"

/* Make a file below the test's folder, with its folders. */
static void draw(const char *path, const char *text)
{
	char whole[512];
	snprintf(whole, sizeof whole, "%s/%s", unit_folder, path);
	for (char *slash = whole + strlen(unit_folder) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	FILE *file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void draw_mounts(const char *lines)
{
	char *text = xstrdup(lines), *whole = xstrdup(""), *rest = text, *line, *longer;
	while ((line = strsep(&rest, "\n")) && *line) {
		char *dir = strchr(line, '@');
		longer = dir ? xasprintf("%s%.*s%s%s\n", whole, (int)(dir - line), line, unit_folder, dir + 1)
			     : xasprintf("%s%s\n", whole, line);
		free(whole);
		whole = longer;
	}
	draw("mounts", whole);
	free(whole);
	free(text);
}

static void read_mounts(struct figures_mounts *m)
{
	char path[256];
	snprintf(path, sizeof path, "%s/mounts", unit_folder);
	figures_mounts_read(m, path);
}

static void test_version_one(void **state)
{
	(void)state;
	struct figures_mounts m;
	struct figures f;
	draw_mounts("cgroup @/mem cgroup rw,memory 0 0\ncgroup @/acct cgroup rw,cpu,cpuacct 0 0\ncgroup @/freezer cgroup "
		    "rw,freezer 0 0\n"
		    "cgroup2 @/two cgroup2 rw 0 0\nproc /proc proc rw 0 0\n");
	read_mounts(&m);
	draw("mem/g/1.0.1/memory.stat", "rss 1\ntotal_cache 999\ntotal_rss 2097152\ntotal_mapped_file 1024\ntotal_swap "
					"4096\ntotal_pgfault 50\ntotal_pgmajfault 8\n");
	draw("acct/g/1.0.1/cpuacct.usage", "1234567890\n");
	draw("freezer/g/1.0.1/cgroup.procs", "7\n8\n");
	draw("freezer/g/1.0.1/tasks", "7\n8\n9\n");
	assert_true(figures_of_group(&m, "g/1.0.1", &f));
	assert_int_equal(f.cpu_usec, 1234567);
	assert_int_equal(f.rss_kb, 2049);
	assert_int_equal(f.swap_kb, 4);
	assert_int_equal(f.minor_faults, 42);
	assert_int_equal(f.major_faults, 8);
	assert_int_equal(f.processes, 2);
	assert_int_equal(f.threads, 3);
	assert_int_equal(f.read_bytes, -1);
	assert_int_equal(f.write_bytes, -1);
	assert_false(figures_of_group(&m, "g/2.0.1", &f));
	draw("freezer/g/3.0.1/cgroup.procs", "7\n");
	assert_true(figures_of_group(&m, "g/3.0.1", &f)); /* the other controllers do not have this cgroup */
	assert_int_equal(f.cpu_usec, -1);
	assert_int_equal(f.rss_kb, -1);
	assert_int_equal(f.swap_kb, -1);
	assert_int_equal(f.minor_faults, -1);
	figures_mounts_free(&m);
}

static void test_version_two(void **state)
{
	(void)state;
	struct figures_mounts m;
	struct figures f;
	draw_mounts("cgroup2 @/two cgroup2 rw,nosuid 0 0\n");
	read_mounts(&m);
	assert_null(m.memory);
	draw("two/g/1.0.1/memory.stat", "anon 1048576\nfile 77777\nfile_mapped 2048\npgfault 100\npgmajfault 1\n");
	draw("two/g/1.0.1/memory.swap.current", "8192\n");
	draw("two/g/1.0.1/cpu.stat", "usage_usec 55\nuser_usec 50\nsystem_usec 5\n");
	draw("two/g/1.0.1/cgroup.procs", "7\n");
	draw("two/g/1.0.1/cgroup.threads", "7\n8\n");
	assert_true(figures_of_group(&m, "g/1.0.1", &f));
	assert_int_equal(f.cpu_usec, 55);
	assert_int_equal(f.rss_kb, 1026);
	assert_int_equal(f.swap_kb, 8);
	assert_int_equal(f.minor_faults, 99);
	assert_int_equal(f.major_faults, 1);
	assert_int_equal(f.processes, 1);
	assert_int_equal(f.threads, 2);
	assert_int_equal(f.read_bytes, -1);
	draw("two/g/1.0.1/io.stat",
	     "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n8:16 rbytes=100 wbytes=200 rios=1 wios=2 dbytes=0 dios=0\n");
	assert_true(figures_of_group(&m, "g/1.0.1", &f));
	assert_int_equal(f.read_bytes, 110);
	assert_int_equal(f.write_bytes, 220);
	draw("mounts", "");
	figures_mounts_free(&m);
	read_mounts(&m);
	assert_false(figures_of_group(&m, "g/1.0.1", &f)); /* no cgroups at all */
	figures_mounts_free(&m);
}

/* pid (name) S parent group session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime prio nice threads 0 start vsize rss */
static void draw_process(int pid, const char *name, char state, int parent, int session, int ticks, int threads, int pages)
{
	char path[64], text[512];
	snprintf(path, sizeof path, "proc/%d/stat", pid);
	snprintf(text, sizeof text,
		 "%d (%s) %c %d %d %d 0 -1 4194304 10 5 2 1 %d %d 1 1 20 0 %d 0 %d 1000000 %d 18446744073709551615 1 1\n", pid,
		 name, state, parent, session, session, ticks, ticks, threads, pid * 10, pages);
	draw(path, text);
}

static const struct figures_process *process_of(const struct figures_processes *all, pid_t pid)
{
	for (int i = 0; i < all->count; i++)
		if (all->list[i].pid == pid)
			return &all->list[i];
	return NULL;
}

static void test_processes(void **state)
{
	(void)state;
	struct figures_processes all;
	struct figures f;
	pid_t keepers[] = {50, 60};
	char proc[128];
	long tick_usec = 1000000 / sysconf(_SC_CLK_TCK), page_kb = sysconf(_SC_PAGESIZE) / 1024;
	snprintf(proc, sizeof proc, "%s/proc", unit_folder);
	draw_process(50, "rota-keeper", 'S', 1, 50, 1, 1, 1);
	draw_process(60, "rota-keeper", 'S', 1, 60, 1, 1, 1);
	draw_process(51, "a task) S 1 (", 'R', 50, 51, 100, 2, 10);
	draw_process(52, "child", 'S', 51, 51, 0, 1, 5);
	draw_process(53, "orphan", 'S', 50, 51, 0, 1, 5);
	draw_process(54, "dead", 'Z', 50, 54, 9, 1, 5);
	draw_process(61, "other", 'S', 60, 61, 0, 1, 5);
	draw_process(70, "stranger", 'S', 1, 70, 0, 1, 5);
	draw_process(71, "circle", 'S', 72, 70, 0, 1, 5);
	draw_process(72, "circle", 'S', 71, 70, 0, 1, 5);
	draw("proc/self/stat", "no process");
	draw("proc/80/stat", "80 (torn) S 1");
	draw("proc/51/status", "Name:\tx\nVmSwap:\t      12 kB\n");
	draw("proc/51/io", "rchar: 100\nwchar: 200\nsyscr: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 5\n");
	figures_processes_read(&all, proc);
	assert_int_equal(all.count, 9);
	figures_find_keepers(&all, keepers, 2);
	assert_int_equal(process_of(&all, 51)->root, 50);
	assert_int_equal(process_of(&all, 51)->task, 51);
	assert_int_equal(process_of(&all, 51)->session, 51);
	assert_int_equal(process_of(&all, 52)->task, 51);
	assert_int_equal(process_of(&all, 53)->task, 53);
	assert_int_equal(process_of(&all, 53)->session, 51);
	assert_int_equal(process_of(&all, 61)->root, 60);
	assert_int_equal(process_of(&all, 50)->root, 0);
	assert_int_equal(process_of(&all, 70)->root, 0);
	assert_int_equal(process_of(&all, 71)->root, 0);
	figures_set_zero(&f);
	figures_add(&f, process_of(&all, 51), proc);
	assert_int_equal(f.cpu_usec, 202 * tick_usec);
	assert_int_equal(f.rss_kb, 10 * page_kb);
	assert_int_equal(f.swap_kb, 12);
	assert_int_equal(f.minor_faults, 15);
	assert_int_equal(f.major_faults, 3);
	assert_int_equal(f.rchar, 100);
	assert_int_equal(f.wchar, 200);
	assert_int_equal(f.read_bytes, 4096);
	assert_int_equal(f.write_bytes, 8192);
	assert_int_equal(f.threads, 2);
	figures_add(&f, process_of(&all, 52), proc); /* its swap and bytes cannot be read */
	assert_int_equal(f.processes, 2);
	assert_int_equal(f.rss_kb, 15 * page_kb);
	assert_int_equal(f.swap_kb, -1);
	assert_int_equal(f.read_bytes, -1);
	figures_processes_free(&all);
}

static void test_ourselves(void **state)
{
	(void)state;
	struct figures_processes all;
	struct figures f;
	pid_t self = getpid(), child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	figures_processes_read(&all, "/proc");
	figures_find_keepers(&all, &self, 1);
	const struct figures_process *p = process_of(&all, child);
	assert_non_null(p);
	assert_int_equal(p->task, child);
	figures_set_zero(&f);
	figures_add(&f, p, "/proc");
	assert_true(f.rss_kb > 0 && f.swap_kb >= 0 && f.read_bytes >= 0 && f.threads == 1);
	figures_processes_free(&all);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void test_holder(void **state)
{
	(void)state;
	char path[256];
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	draw("pid", "");
	draw("other", "");
	snprintf(path, sizeof path, "%s/pid", unit_folder);
	int fd = open(path, O_RDWR);
	assert_int_equal(fcntl(fd, F_SETLK, &whole), 0);
	char *locks = figures_file("/proc/locks");
	assert_non_null(locks);
	assert_int_equal(figures_lock_owner(locks, path), getpid());
	snprintf(path, sizeof path, "%s/other", unit_folder);
	assert_int_equal(figures_lock_owner(locks, path), 0);
	assert_int_equal(figures_lock_owner(locks, "/nowhere"), 0);
	assert_int_equal(figures_lock_owner("1: -> POSIX ADVISORY WRITE 1\nx\n", path), 0);
	free(locks);
	close(fd);
}

static void said(const char *printed, const char *expected)
{
	char *text = xstrdup(printed), *dumped;
	json_t *figures = agent_plugin_read(text);
	dumped = json_dumps(figures, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(dumped, expected);
	free(dumped);
	json_decref(figures);
	free(text);
}

static void test_plugin(void **state)
{
	(void)state;
	said("gpu0.util=35\ngpu1.power_w=71.5 \n", "{\"gpu0.util\":35,\"gpu1.power_w\":71.5}");
	said("{\"gpu0.util\": 35, \"name\": \"x\", \"a b\": 1, \"list\": [1]}", "{\"gpu0.util\":35}");
	said("", "{}");
	said("nonsense\n=3\na b=3\nx=\ny=abc\nz=inf\nw=nan\nv=12x\n", "{}");
	said("[1, 2]", "{}");
	said("a=1\n{\"b\": 2}\n", "{\"a\":1}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_version_one, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(test_version_two, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(test_processes, unit_folder_make, unit_folder_remove),
		cmocka_unit_test(test_ourselves),
		cmocka_unit_test_setup_teardown(test_holder, unit_folder_make, unit_folder_remove),
		cmocka_unit_test(test_plugin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
