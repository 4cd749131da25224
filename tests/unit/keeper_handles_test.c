/* keeper_handles_test.c - whether a process handles a signal. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "procmgr/keeper/handles.h"

static void handle(int number)
{
	(void)number;
}

static void test_handles(void **state)
{
	(void)state;
	assert_false(handles_signal(getpid(), SIGUSR1));
	signal(SIGUSR1, handle);
	assert_true(handles_signal(getpid(), SIGUSR1));
	assert_false(handles_signal(getpid(), SIGUSR2));
	signal(SIGUSR1, SIG_IGN);
	assert_false(handles_signal(getpid(), SIGUSR1));
	signal(SIGRTMAX, handle);
	assert_true(handles_signal(getpid(), SIGRTMAX));
	assert_false(handles_signal(getpid(), 0));
	assert_false(handles_signal(getpid(), 65));
	assert_false(handles_signal(-1, SIGRTMAX));
	/* A program that serves a step, known by its name, counts as handling no signal. */
	assert_int_equal(prctl(PR_SET_NAME, "ssh-agent"), 0);
	assert_false(handles_signal(getpid(), SIGRTMAX));
	assert_int_equal(prctl(PR_SET_NAME, "ssh-agents"), 0);
	assert_true(handles_signal(getpid(), SIGRTMAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_handles)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
