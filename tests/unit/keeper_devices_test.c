/* keeper_devices_test.c - which devices a step may use, and a cgroup of version 2 that lets processes use no others. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/proc_file.h"
#include "procmgr/keeper/cgroups_devices.h"
#include "procmgr/keeper/device_users.h"

static bool has(const struct device *list, int count, char type, int major, int minor)
{
	for (int i = 0; i < count; i++)
		if (list[i].type == type && list[i].major == major && list[i].minor == minor)
			return true;
	return false;
}

static void test_granted(void **state)
{
	(void)state;
	struct device list[DEVICES_MOST];
	struct err e;
	int standard = devices_granted("", "gpu:0+1", list, &e);
	assert_true(standard > 0 && has(list, standard, 'c', 1, 3) && !has(list, standard, 'c', 1, 11));
	assert_int_equal(devices_granted("/dev/null /dev/missing gpu:/dev/%", "tape:null", list, &e), standard + 1);
	assert_int_equal(devices_granted("gpu:/dev/%  tape:/dev/null", "gpu:full+zero", list, &e), standard + 2);
	assert_true(has(list, standard + 2, 'c', 1, 7) && has(list, standard + 2, 'c', 1, 5));
	assert_int_equal(devices_granted("gpu:/dev/missing%", "gpu:0", list, &e), -1);
	assert_non_null(strstr(e.message, "/dev/missing0"));
}

static void test_kind(void **state)
{
	(void)state;
	struct device list[DEVICES_MOST], all[DEVICES_MOST];
	struct err e;
	const char *files = "/dev/null gpu:/dev/% tape:/dev/zero";
	assert_int_equal(devices_of_kind(files, "gpu:full+random,tape:0", "gpu", list, &e), 2);
	assert_true(has(list, 2, 'c', 1, 7) && has(list, 2, 'c', 1, 8));
	assert_int_equal(devices_of_kind("/dev/null tape:/dev/zero", "gpu:full", "gpu", list, &e), 0);
	assert_int_equal(devices_of_kind("gpu:/dev/missing%", "gpu:0", "gpu", list, &e), -1);
	int count = devices_granted(files, "gpu:full", all, &e), gpus = devices_of_kind(files, "gpu:full", "gpu", list, &e);
	count = devices_remove(all, count, list, gpus);
	assert_true(has(all, count, 'c', 1, 3) && !has(all, count, 'c', 1, 7));
}

static int folders_opened;

/* Counts the folders that are opened. */
DIR *opendir(const char *path)
{
	DIR *(*next)(const char *) = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
	folders_opened++;
	return next(path);
}

/* Does one of the threads that `folder` lists have the device? */
static bool threads_have(const char *folder, const struct device_set *set)
{
	struct dirent **names;
	struct device_search *search = device_users_begin(set);
	bool found = false;
	int count = scandir(folder, &names, NULL, versionsort);
	assert_true(count > 2);
	folders_opened = 0;
	for (int i = 0; i < count; i++) {
		found = found || (*names[i]->d_name != '.' && device_users_has(atoi(names[i]->d_name), &search));
		free(names[i]);
	}
	free(names);
	device_users_end(search);
	return found;
}

/* A process uses a device that it has open or mapped. */
static void test_users(void **state)
{
	(void)state;
	const struct device full[] = {{'c', 1, 7}}, zero[] = {{'c', 1, 5}};
	const struct device_set fulls = {full, 1}, zeros = {zero, 1};
	assert_false(threads_have("/proc/self/task", &fulls));
	int fd = open("/dev/full", O_RDONLY | O_CLOEXEC);
	assert_true(threads_have("/proc/self/task", &fulls));
	close(fd);
	assert_false(threads_have("/proc/self/task", &fulls));
	if (geteuid() != 0)
		return;
	fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_true(memory != MAP_FAILED);
	assert_true(threads_have("/proc/self/task", &zeros));
	munmap(memory, 4096);
	assert_false(threads_have("/proc/self/task", &zeros));
}

enum { THREADS = 20 };

static pthread_barrier_t all_open, all_searched;

/* A thread that opens the file, if any, where no other thread sees it. */
static void *apart(void *file)
{
	int fd = -1;
	if (file) {
		assert_int_equal(unshare(CLONE_FILES), 0);
		fd = open(file, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
	}
	pthread_barrier_wait(&all_open);
	pthread_barrier_wait(&all_searched);
	close(fd);
	return NULL;
}

/* Search threads of which the last but one opens the file. */
static bool search_threads(const char *file, const struct device_set *set)
{
	pthread_t threads[THREADS];
	pthread_barrier_init(&all_open, NULL, THREADS + 1);
	pthread_barrier_init(&all_searched, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, apart, i == THREADS - 2 ? (void *)file : NULL), 0);
	pthread_barrier_wait(&all_open);
	bool found = threads_have("/proc/self/task", set);
	pthread_barrier_wait(&all_searched);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all_open);
	pthread_barrier_destroy(&all_searched);
	return found;
}

