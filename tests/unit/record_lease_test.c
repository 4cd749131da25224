/* record_lease_test.c - the file `lease`: what is written reads back; a torn file, one of another boot or none is no lease; how a
 * lease extends the one before. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "procmgr/record/lease.h"

enum { SECOND = 1000000 };

static int setup(void **state)
{
	return unit_folder_make(state) == 0 && chdir(unit_folder) == 0 ? 0 : -1;
}

static void make(void)
{
	struct err e;
	unlink("lease");
	assert_true(lease_make(geteuid(), getegid(), &e));
}

static void test_read(void **state)
{
	(void)state;
	struct err e;
	struct lease lease = {1, 2 * SECOND, 3 * SECOND}, got;
	struct stat before, after;
	unlink("lease");
	assert_false(lease_read(&got));
	assert_false(lease_write(&lease, &e)); /* the launcher makes the file */
	make();
	assert_false(lease_read(&got));
	assert_int_equal(stat("lease", &before), 0);
	assert_int_equal(before.st_mode & 07777, 0600);
	assert_true(lease_write(&lease, &e));
	assert_true(lease_read(&got));
	assert_memory_equal(&got, &lease, sizeof got);
	assert_int_equal(stat("lease", &after), 0);
	assert_int_equal(after.st_ino, before.st_ino); /* changed in place, so that a full disk does not end running steps */
	assert_int_equal(after.st_size, before.st_size);
	assert_true(lease_make(geteuid(), getegid(), &e)); /* the next launcher leaves the file as it is */
	assert_true(lease_read(&got));
}

/* A lease with any byte changed is no lease. */
static void test_torn(void **state)
{
	(void)state;
	struct err e;
	struct lease lease = {1, 2 * SECOND, 3 * SECOND}, got;
	char record[256], byte;
	make();
	assert_true(lease_write(&lease, &e));
	int fd = open("lease", O_RDWR);
	ssize_t size = pread(fd, record, sizeof record, 0);
	assert_true(size > 0);
	for (ssize_t i = 0; i < size; i++) {
		byte = record[i] == '7' ? '8' : '7';
		assert_int_equal(pwrite(fd, &byte, 1, i), 1);
		assert_false(lease_read(&got));
		assert_int_equal(pwrite(fd, &record[i], 1, i), 1);
	}
	assert_true(lease_read(&got));
	assert_int_equal(ftruncate(fd, size - 1), 0);
	assert_false(lease_read(&got));
	close(fd);
}

static void test_links(void **state)
{
	(void)state;
	struct err e;
	struct lease got;
	make();
	assert_true(lease_write(&(struct lease){1, 2, 3}, &e));
	assert_int_equal(rename("lease", "other"), 0);
	assert_int_equal(symlink("other", "lease"), 0);
	assert_false(lease_read(&got));
	assert_false(lease_write(&(struct lease){1, 2, 3}, &e));
	assert_false(lease_make(geteuid(), getegid(), &e));
	unlink("other");
}

static void test_extended(void **state)
{
	(void)state;
	struct lease first = lease_extended(NULL, 100, 10, 4);
	assert_int_equal(first.since, 100);
	assert_int_equal(first.until, 100 + 10 * SECOND);
	assert_int_equal(first.dead_by, first.until + 4 * SECOND);
	struct lease second = lease_extended(&first, first.until, 10, 4);
	assert_int_equal(second.since, 100); /* the request was sent in time */
	struct lease third = lease_extended(&second, second.until + 1, 10, 4);
	assert_int_equal(third.since, second.until + 1); /* the lease had run out */
	assert_true(first.until < lease_kill_at(&first) && lease_kill_at(&first) < lease_sweep_at(&first) &&
		    lease_sweep_at(&first) < first.dead_by);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_extended),
	};
	return cmocka_run_group_tests(tests, setup, unit_folder_remove);
}
