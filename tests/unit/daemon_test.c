/* daemon_test.c - pid files: one process locks the file, others find it, and the lock ends with its process, whose children do
 * not keep it. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/wait.h>

#include "lib/daemon.h"

/* Start a child that locks `path`, reports whether it succeeded, and waits to be ended. */
static pid_t holder_start(const char *path, bool *locked)
{
	int ends[2];
	char word = 0;
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		struct err e;
		word = daemon_lock(path, &e) ? 'y' : 'n';
		if (write(ends[1], &word, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &word, 1), 1);
	close(ends[0]);
	close(ends[1]);
	*locked = word == 'y';
	return child;
}

static void holder_end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void test_one_holder(void **state)
{
	(void)state;
	bool locked;
	struct err e;
	const char *path = unit_path("x.pid");
	assert_int_equal(daemon_holder(path), 0);
	pid_t first = holder_start(path, &locked);
	assert_true(locked);
	assert_int_equal(daemon_holder(path), first);
	char *version = daemon_version(path);
	assert_string_equal(version, ROTA_VERSION);
	free(version);
	pid_t second = holder_start(path, &locked);
	assert_false(locked);
	holder_end(second);
	assert_false(daemon_lock(path, &e));
	char number[32];
	snprintf(number, sizeof number, "process %ld", (long)first);
	assert_non_null(strstr(e.message, number));
	holder_end(first);
	assert_int_equal(daemon_holder(path), 0); /* the file is still there */
	version = daemon_version(path);
	assert_string_equal(version, "");
	free(version);
	assert_int_equal(access(path, F_OK), 0);
}

static void test_own_lock(void **state)
{
	(void)state;
	struct err e;
	bool locked;
	const char *path = unit_path("y.pid");
	assert_true(daemon_lock(path, &e));
	assert_int_equal(daemon_holder(path), getpid());
	pid_t other = holder_start(path, &locked); /* daemon_holder() did not drop the lock, and a child does not have it */
	assert_false(locked);
	holder_end(other);
	FILE *file = fopen(path, "r");
	char text[32] = "", pid[32];
	snprintf(pid, sizeof pid, "%ld %s\n", (long)getpid(), ROTA_VERSION);
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof text, file));
	assert_string_equal(text, pid);
	fclose(file);
}

/* A text written after the pid replaces the earlier text, whether longer or shorter, and the lock stays. */
static void test_note(void **state)
{
	(void)state;
	static const char *const notes[] = {"812.0.1 fence", "812.0.1", "1234567890.12.3 fence"};
	struct err e;
	const char *path = unit_path("z.pid");
	assert_true(daemon_lock(path, &e));
	for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
		char text[256], its[64] = "", word[64] = "", again[136];
		assert_true(daemon_note(notes[i], &e));
		FILE *file = fopen(path, "r");
		assert_non_null(file);
		text[fread(text, 1, sizeof text - 1, file)] = '\0';
		fclose(file);
		assert_true(sscanf(text, "%*d %*s %63s %63s", its, word) >= 1);
		snprintf(again, sizeof again, "%s%s%s", its, *word ? " " : "", word);
		assert_string_equal(again, notes[i]);
		assert_true(daemon_lock(path, &e)); /* closing the file has dropped the lock */
	}
	char *version = daemon_version(path);
	assert_string_equal(version, ROTA_VERSION);
	free(version);
	char *longer = xcalloc(1, 200);
	memset(longer, 'x', 199);
	assert_false(daemon_note(longer, &e));
	free(longer);
}

static void test_become(void **state)
{
	(void)state;
	struct err e;
	assert_true(daemon_become("", &e));
	assert_false(daemon_become("no-such-account", &e));
	assert_string_equal(e.message, "account \"no-such-account\" does not exist");
	pid_t child = fork();
	if (child == 0) {
		bool root = geteuid() == 0, became = daemon_become(root ? "nobody" : "root", &e);
		bool dropped = became && geteuid() != 0 && getuid() == geteuid() && setuid(0) < 0 &&
			       strcmp(getenv("USER"), "nobody") == 0;
		_exit(root ? !dropped : became);
	}
	int status = -1;
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

#define FOLDER_TEST(f) cmocka_unit_test_setup_teardown(f, unit_folder_make, unit_folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOLDER_TEST(test_one_holder),
		FOLDER_TEST(test_own_lock),
		FOLDER_TEST(test_note),
		FOLDER_TEST(test_become),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
