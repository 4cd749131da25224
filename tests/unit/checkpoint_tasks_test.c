/* checkpoint_tasks_test.c - tasks of one step: what task 0 has chosen, or that it has died, reaches the others; and all begin together. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmgr/checkpoint/checkpoint_tasks.h"
#include "procmgr/checkpoint/dmtcp_tasks.h"

static char dir[64], run[128];
static const struct checkpoint step = {.config = "", .driver = "dmtcp", .dir = dir, .asked = "", .is_task = true};

/* A step of two tasks, in a folder of its own, whose folder for the coordinator of attempt 3 exists. */
static int setup(void **state)
{
	(void)state;
	char next[96];
	snprintf(dir, sizeof dir, "/tmp/rota-tasks-test.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(next, sizeof next, "%s/next.3", dir);
	snprintf(run, sizeof run, "%s.run", next);
	assert_int_equal(mkdir(run, 0700), 0);
	setenv("ROTA_CHECKPOINT_DIR", next, 1);
	setenv("ROTA_STEP_LABEL", "1.a", 1);
	setenv("ROTA_ATTEMPT", "3", 1);
	setenv("ROTA_NTASKS", "2", 1);
	setenv("ROTA_TASK_ID", "1", 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	char line[96];
	snprintf(line, sizeof line, "rm -rf %s", dir);
	return system(line);
}

/* Start a process as task 0, which has made its file before this returns. It ends when *ends is closed, without a word if `silent`. */
static pid_t start_first(bool silent, int *ends)
{
	int made[2], end[2];
	char byte;
	struct err e;
	assert_int_equal(pipe(made), 0);
	assert_int_equal(pipe(end), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(end[1]);
		int fd = checkpoint_tasks_lead(&step, &e);
		json_t *from = json_pack("{s:i, s:s}", "generation", 7, "path", "/seven");
		if (fd < 0 || write(made[1], "", 1) != 1 || read(end[0], &byte, 1) != 0)
			_exit(1);
		_exit(silent || checkpoint_tasks_tell(fd, from, true, &e) ? 0 : 1);
	}
	close(end[0]);
	close(made[1]);
	assert_int_equal(read(made[0], &byte, 1), 1);
	close(made[0]);
	*ends = end[1];
	return pid;
}

static void assert_ended_well(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void choice_reaches_others(void **state)
{
	(void)state;
	struct err e;
	bool restores = false;
	int ends;
	assert_true(checkpoint_tasks_are_several(&step));
	assert_int_equal(checkpoint_tasks_rank(), 1);
	pid_t pid = start_first(false, &ends);
	/* Nothing is in the file while task 0 has it locked. */
	pid_t other = fork();
	if (other == 0) {
		close(ends);
		json_t *from = checkpoint_tasks_await(&step, &restores, &e);
		_exit(from && restores && json_integer_value(json_object_get(from, "generation")) == 7 &&
				      strcmp(json_string_value(json_object_get(from, "path")), "/seven") == 0
			      ? 0
			      : 1);
	}
	usleep(100000);
	assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
	close(ends);
	assert_ended_well(pid);
	assert_ended_well(other);
	assert_true(checkpoint_tasks_is_file("next.3.tasks"));
	assert_false(checkpoint_tasks_is_file("next.2.tasks"));
}

static void dead_leader_is_noticed(void **state)
{
	(void)state;
	struct err e;
	bool restores;
	int ends;
	pid_t pid = start_first(true, &ends);
	close(ends);
	assert_ended_well(pid);
	assert_null(checkpoint_tasks_await(&step, &restores, &e));
	assert_string_equal(e.message, "task 0 has not started");
}

static void tasks_join_together(void **state)
{
	(void)state;
	struct err e;
	char list[128];
	assert_false(dmtcp_tasks_join(1, &e));
	assert_string_equal(e.message, "task 0 has not started within 1 second");
	assert_false(dmtcp_tasks_all_listed(run, "", &e));
	assert_string_equal(e.message, "task 0 has not started yet");
	assert_int_equal(dmtcp_tasks_process(run, 0), 0);
	assert_true(dmtcp_tasks_note(run, 0, true, &e));
	assert_true(dmtcp_tasks_note(run, 1, false, &e));
	assert_int_equal(dmtcp_tasks_process(run, 0), getpid());
	/* This task has given up, so no program begins, also not that of a task that comes when all have joined. */
	assert_false(dmtcp_tasks_join(1, &e));
	assert_string_equal(e.message, "not all tasks have started within 1 second");
	char decision[160];
	snprintf(decision, sizeof decision, "%s/decision", run);
	assert_int_equal(unlink(decision), 0);
	assert_true(dmtcp_tasks_join(1, &e));
	assert_true(dmtcp_tasks_join(1, &e));
	snprintf(list, sizeof list, "1, a[40000:%d]@h, x\n", (int)getpid());
	assert_true(dmtcp_tasks_all_listed(run, list, &e));
	assert_false(dmtcp_tasks_all_listed(run, "1, a[40000:1]@h, x\n", &e));
	assert_string_equal(e.message, "task 0 has ended, so the tasks cannot be saved together any more");
}

static void lost_task_is_named(void **state)
{
	(void)state;
	struct err e;
	char path[160];
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	assert_ended_well(pid);
	for (int rank = 0; rank < 2; rank++)
		assert_true(dmtcp_tasks_note(run, rank, true, &e));
	assert_int_equal(dmtcp_tasks_lost(run, true), -1);
	setenv("ROTA_NTASKS", "3", 1);
	assert_int_equal(dmtcp_tasks_lost(run, false), -1);
	assert_int_equal(dmtcp_tasks_lost(run, true), 2);
	snprintf(path, sizeof path, "%s/task.2", run);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%d\n", (int)pid);
	fclose(file);
	assert_int_equal(dmtcp_tasks_lost(run, false), 2);
	setenv("ROTA_NTASKS", "2", 1);
}

/* A task that was saved while it was waiting goes on in a later attempt, where the folder is gone. */
static void saved_task_joins_later(void **state)
{
	(void)state;
	struct err e;
	pid_t pid = fork();
	if (pid == 0)
		_exit(dmtcp_tasks_join(600, &e) ? 0 : 1);
	char path[160], line[160];
	snprintf(path, sizeof path, "%s/joined.1", run);
	while (access(path, F_OK) < 0)
		usleep(10000);
	snprintf(line, sizeof line, "rm -r %s", run);
	assert_int_equal(system(line), 0);
	assert_ended_well(pid);
}

static void folders_are_of_tasks(void **state)
{
	(void)state;
	char name[DMTCP_TASK_NAME_SIZE];
	assert_int_equal(dmtcp_tasks_count(), 2);
	assert_true(dmtcp_tasks_folder(1, name));
	assert_string_equal(name, "task.1");
	setenv("ROTA_NTASKS", "1", 1);
	assert_int_equal(dmtcp_tasks_count(), 1);
	assert_false(dmtcp_tasks_folder(0, name));
	assert_false(checkpoint_tasks_are_several(&step));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(choice_reaches_others, setup, teardown),
		cmocka_unit_test_setup_teardown(dead_leader_is_noticed, setup, teardown),
		cmocka_unit_test_setup_teardown(tasks_join_together, setup, teardown),
		cmocka_unit_test_setup_teardown(lost_task_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(saved_task_joins_later, setup, teardown),
		cmocka_unit_test_setup_teardown(folders_are_of_tasks, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
