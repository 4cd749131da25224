/* checkpoint_nodes_test.c - nodes of one step: each says whether its processes would be saved, and only looks for processes of its own. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmgr/checkpoint/checkpoint_tasks.h"
#include "procmgr/checkpoint/dmtcp_nodes.h"
#include "procmgr/checkpoint/dmtcp_tasks.h"

static char dir[64];

/* A step of three tasks on three nodes, in a folder of its own; this process is on the first node. */
static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "/tmp/rota-nodes-test.XXXXXX");
	assert_non_null(mkdtemp(dir));
	setenv("ROTA_NTASKS", "3", 1);
	setenv("ROTA_NNODES", "3", 1);
	setenv("ROTA_NODE_INDEX", "0", 1);
	setenv("ROTA_STEP_LABEL", "1.a", 1);
	setenv("ROTA_ATTEMPT", "3", 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	char line[96];
	snprintf(line, sizeof line, "rm -rf %s", dir);
	return system(line);
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Start a process as another node, which answers the next question, first with a part of the answer. */
static pid_t start_node(int node, const char *answer)
{
	char path[128], name[32], question[128] = "", line[256];
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	snprintf(path, sizeof path, "%s/question", dir);
	snprintf(name, sizeof name, "answer.%d", node);
	while (!strchr(question, '\n')) {
		FILE *file = fopen(path, "r");
		if (!file || !fgets(question, sizeof question, file))
			*question = '\0';
		if (file)
			fclose(file);
		usleep(10000);
	}
	question[strcspn(question, "\n")] = '\0';
	snprintf(line, sizeof line, "%s %s\n", question, answer);
	line[strlen(line) / 2] = '\0';
	write_file(name, line);
	usleep(200000);
	snprintf(line, sizeof line, "%s %s\n", question, answer);
	write_file(name, line);
	_exit(0);
}

static bool ask_nodes(const char *first, const char *second, int64_t *bytes, struct err *e)
{
	int status;
	write_file("answer.1", "an old question yes 7\n");
	pid_t one = start_node(1, first), two = start_node(2, second);
	bool good = dmtcp_nodes_ask(dir, bytes, e);
	assert_int_equal(waitpid(one, &status, 0), one);
	assert_int_equal(waitpid(two, &status, 0), two);
	return good;
}

static void all_nodes_answer(void **state)
{
	(void)state;
	struct err e;
	int64_t bytes = 1;
	assert_true(dmtcp_nodes_prepare(dir, &e));
	assert_true(ask_nodes("yes 20", "yes 300", &bytes, &e));
	assert_int_equal(bytes, 321);
}

static void one_node_refuses(void **state)
{
	(void)state;
	struct err e;
	int64_t bytes = 0;
	assert_true(dmtcp_nodes_prepare(dir, &e));
	assert_false(ask_nodes("yes 20", "no process 7 would not be saved", &bytes, &e));
	assert_string_equal(e.message, "process 7 would not be saved");
}

static void node_that_is_over_is_named(void **state)
{
	(void)state;
	char run[128];
	int64_t bytes = 0;
	struct err e;
	snprintf(run, sizeof run, "%s/next.3.run", dir);
	assert_int_equal(mkdir(run, 0700), 0);
	write_file("next.3.over.1", "");
	assert_true(dmtcp_nodes_prepare(run, &e));
	assert_false(dmtcp_nodes_ask(run, &bytes, &e));
	assert_string_equal(
		e.message,
		"the tasks of node 1 of the step, counted from 0, have ended, so the tasks cannot be saved together any more");
}

static void unprepared_node_asks_nobody(void **state)
{
	(void)state;
	struct err e;
	int64_t bytes = 0;
	assert_false(dmtcp_nodes_ask(dir, &bytes, &e));
	setenv("ROTA_NNODES", "1", 1);
	assert_true(dmtcp_nodes_ask(dir, &bytes, &e));
}

/* The number of a process means nothing on another node. */
static void processes_are_of_their_node(void **state)
{
	(void)state;
	struct err e;
	char text[64];
	assert_true(dmtcp_tasks_note(dir, 0, true, &e));
	snprintf(text, sizeof text, "%d 1\n", (int)getpid());
	write_file("task.1", text);
	write_file("task.2", "1999999999 2\n");
	assert_int_equal(dmtcp_tasks_process(dir, 0), getpid());
	assert_int_equal(dmtcp_tasks_process(dir, 1), 0);
	assert_int_equal(dmtcp_tasks_lost(dir, true), -1);
	dmtcp_tasks_say_lost(dir, 2);
	assert_int_equal(dmtcp_tasks_lost(dir, false), 2);
	setenv("ROTA_NODE_INDEX", "2", 1);
	assert_false(dmtcp_tasks_run_here(dir));
	setenv("ROTA_NODE_INDEX", "1", 1);
	assert_true(dmtcp_tasks_run_here(dir));
}

/* The last of the nodes whose tasks have ended well removes the checkpoints, and no other one. */
static void last_node_is_over(void **state)
{
	(void)state;
	const struct checkpoint step = {.config = "", .driver = "dmtcp", .dir = dir, .asked = "", .is_task = true};
	char path[128];
	snprintf(path, sizeof path, "%s/1.a", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_false(checkpoint_tasks_are_over(&step));
	setenv("ROTA_NODE_INDEX", "2", 1);
	assert_false(checkpoint_tasks_are_over(&step));
	assert_false(checkpoint_tasks_are_over(&step));
	setenv("ROTA_NODE_INDEX", "1", 1);
	assert_true(checkpoint_tasks_are_over(&step));
	assert_false(checkpoint_tasks_are_over(&step));
	setenv("ROTA_NNODES", "1", 1);
	assert_true(checkpoint_tasks_are_over(&step));
}

/* Write the library of DMTCP, with these names. */
static void write_library(const char *const *names, size_t count)
{
	char path[128];
	snprintf(path, sizeof path, "%s/lib/dmtcp/libdmtcp.so", dir);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(fwrite(names[i], strlen(names[i]) + 1, 1, file), 1);
	assert_int_equal(fclose(file), 0);
}

static void library_that_lacks_a_name_is_refused(void **state)
{
	(void)state;
	static const char *const names[] = {"dmtcp_local_barrier",	    "dmtcp_global_barrier",
					    "dmtcp_protected_environ_fd",   "dmtcp_is_protected_fd",
					    "Socket::Restart_Post_Restart", "Socket::Restart_Ns_Send_Queries",
					    "Socket::Restart_Refill",	    "_ZN5jalib9JSockAddr3ANYE"};
	const size_t count = sizeof names / sizeof *names;
	char folder[192];
	struct err e;
	snprintf(folder, sizeof folder, "mkdir -p %s/bin %s/lib/dmtcp", dir, dir);
	assert_int_equal(system(folder), 0);
	write_file("bin/dmtcp_launch", "program\n");
	snprintf(folder, sizeof folder, "%s/bin", dir);
	assert_true(dmtcp_nodes_library_fits(folder, &e)); /* it is elsewhere */
	write_library(names, count);
	assert_true(dmtcp_nodes_library_fits(folder, &e));
	write_library(names, count - 1);
	assert_false(dmtcp_nodes_library_fits(folder, &e));
	assert_non_null(strstr(e.message, "as its library lacks \"_ZN5jalib9JSockAddr3ANYE\""));
	write_library(names + 1, count - 1);
	assert_false(dmtcp_nodes_library_fits(folder, &e));
	assert_non_null(strstr(e.message, "as its library lacks \"dmtcp_local_barrier\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_nodes_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(one_node_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(node_that_is_over_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(unprepared_node_asks_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(processes_are_of_their_node, setup, teardown),
		cmocka_unit_test_setup_teardown(last_node_is_over, setup, teardown),
		cmocka_unit_test_setup_teardown(library_that_lacks_a_name_is_refused, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
