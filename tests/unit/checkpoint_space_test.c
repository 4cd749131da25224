/* checkpoint_space_test.c - how much DMTCP may write for a process: all memory in use, and none that is only reserved. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmgr/checkpoint/dmtcp_space.h"

enum { MIB = 1 << 20, PART = 64 * MIB };

/* Start a process that maps `size` bytes, privately or shared, and uses a page in each `every` bytes. Returns its pid. */
static pid_t start(int flags, size_t size, size_t every)
{
	int fds[2];
	char ready;
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		bool mapped = memory != MAP_FAILED && madvise(memory, size, MADV_NOHUGEPAGE) == 0;
		for (size_t at = 0; mapped && at < size; at += every)
			memory[at] = 1;
		if (mapped && write(fds[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &ready, 1), 1);
	close(fds[0]);
	return pid;
}

/* Returns how much more is counted for such a process than for one that uses one page of what it maps. */
static int64_t counted_more(int flags, size_t size, size_t every)
{
	pid_t pid = start(flags, size, every), idle = start(MAP_PRIVATE, PART, PART);
	int64_t all = dmtcp_space_count(pid); /* both are children of this process, as of a keeper */
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	int64_t other = dmtcp_space_count(idle);
	kill(idle, SIGKILL);
	assert_int_equal(waitpid(idle, NULL, 0), idle);
	return all - 2 * other;
}

static void memory_in_use_counts(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* its shadow is a mapping of terabytes */
#endif
	/* MORE_BYTES of the space is counted once in each number */
	int64_t none = counted_more(MAP_PRIVATE, PART, PART), each_page = counted_more(MAP_PRIVATE, PART, 4096),
		each_mib = counted_more(MAP_PRIVATE, PART, MIB), half = counted_more(MAP_PRIVATE, PART, 2 * MIB),
		shared = counted_more(MAP_SHARED, PART, PART);
	assert_true(none < MIB);
	assert_true(each_page - none >= PART - MIB && each_page - none < PART + MIB);
	assert_true(each_mib - none >= PART - MIB && each_mib - none < PART + MIB);
	assert_true(half - none >= PART / 2 - 2 * MIB && half - none < PART / 2 + 2 * MIB);
	assert_true(shared - none >= PART - 2 * MIB); /* which of its pages are in use is not known */
	/* A mapping larger than memory, of which 16 pages are in use: each counts as a MiB. */
	int64_t huge = counted_more(MAP_PRIVATE, (size_t)1 << 44, (size_t)1 << 40);
	assert_true(huge - none > 14 * MIB && huge - none < 17 * MIB);
}

static void space_is_looked_for(void **state)
{
	(void)state;
	struct err e;
	int folder = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = start(MAP_PRIVATE, PART, PART);
	assert_true(dmtcp_space_suffices(folder, dmtcp_space_count(pid), &e));
	close(folder);
	folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_false(dmtcp_space_suffices(folder, dmtcp_space_count(pid), &e));
	assert_non_null(strstr(e.message, "the images of the program may have "));
	close(folder);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_in_use_counts),
		cmocka_unit_test(space_is_looked_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
