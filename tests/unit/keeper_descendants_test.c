/* keeper_descendants_test.c - processes are found and signalled by their parents, also those whose first thread has ended. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/proc_file.h"
#include "procmgr/keeper/descendants.h"

static void *wait_for_end(void *unused)
{
	pause();
	return unused;
}

/* Start a process with two threads, of which the first ends. Returns when it has ended. */
static pid_t start_without_first(void)
{
	char text[1024] = "";
	pid_t pid = fork();
	if (pid == 0) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	while (!strstr(text, "State:\tZ"))
		assert_true(proc_file_read(pid, "status", text, sizeof text));
	assert_int_equal(proc_file_number(text, "Threads:"), 2);
	return pid;
}

static bool is_root(const struct descendants_process *p, void *pid)
{
	return p->pid == *(pid_t *)pid;
}

static void keep_process(const struct descendants_process *p, void *kept)
{
	*(struct descendants_process *)kept = *p;
}

static bool is_same(pid_t thread, const void *wanted)
{
	return thread == *(const pid_t *)wanted;
}

static void test_first_ended(void **state)
{
	(void)state;
	pid_t pid = start_without_first();
	struct descendants_process seen = {0};
	descendants_each(is_root, &pid, DESCENDANTS_OF_ANY_USER, keep_process, &seen);
	bool searched = descendants_have_thread(is_root, &pid, DESCENDANTS_OF_ANY_USER, is_same, &seen.thread);
	int status, found = descendants_signal(is_root, &pid, DESCENDANTS_OF_ANY_USER, 0, 0);
	bool killed = descendants_kill(is_root, &pid, DESCENDANTS_OF_ANY_USER);
	if (!killed)
		kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(found, 1);
	assert_true(searched);
	assert_true(killed);
	assert_int_equal(seen.pid, pid);
	assert_int_not_equal(seen.thread, pid);
	assert_true(seen.resident_kb > 0);
}

/* A process that has ended, and was not waited for, is none. */
static void test_ended(void **state)
{
	(void)state;
	siginfo_t info;
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(descendants_signal(is_root, &pid, DESCENDANTS_OF_ANY_USER, 0, 0), 0);
	assert_false(descendants_kill(is_root, &pid, DESCENDANTS_OF_ANY_USER));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_ended),
		cmocka_unit_test(test_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
