/* checkpoint_files_test.c - the files that a program saved by CRIU writes to, with their sizes. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/criu_files.h"

static char dir[] = "/tmp/rota-files-test.XXXXXX";
static int folder, written, read_only;

static int setup(void **state)
{
	(void)state;
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	folder = open(dir, O_RDONLY | O_DIRECTORY);
	written = openat(folder, "written", O_RDWR | O_CREAT, 0600);
	assert_int_equal(write(written, "0123456789", 10), 10);
	read_only = openat(folder, "written", O_RDONLY);
	return folder < 0 || read_only < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(read_only);
	close(written);
	close(folder);
	return !folder_remove(AT_FDCWD, dir);
}

static off_t size_now(void)
{
	struct stat s;
	return fstat(read_only, &s) == 0 ? s.st_size : -1;
}

static void grown_files_are_cut(void **state)
{
	(void)state;
	struct err e;
	assert_true(criu_files_note(getpid(), folder, &e));
	assert_int_equal(write(written, "more", 4), 4);
	assert_true(criu_files_cut(folder, &e));
	assert_int_equal(size_now(), 10);
}

static void shorter_files_are_refused(void **state)
{
	(void)state;
	struct err e;
	assert_true(criu_files_note(getpid(), folder, &e));
	assert_int_equal(ftruncate(written, 4), 0);
	assert_false(criu_files_cut(folder, &e));
	assert_non_null(strstr(e.message, "has 4 bytes, and had 10"));
	assert_int_equal(size_now(), 4);
}

/* A file that the program only reads is not listed. */
static void files_that_are_read_are_left(void **state)
{
	(void)state;
	struct err e;
	close(written);
	written = -1;
	assert_true(criu_files_note(getpid(), folder, &e));
	int again = openat(folder, "written", O_WRONLY | O_APPEND);
	assert_int_equal(write(again, "more", 4), 4);
	close(again);
	assert_true(criu_files_cut(folder, &e));
	assert_int_equal(size_now(), 14);
}

/* The file of that name may be another file now. */
static void links_and_pipes_are_refused(void **state)
{
	(void)state;
	struct err e;
	assert_true(criu_files_note(getpid(), folder, &e));
	assert_int_equal(renameat(folder, "written", folder, "other"), 0);
	assert_int_equal(symlinkat("other", folder, "written"), 0);
	assert_false(criu_files_cut(folder, &e));
	assert_int_equal(unlinkat(folder, "written", 0), 0);
	assert_int_equal(mkfifoat(folder, "written", 0600), 0);
	assert_false(criu_files_cut(folder, &e));
	assert_int_equal(size_now(), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(grown_files_are_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(shorter_files_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(files_that_are_read_are_left, setup, teardown),
		cmocka_unit_test_setup_teardown(links_and_pipes_are_refused, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
