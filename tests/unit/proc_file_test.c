/* proc_file_test.c - reads files of /proc/PID, and their fields. */
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/proc_file.h"

static void test_own(void **state)
{
	char text[8192], run;
	int parent;
	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "a) S 1 (b"), 0);
	assert_true(proc_file_read(getpid(), "status", text, sizeof text));
	assert_int_equal(proc_file_number(text, "PPid:"), getppid());
	assert_int_equal(strncmp(proc_file_field(text, "Name:"), "a) S 1 (b\n", 10), 0);
	/* a process name that looks like later fields */
	assert_true(proc_file_read(getpid(), "stat", text, sizeof text));
	assert_int_equal(sscanf(proc_file_stat(text), " %c %d", &run, &parent), 2);
	assert_int_equal(run, 'R');
	assert_int_equal(parent, getppid());
}

static void test_short(void **state)
{
	char text[4];
	(void)state;
	assert_true(proc_file_read(getpid(), "comm", text, sizeof text));
	assert_int_equal(strlen(text), 3);
}

/* A process that has ended has an empty command line, and has none of its files once it is reaped. */
static void test_ended(void **state)
{
	char text[64];
	siginfo_t info;
	(void)state;
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	memset(text, 'x', sizeof text);
	assert_false(proc_file_read(pid, "cmdline", text, sizeof text));
	assert_string_equal(text, "");
	assert_true(proc_file_read(pid, "comm", text, sizeof text));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(proc_file_read(pid, "comm", text, sizeof text));
	assert_string_equal(text, "");
}

static void test_fields(void **state)
{
	static const char text[] = "rchar: 12\nread_bytes:\t 34\ncancelled_write_bytes: 5\nwrite_bytes: 6\nName:\tx\nNone:\n";
	(void)state;
	assert_int_equal(proc_file_number(text, "rchar:"), 12);
	assert_int_equal(proc_file_number(text, "read_bytes:"), 34);
	assert_int_equal(proc_file_number(text, "write_bytes:"), 6);
	assert_int_equal(proc_file_number(text, "Name:"), -1);
	assert_int_equal(proc_file_number(text, "None:"), -1);
	assert_int_equal(proc_file_number(text, "bytes:"), -1);
	assert_int_equal(proc_file_number("7\n", ""), 7);
	assert_int_equal(proc_file_number("", ""), -1);
	assert_null(proc_file_field("", "rchar:"));
	assert_string_equal(proc_file_field(text, "None:"), "\n");
	assert_null(proc_file_stat("12 (name"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_own), cmocka_unit_test(test_short), cmocka_unit_test(test_ended),
					   cmocka_unit_test(test_fields)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