/* What the threads of a process share is read once. A thread with descriptors of its own hides no device. */
static void test_threads(void **state)
{
	(void)state;
	const struct device full[] = {{'c', 1, 7}};
	const struct device_set fulls = {full, 1};
	int maps = geteuid() == 0;
	assert_false(search_threads(NULL, &fulls));
	assert_int_equal(folders_opened, 1 + maps);
	assert_false(search_threads("/dev/zero", &fulls));
	assert_int_equal(folders_opened, 3 + maps);
	assert_true(search_threads("/dev/full", &fulls));
}

static void *wait_for_end(void *unused)
{
	pause();
	return unused;
}

/* A process whose first thread has ended hides no device. */
static void test_first_ended(void **state)
{
	(void)state;
	const struct device zero[] = {{'c', 1, 5}};
	const struct device_set zeros = {zero, 1};
	char path[64], text[1024] = "";
	if (geteuid() != 0)
		skip();
	pid_t pid = fork();
	if (pid == 0) {
		pthread_t thread;
		int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
		if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED || close(fd) < 0 ||
		    pthread_create(&thread, NULL, wait_for_end, NULL) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	while (!strstr(text, "State:\tZ") && proc_file_read(pid, "status", text, sizeof text))
		usleep(1000);
	snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
	bool found = threads_have(path, &zeros);
	assert_int_equal(proc_file_number(text, "Threads:"), 2);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(found);
}

static void test_units(void **state)
{
	(void)state;
	char *units = devices_of_gres("gpu:0+3,fpga:1", "gpu");
	assert_string_equal(units, "0,3");
	free(units);
	assert_null(devices_of_gres("gpu:0+3", "fpga"));
	char *others = devices_without("fpga:1,gpu:0+3,gpus:2", "gpu"), *none = devices_without("gpu:0", "gpu");
	assert_string_equal(others, "fpga:1,gpus:2");
	assert_string_equal(none, "");
	free(others);
	free(none);
}

/* Find the mount point of cgroups of version 2. Returns false if there is none. */
static bool find_mount(char mount[256])
{
	char line[1024], type[64];
	FILE *mounts = fopen("/proc/mounts", "re");
	bool found = false;
	while (mounts && !found && fgets(line, sizeof line, mounts))
		found = sscanf(line, "%*s %255s %63s", mount, type) == 2 && strcmp(type, "cgroup2") == 0;
	if (mounts)
		fclose(mounts);
	return found;
}

/* Open a device in a process that has entered the cgroup. Returns the error number. */
static int open_within(const char *dir, const char *key, const char *device)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s/cgroup.procs", dir, key);
	pid_t pid = fork();
	if (pid == 0) {
		int procs = open(path, O_WRONLY | O_CLOEXEC);
		if (procs < 0 || write(procs, "0", 1) != 1)
			_exit(255);
		_exit(open(device, O_RDONLY | O_CLOEXEC) < 0 ? errno : 0);
	}
	int status = 0;
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static void test_version_2(void **state)
{
	(void)state;
	char mount[256], key[64], path[512];
	snprintf(key, sizeof key, "rota-devices-test.%ld", (long)getpid());
	if (geteuid() != 0 || !find_mount(mount))
		skip();
	snprintf(path, sizeof path, "%s/%s", mount, key);
	if (mkdir(path, 0755) < 0)
		skip();
	const struct device list[] = {{'c', 1, 3}, {'c', 1, 7}};
	int before = open_within(mount, key, "/dev/zero");
	bool restricted = cgroups_devices_restrict(mount, key, true, list, 2);
	int named = open_within(mount, key, "/dev/full"), other = open_within(mount, key, "/dev/zero");
	bool closed = cgroups_devices_change(mount, key, true, list, 1);
	int closed_full = open_within(mount, key, "/dev/full"), still = open_within(mount, key, "/dev/null");
	bool opened = cgroups_devices_change(mount, key, true, list, 2);
	int again = open_within(mount, key, "/dev/full");
	assert_int_equal(rmdir(path), 0);
	assert_true(closed && opened);
	assert_int_equal(closed_full, EPERM);
	assert_int_equal(still, 0);
	assert_int_equal(again, 0);
	assert_true(restricted);
	assert_int_equal(before, 0);
	assert_int_equal(named, 0);
	assert_int_equal(other, EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_granted),	  cmocka_unit_test(test_kind),	      cmocka_unit_test(test_users),
		cmocka_unit_test(test_threads),	  cmocka_unit_test(test_first_ended), cmocka_unit_test(test_units),
		cmocka_unit_test(test_version_2),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
