/* trust_test.c - files that another user can change are refused, whichever folder or link of the path makes that possible. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/trust.h"

enum { OTHER = 4321 };

static char folder[] = "/tmp/rota-trust.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[4][128];
	static int next;
	next = (next + 1) % 4;
	snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
	return path[next];
}

static void make(const char *name, mode_t mode)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && fchmod(fd, mode) == 0);
	close(fd);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder) || mkdir(path_of("open"), 0755) < 0 || mkdir(path_of("sticky"), 0755) < 0 ||
	    mkdir(path_of("closed"), 0755) < 0 || chmod(path_of("open"), 0777) < 0 || chmod(path_of("sticky"), 01777) < 0)
		return -1;
	make("closed/file", 0755);
	make("open/file", 0755);
	make("sticky/file", 0755);
	make("closed/loose", 0775);
	make("closed/public", 0666);
	return symlink("../closed/file", path_of("open/link")) < 0 || symlink("../closed/file", path_of("sticky/link")) < 0 ||
	       symlink("closed", path_of("way")) < 0 || symlink(path_of("open/file"), path_of("closed/out")) < 0 ||
	       symlink("loop", path_of("closed/loop")) < 0;
}

static int tear_down(void **state)
{
	char *command = NULL;
	(void)state;
	if (asprintf(&command, "rm -rf %s", folder) < 0)
		return -1;
	int status = system(command);
	free(command);
	return status;
}

static bool is_trusted(const char *name)
{
	struct err e;
	return trust_file(path_of(name), 0, &e);
}

static void test_modes(void **state)
{
	(void)state;
	assert_true(is_trusted("closed/file"));
	assert_true(is_trusted("closed/../closed//./file"));
	assert_true(is_trusted("sticky/file"));
	assert_false(is_trusted("open/file"));
	assert_false(is_trusted("closed/loose"));
	assert_false(is_trusted("closed/public"));
}

static void test_links(void **state)
{
	(void)state;
	assert_true(is_trusted("way/file"));
	assert_true(is_trusted("sticky/link"));
	assert_false(is_trusted("open/link"));
	assert_false(is_trusted("closed/out"));
	assert_false(is_trusted("closed/loop"));
}

static void test_owners(void **state)
{
	(void)state;
	struct err e;
	if (geteuid() != 0)
		skip();
	make("closed/theirs", 0755);
	assert_int_equal(chown(path_of("closed/theirs"), OTHER, OTHER), 0);
	assert_false(is_trusted("closed/theirs"));
	assert_true(trust_file(path_of("closed/theirs"), OTHER, &e));
	assert_int_equal(lchown(path_of("sticky/link"), OTHER, OTHER), 0);
	assert_false(is_trusted("sticky/link"));
}

static void test_programs(void **state)
{
	(void)state;
	struct err e;
	const char *good[] = {"", path_of("closed/file"), path_of("closed/missing"), NULL},
		   *bad[] = {"", path_of("closed/loose"), NULL};
	assert_true(trust_programs(good, &e));
	assert_false(trust_programs(bad, &e));
	assert_false(is_trusted("closed/missing"));
	assert_int_equal(errno, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_programs),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
