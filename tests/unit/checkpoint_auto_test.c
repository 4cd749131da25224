/* checkpoint_auto_test.c - steps that cannot be saved as process images: those with GPUs or credentials, and scripts that start
 * MPI programs. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "procmgr/checkpoint/driver.h"
#include "procmgr/checkpoint/script_mpi.h"

static char path[] = "/tmp/rota-script-test.XXXXXX";
static const struct conf no_folders; /* of DMTCP and CRIU */

static int setup_group(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int teardown_group(void **state)
{
	(void)state;
	return unlink(path);
}

static int setup(void **state)
{
	(void)state;
	return unsetenv("SLURM_JOB_GPUS") + unsetenv("ROTA_CREDENTIALS");
}

static void write_script(const char *text)
{
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void launchers_are_found(void **state)
{
	(void)state;
	static const struct {
		const char *text, *found;
	} scripts[] = {
		{"#!/bin/bash\nmpirun -n 4 ./solve\n", "mpirun"},
		{"#!/bin/bash\n./prepare && time /opt/mpi/bin/mpiexec.hydra ./solve", "mpiexec.hydra"},
		{"#!/bin/bash\nmpiexec ./solve\n", "mpiexec"},
		{"#!/bin/bash\nout=$(orterun ./solve)\n", "orterun"},
		{"#!/bin/bash\n\tsrun\n", "srun"},
		{"#!/bin/bash\n\"$MPI_HOME/bin/mpirun\" ./a#b # a comment\n", "mpirun"},
		{"#!/usr/bin/python3\nsubprocess.run(['mpirun', 'solve'])\n", "mpirun"},
		{"#!/bin/bash\necho ${#list} mpirun\n", "mpirun"},
		{"#!/bin/bash\n#ROTA --comment=mpirun\n# mpirun\n./solve # not mpirun\n", NULL},
		{"#!/bin/bash\n./mpirun.sh mpirun2 my-mpirun mpirun/ xsrun mpiexecutable mpirun.log\n", NULL},
		{"", NULL},
	};
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
		write_script(scripts[i].text);
		const char *found = script_mpi_find(path);
		if (scripts[i].found ? !found || strcmp(found, scripts[i].found) != 0 : found != NULL)
			fail_msg("%s: %s", scripts[i].text, found ? found : "none");
	}
	assert_null(script_mpi_find("/nowhere/script"));
}

/* Choose a driver for the script. Returns false with its error in `why`. */
static bool choose(const char *named, const char *text, struct driver_use *use, char why[DRIVER_WHY_SIZE])
{
	struct err e = {.message = ""};
	write_script(text);
	*use = (struct driver_use){.is_choice = true, .script = path};
	bool chosen = driver_choose(named, &no_folders, "/", path, use, why, &e);
	if (!chosen)
		snprintf(why, DRIVER_WHY_SIZE, "%.300s", e.message);
	return chosen;
}

static void auto_chooses_app(const char *text, const char *reason)
{
	struct driver_use use;
	char why[DRIVER_WHY_SIZE];
	assert_true(choose("auto", text, &use, why));
	assert_ptr_equal(use.driver, &driver_app);
	assert_non_null(strstr(why, reason));
}

static void auto_makes_no_image_of_them(void **state)
{
	(void)state;
	auto_chooses_app("#!/bin/sh\n", "the program has to save itself, since dmtcp does not fit");
	auto_chooses_app("#!/bin/sh\nsrun solve\n", "the program has to save itself: the step's script has the word srun");
	setenv("ROTA_CREDENTIALS", "/run/cred", 1);
	auto_chooses_app("#!/bin/sh\n", "the program has to save itself: the step has credentials");
	setenv("SLURM_JOB_GPUS", "0,1", 1);
	auto_chooses_app("#!/bin/sh\n", "the program has to save itself: the step has GPUs");
}

/* A restored process would not have the rights of its program. */
static void auto_makes_none_of_programs_with_rights(void **state)
{
	(void)state;
	struct driver_use use;
	char why[DRIVER_WHY_SIZE];
	static const char reason[] = "the program has to save itself: program \"%s\" has the setuid or setgid bit";
	char expected[sizeof reason + sizeof path];
	snprintf(expected, sizeof expected, reason, path);
	for (mode_t bit = S_ISGID; bit <= S_ISUID; bit *= 2) {
		write_script("#!/bin/sh\n");
		assert_int_equal(chmod(path, 0700 | bit), 0);
		assert_true(driver_choose("auto", &no_folders, "/", path, &use, why, &(struct err){0}));
		assert_string_equal(why, expected);
	}
	assert_int_equal(chmod(path, 0700), 0);
}

static void named_drivers_make_none(void **state)
{
	(void)state;
	static const char *const drivers[] = {"dmtcp", "criu"};
	struct driver_use use;
	char why[DRIVER_WHY_SIZE];
	setenv("ROTA_CREDENTIALS", "/run/cred", 1);
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
		assert_false(choose(drivers[i], "#!/bin/sh\n", &use, why));
		assert_non_null(strstr(why, "the step has credentials"));
	}
	assert_true(choose("app", "#!/bin/sh\n", &use, why));
	unsetenv("ROTA_CREDENTIALS");
	setenv("SLURM_JOB_GPUS", "0", 1);
	assert_false(choose("dmtcp", "#!/bin/sh\n", &use, why));
	assert_non_null(strstr(why, "the step has GPUs"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launchers_are_found),
		cmocka_unit_test_setup(auto_makes_no_image_of_them, setup),
		cmocka_unit_test_setup(auto_makes_none_of_programs_with_rights, setup),
		cmocka_unit_test_setup(named_drivers_make_none, setup),
	};
	return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
