/* checkpoint_folder_test.c - folders of checkpoints: which files are taken, and which differences are found. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "procmgr/checkpoint/checkpoint_folder.h"

static char top[64];
static int top_fd;

static int make_top(void **state)
{
	struct err e;
	(void)state;
	snprintf(top, sizeof top, "/tmp/checkpoint.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	top_fd = folder_open(top, &e);
	return top_fd < 0;
}

static int remove_top(void **state)
{
	(void)state;
	close(top_fd);
	return folder_remove(AT_FDCWD, top) ? 0 : -1;
}

static void put(const char *name, const char *text)
{
	int fd = openat(top_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Hash a folder that has a file in itself and one below. */
static json_t *hashed(void)
{
	struct err e;
	int fd = folder_open_own(top_fd, "a", true, &e), deep = folder_open_own(fd, "deep", true, &e);
	put("a/state", "1 2\n");
	put("a/deep/more", "");
	json_t *files = folder_hash(fd, &e);
	assert_non_null(files);
	close(deep);
	close(fd);
	return files;
}

static void test_hash(void **state)
{
	(void)state;
	json_t *files = hashed(), *row;
	size_t i;
	assert_int_equal(json_array_size(files), 2);
	json_array_foreach (files, i, row) {
		bool is_state = strcmp(json_string_value(json_object_get(row, "name")), "state") == 0;
		if (!is_state)
			assert_string_equal(json_string_value(json_object_get(row, "name")), "deep/more");
		assert_int_equal(json_integer_value(json_object_get(row, "bytes")), is_state ? 4 : 0);
		assert_string_equal(json_string_value(json_object_get(row, "sha256")),
				    is_state ? "f251ddc12234e0da8d3b778bd0f7463fb477f16f47757f5617dc8b4ff4d4f14a"
					     : "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	}
	json_decref(files);
}

/* Check whether a checkpoint differs from its folder, and the message about it. NULL: it does not differ. */
static void compare(const json_t *files, const char *expected)
{
	struct err e;
	int fd = folder_open_own(top_fd, "a", false, &e);
	assert_true(fd >= 0);
	enum folder_match match = folder_compare(fd, files, &e);
	close(fd);
	assert_int_equal(match, expected ? FOLDER_DIFFERS : FOLDER_SAME);
	if (expected)
		assert_non_null(strstr(e.message, expected));
}

static void test_compare(void **state)
{
	(void)state;
	json_t *files = hashed();
	compare(files, NULL);
	put("a/extra", "not of the checkpoint");
	compare(files, NULL);
	put("a/state", "1 3\n");
	compare(files, "state: its SHA-256 differs");
	put("a/state", "1 2");
	compare(files, "state: it has 3 bytes, and had 4");
	assert_int_equal(unlinkat(top_fd, "a/state", 0), 0);
	compare(files, "state: could not open it");
	put("elsewhere", "1 2\n");
	assert_int_equal(symlinkat("../elsewhere", top_fd, "a/state"), 0);
	compare(files, "state: it is no file");
	assert_int_equal(unlinkat(top_fd, "a/state", 0), 0);
	assert_int_equal(mkfifoat(top_fd, "a/state", 0600), 0);
	compare(files, "state: it is no file");
	assert_int_equal(unlinkat(top_fd, "a/state", 0), 0);
	put("a/state", "1 2\n");
	/* A folder of the path is a symbolic link. */
	assert_int_equal(renameat(top_fd, "a/deep", top_fd, "away"), 0);
	assert_int_equal(symlinkat("../away", top_fd, "a/deep"), 0);
	compare(files, "deep/more: could not open it");
	/* An error is not reported as a difference. */
	struct err e;
	assert_int_equal(folder_compare(-1, files, &e), FOLDER_UNREADABLE);
	assert_non_null(strstr(e.message, ": could not open it: Bad file descriptor"));
	json_decref(files);
}

static void compare_whole(const json_t *files, const char *expected)
{
	struct err e;
	int fd = folder_open_own(top_fd, "a", false, &e);
	assert_int_equal(folder_compare_whole(fd, files, &e), expected ? FOLDER_DIFFERS : FOLDER_SAME);
	close(fd);
	if (expected)
		assert_string_equal(e.message, expected);
}

/* A driver restores whatever images are in the folder, so it must have no others. */
static void test_compare_whole(void **state)
{
	(void)state;
	json_t *files = hashed();
	compare_whole(files, NULL);
	put("a/extra", "not of the checkpoint");
	compare_whole(files, "extra: it is not one of the checkpoint's files");
	assert_int_equal(renameat(top_fd, "a/extra", top_fd, "a/deep/extra"), 0);
	compare_whole(files, "deep/extra: it is not one of the checkpoint's files");
	assert_int_equal(unlinkat(top_fd, "a/deep/extra", 0), 0);
	assert_int_equal(symlinkat("deep", top_fd, "a/parent"), 0);
	compare_whole(files, "parent: it is not one of the checkpoint's files");
	assert_int_equal(unlinkat(top_fd, "a/parent", 0), 0);
	put("a/state", "1 3\n");
	compare_whole(files, "state: its SHA-256 differs");
	json_decref(files);
}

static void test_refused(void **state)
{
	struct err e;
	(void)state;
	json_decref(hashed());
	assert_int_equal(symlinkat("/etc/passwd", top_fd, "a/link"), 0);
	int fd = folder_open_own(top_fd, "a", false, &e);
	assert_null(folder_hash(fd, &e));
	assert_non_null(strstr(e.message, "link"));
	assert_int_equal(unlinkat(fd, "link", 0), 0);
	assert_int_equal(mkfifoat(fd, "pipe", 0600), 0);
	assert_null(folder_hash(fd, &e));
	assert_string_equal(e.message, "\"pipe\" is neither a file nor a folder");
	close(fd);
	assert_int_equal(symlinkat("a", top_fd, "b"), 0);
	assert_int_equal(folder_open_own(top_fd, "b", true, &e), -1);
	assert_int_equal(fchmodat(top_fd, "a", 0770, 0), 0);
	assert_int_equal(folder_open_own(top_fd, "a", false, &e), -1);
	assert_string_equal(e.message, "folder \"a\" is not yours, or others may write to it");
	assert_int_equal(folder_open_own(top_fd, "c", false, &e), -1);
}

static void test_copy(void **state)
{
	struct err e;
	char path[128];
	(void)state;
	json_t *before = hashed();
	int fd = folder_open_own(top_fd, "copy", true, &e);
	snprintf(path, sizeof path, "%s/a/state", top);
	assert_true(folder_is_empty(fd));
	assert_true(folder_copy(path, fd, "state", &e));
	assert_false(folder_is_empty(fd));
	assert_false(folder_copy(path, fd, "state", &e)); /* the destination exists */
	assert_false(folder_copy(top, fd, "folder", &e));
	assert_non_null(strstr(e.message, "is no file"));
	assert_false(folder_copy("/nonexistent", fd, "x", &e));
	close(fd);
	assert_true(folder_remove(top_fd, "a"));
	assert_int_equal(renameat(top_fd, "copy", top_fd, "a"), 0);
	compare(before, "deep/more"); /* that file was not copied */
	json_decref(before);
}

/* folder_remove() removes symbolic links, not the files and folders that the links lead to. */
static void test_remove(void **state)
{
	(void)state;
	json_decref(hashed());
	put("stays", "x");
	assert_int_equal(symlinkat("../stays", top_fd, "a/link"), 0);
	assert_int_equal(symlinkat("..", top_fd, "a/deep/up"), 0);
	assert_true(folder_remove(top_fd, "a"));
	assert_int_equal(faccessat(top_fd, "a", F_OK, 0), -1);
	assert_int_equal(faccessat(top_fd, "stays", F_OK, 0), 0);
	assert_true(folder_remove(top_fd, "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hash, make_top, remove_top),
		cmocka_unit_test_setup_teardown(test_compare, make_top, remove_top),
		cmocka_unit_test_setup_teardown(test_compare_whole, make_top, remove_top),
		cmocka_unit_test_setup_teardown(test_refused, make_top, remove_top),
		cmocka_unit_test_setup_teardown(test_copy, make_top, remove_top),
		cmocka_unit_test_setup_teardown(test_remove, make_top, remove_top),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
