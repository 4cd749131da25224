/* launcher_spool_test.c - when an attempt's folder counts as gone from spool/. */
#include "tests/unit/unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "procmgr/launcher/launcher_parts.h"

static char dir[] = "/tmp/rota-spool-test.XXXXXX";
static char path[LAUNCHER_PATH_SIZE];
static struct record_key key;

static int setup_group(void **state)
{
	(void)state;
	assert_true(record_key_parse("7.0.1", &key));
	launcher_spool_path("spool", &key, "", path);
	assert_non_null(mkdtemp(dir));
	return chdir(dir);
}

static int teardown_group(void **state)
{
	(void)state;
	return rmdir(dir);
}

static void gone_without_its_folder(void **state)
{
	(void)state;
	assert_int_equal(mkdir("spool", 0700), 0);
	assert_true(launcher_spool_is_gone(&key));
	assert_int_equal(mkdir(path, 0700), 0);
	assert_false(launcher_spool_is_gone(&key));
	rmdir(path);
	rmdir("spool");
}

/* A disk with errors: the folder of a running step cannot be read, and does not count as gone, so that its TMPDIR stays. */
static void not_gone_if_the_folder_cannot_be_read(void **state)
{
	(void)state;
	assert_int_equal(mkdir("spool", 0700), 0);
	assert_int_equal(symlink(strrchr(path, '/') + 1, path), 0); /* ELOOP */
	assert_false(launcher_spool_has(&key));
	assert_false(launcher_spool_is_gone(&key));
	unlink(path);
	rmdir("spool");
}

static void not_gone_if_the_spool_is_gone(void **state)
{
	(void)state;
	assert_false(launcher_spool_is_gone(&key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gone_without_its_folder),
		cmocka_unit_test(not_gone_if_the_folder_cannot_be_read),
		cmocka_unit_test(not_gone_if_the_spool_is_gone),
	};
	return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
