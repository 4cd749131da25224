/* removed_test.c - the list of removed credentials that rota-credd keeps. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "credmgr/removed.h"

static const char origin[] = "0123456789abcdef0123456789abcdef", other[] = "fedcba9876543210fedcba9876543210";

static struct removed *open_kept(void)
{
	struct err e;
	struct removed *r = removed_open(unit_folder, &e);
	assert_non_null(r);
	return r;
}

static void note_and_save(int64_t uid, const char *name, const char *from, int version, int64_t at)
{
	struct err e;
	struct removed *r = open_kept();
	assert_true(removed_note(r, uid, name, from, version, at));
	assert_true(removed_save(r, &e));
	removed_free(r);
}

/* Owner, name and origin identify a credential. One stored before there were origins is identified by its version. */
static void test_find(void **state)
{
	(void)state;
	note_and_save(1000, "archive", origin, 3, 77);
	note_and_save(1000, "old", "", 3, 78);
	struct removed *r = open_kept();
	assert_int_equal(removed_find(r, 1000, "archive", origin, 3), 77);
	assert_int_equal(removed_find(r, 1000, "archive", origin, 9), 77);
	assert_int_equal(removed_find(r, 1000, "archive", other, 1), 0);
	assert_int_equal(removed_find(r, 1001, "archive", origin, 1), 0);
	assert_int_equal(removed_find(r, 1000, "archiv", origin, 1), 0);
	assert_int_equal(removed_find(r, 1000, "old", "", 3), 78);
	assert_int_equal(removed_find(r, 1000, "old", "", 4), 0);
	removed_free(r);
}

static long file_size(void)
{
	struct stat st;
	return stat(unit_path("removed"), &st) == 0 ? (long)st.st_size : -1;
}

/* A removal that is in the list is not written again. */
static void test_once(void **state)
{
	(void)state;
	assert_int_equal(file_size(), -1);
	note_and_save(1000, "archive", origin, 3, 77);
	long size = file_size();
	note_and_save(1000, "archive", origin, 3, 77);
	assert_int_equal(file_size(), size);
}

/* A crash has left a part of a line in the file. */
static void test_torn(void **state)
{
	(void)state;
	note_and_save(1000, "archive", origin, 3, 77);
	FILE *file = fopen(unit_path("removed"), "a");
	assert_true(file && fputs("1000 archive fedcba98765432", file) > 0 && fclose(file) == 0);
	note_and_save(1000, "archive", other, 1, 78);
	struct removed *r = open_kept();
	assert_int_equal(removed_find(r, 1000, "archive", origin, 1), 77);
	assert_int_equal(removed_find(r, 1000, "archive", other, 1), 78);
	removed_free(r);
}

/* A write that ended in the middle of a line has left a part of it; the whole line is written again. */
static void test_half_written(void **state)
{
	(void)state;
	struct rlimit before, bound;
	struct err e;
	struct removed *r = open_kept();
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	bound = (struct rlimit){.rlim_cur = 20, .rlim_max = before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_true(removed_note(r, 1000, "archive", origin, 3, 77));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &bound), 0);
	assert_false(removed_save(r, &e));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_true(file_size() > 0);
	assert_true(removed_save(r, &e));
	removed_free(r);
	r = open_kept();
	assert_int_equal(removed_find(r, 1000, "archive", origin, 3), 77);
	removed_free(r);
}

/* Removals that another rota-credd has written into the same folder are known once the file is read again; own ones stay. */
static void test_shared(void **state)
{
	(void)state;
	struct err e;
	struct removed *r = open_kept();
	assert_true(removed_note(r, 1000, "own", origin, 3, 76));
	note_and_save(1000, "archive", origin, 3, 77);
	assert_int_equal(removed_find(r, 1000, "archive", origin, 3), 0);
	assert_true(removed_read(r, &e));
	assert_int_equal(removed_find(r, 1000, "archive", origin, 3), 77);
	assert_true(removed_save(r, &e));
	removed_free(r);
	r = open_kept();
	assert_int_equal(removed_find(r, 1000, "own", origin, 3), 76);
	assert_int_equal(removed_find(r, 1000, "archive", origin, 3), 77);
	removed_free(r);
}

/* A malformed name or origin is written to no file. */
static void test_refused(void **state)
{
	(void)state;
	struct removed *r = open_kept();
	assert_false(removed_note(r, 1000, "archive\n1001", origin, 1, 77));
	assert_false(removed_note(r, 1000, "archive@bob", origin, 1, 77));
	assert_false(removed_note(r, 1000, "archive", "abc", 1, 77));
	removed_free(r);
}

/* A removal that could not be written counts all the same, and is written later. */
static void test_retried(void **state)
{
	(void)state;
	struct err e;
	struct removed *r = open_kept();
	assert_int_equal(mkdir(unit_path("removed"), 0700), 0);
	assert_true(removed_note(r, 1000, "archive", origin, 3, 77));
	assert_false(removed_save(r, &e));
	assert_int_equal(removed_find(r, 1000, "archive", origin, 3), 77);
	assert_int_equal(rmdir(unit_path("removed")), 0);
	assert_true(removed_save(r, &e));
	removed_free(r);
	r = open_kept();
	assert_int_equal(removed_find(r, 1000, "archive", origin, 3), 77);
	removed_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_find, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(test_once, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(test_torn, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(test_half_written, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(test_shared, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(test_refused, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(test_retried, unit_folder_make, unit_folder_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
