/* checkpoint_process_test.c - processes that DMTCP would not save, in a tree as below a keeper. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmgr/checkpoint/dmtcp_process.h"

static char dir[] = "/tmp/rota-process-test.XXXXXX";
static char manager_path[sizeof dir + 16];
static pid_t root, manager, substep;

/* Start a shell. Returns its process, and sets *said to the number that it prints, if `said` is not NULL. */
static pid_t start(const char *program, const char *line, pid_t *said)
{
	int fds[2];
	char text[32] = "";
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		execl(program, program, "-c", line, NULL);
		_exit(127);
	}
	close(fds[1]);
	assert_true(read(fds[0], text, sizeof text - 1) > 0); /* the shell runs */
	close(fds[0]);
	if (said)
		*said = atoi(text);
	return pid;
}

/* This process stands for the keeper, and a shell with another name for the step manager. */
static int setup_group(void **state)
{
	(void)state;
	char line[sizeof manager_path + 16];
	assert_non_null(mkdtemp(dir));
	snprintf(manager_path, sizeof manager_path, "%s/rota-stepmgr", dir);
	snprintf(line, sizeof line, "cp /bin/sh %s", manager_path);
	assert_int_equal(system(line), 0);
	root = start("/bin/sh", "echo 1; exec sleep 1000", NULL);
	manager = start(manager_path, "sleep 1000 >/dev/null & echo $!; wait", &substep);
	return 0;
}

static int teardown_group(void **state)
{
	(void)state;
	const pid_t all[] = {substep, manager, root};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		kill(all[i], SIGKILL);
	while (wait(NULL) > 0)
		continue;
	unlink(manager_path);
	return rmdir(dir);
}

static void all_are_listed(void **state)
{
	(void)state;
	struct err e;
	char list[128];
	snprintf(list, sizeof list, "a[1:%d]@n\nb[2:%d]@n\nc[3:%d]@n\n", (int)root, (int)manager, (int)substep);
	assert_true(dmtcp_process_all_listed(root, list, "/none", &e));
}

static void substep_is_named(void **state)
{
	(void)state;
	struct err e;
	char list[128], begin[64];
	snprintf(list, sizeof list, "a[1:%d]@n\nb[2:%d]@n\n", (int)root, (int)manager);
	snprintf(begin, sizeof begin, "process %d would not be saved: ", (int)substep);
	assert_false(dmtcp_process_all_listed(root, list, "/none", &e));
	assert_memory_equal(e.message, begin, strlen(begin));
	assert_non_null(strstr(e.message, "is of a shell or sub-step"));
}

static void other_process_is_named(void **state)
{
	(void)state;
	struct err e;
	char list[128];
	snprintf(list, sizeof list, "b[2:%d]@n\nc[3:%d]@n\n", (int)manager, (int)substep);
	assert_false(dmtcp_process_all_listed(root, list, "/none", &e));
	assert_non_null(strstr(e.message, "does not run under DMTCP"));
}

static void other_hosts_are_dropped(void **state)
{
	(void)state;
	char list[] = "Client List:\n#, PROG[virtPID:realPID]@HOST, DMTCP-UNIQUEPID, STATE, BARRIER\n"
		      "1, a[40000:7]@n1, 1-2-3, RUNNING, \n2, b[41000:7]@n10, 1-2-3, RUNNING, \n3, c@n1, d[42000:8]@n1, 1-2-3, "
		      "RUNNING, \n"
		      "4, e[43000:9]@n1(10.0.0.1), 1-2-3, RUNNING, \n5, f[44000:10]@n2, 1-2-3, RUNNING, \n";
	dmtcp_process_keep_host(list, "n1");
	assert_string_equal(list, "1, a[40000:7]@n1, 1-2-3, RUNNING, \n3, c@n1, d[42000:8]@n1, 1-2-3, RUNNING, \n"
				  "4, e[43000:9]@n1(10.0.0.1), 1-2-3, RUNNING, \n");
	assert_true(dmtcp_process_is_listed(list, 9));
	assert_false(dmtcp_process_is_listed(list, 10));
	dmtcp_process_keep_host(list, "n3");
	assert_string_equal(list, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_listed),
		cmocka_unit_test(substep_is_named),
		cmocka_unit_test(other_process_is_named),
		cmocka_unit_test(other_hosts_are_dropped),
	};
	return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
