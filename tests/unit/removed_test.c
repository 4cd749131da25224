/* removed_test.c - what rota-credd keeps of credentials that were removed. */
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

/* Owner, name and origin say which credential it was. Of one that was stored before there were origins, the version does. */
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

/* What is known is not written again. */
static void test_once(void **state)
{
	(void)state;
	assert_int_equal(file_size(), -1);
	note_and_save(1000, "archive", origin, 3, 77);
	long size = file_size();
	note_and_save(1000, "archive", origin, 3, 77);
	assert_int_equal(file_size(), size);
}

/* A crash has left a part of a line. */
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

/* A write that ended in the middle of a line has left a part of it; the line is written anew, and whole. */
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

/* What another rota-credd has written into the same folder is known once the file was read again, and what was noted stays. */
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

/* What is no name and no origin gets into no file. */
static void test_refused(void **state)
{
	(void)state;
	struct removed *r = open_kept();
	assert_false(removed_note(r, 1000, "archive\n1001", origin, 1, 77));
	assert_false(removed_note(r, 1000, "archive@bob", origin, 1, 77));
	assert_false(removed_note(r, 1000, "archive", "abc", 1, 77));
	removed_free(r);
}

/* What could not be written counts all the same, and is written later. */
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
