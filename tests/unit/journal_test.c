/* journal_test.c - append, read, torn tails, truncation while others hold the file, and appenders that die or race. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/journal.h"
#include "lib/log.h"

static struct journal *open_it(enum journal_mode mode)
{
	struct err e;
	struct journal *j = journal_open(unit_path("journal"), mode, &e);
	if (!j)
		fail_msg("%s", e.message);
	return j;
}

static void append(struct journal *j, int64_t n, size_t padding)
{
	struct err e;
	struct fields *f = fields_new();
	char *text = xcalloc(1, padding + 1);
	memset(text, 'p', padding);
	fields_add_int(f, "n", n);
	fields_add(f, "padding", text);
	if (!journal_append(j, f, &e))
		fail_msg("%s", e.message);
	fields_free(f);
	free(text);
}

struct seen {
	int64_t n[4096];
	int count, stop_at; /* stop_at: -1: never */
};

static bool see(const struct fields *record, void *arg)
{
	struct seen *s = arg;
	struct err e;
	if (s->count == s->stop_at)
		return false;
	assert_true(fields_int(record, "n", 0, INT64_MAX, &s->n[s->count], &e));
	s->count++;
	return true;
}

/* Read on from *position, and check that exactly the `count` given numbers come. */
static void expect(struct journal *j, int64_t *position, int count, ...)
{
	struct err e;
	struct seen s = {.stop_at = -1};
	if (!journal_read(j, position, see, &s, &e))
		fail_msg("%s", e.message);
	assert_int_equal(s.count, count);
	va_list args;
	va_start(args, count);
	for (int i = 0; i < count; i++)
		assert_int_equal(s.n[i], va_arg(args, int));
	va_end(args);
}

static bool keep_even(const struct fields *record, void *arg)
{
	struct err e;
	int64_t n = 0;
	(void)arg;
	assert_true(fields_int(record, "n", 0, INT64_MAX, &n, &e));
	return n % 2 == 0;
}

static void test_append_and_read(void **state)
{
	(void)state;
	struct journal *j = open_it(JOURNAL_WRITE), *r = open_it(JOURNAL_READ);
	int64_t at = 0;
	expect(r, &at, 0);
	append(j, 1, 10);
	append(j, 2, 0);
	expect(r, &at, 2, 1, 2);
	expect(r, &at, 0);
	append(j, 3, 100000);
	expect(r, &at, 1, 3);
	int64_t from_start = 0;
	expect(j, &from_start, 3, 1, 2, 3);
	assert_int_equal(at, from_start);
	assert_int_equal(journal_size(r), at + 16);
	struct stat st;
	assert_int_equal(stat(unit_path("journal"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(stat(unit_path("journal.lock"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	journal_close(j);
	journal_close(r);
}

/* Gathered records are in the file once they are put there, and not before. */
static void test_gather(void **state)
{
	(void)state;
	struct journal *j = open_it(JOURNAL_WRITE), *r = open_it(JOURNAL_READ);
	struct err e;
	int64_t at = 0;
	append(j, 1, 10);
	journal_gather(j);
	append(j, 2, 10);
	append(j, 3, 5000);
	expect(r, &at, 1, 1);
	assert_true(journal_put(j, &e));
	expect(r, &at, 2, 2, 3);
	append(j, 4, 10);
	expect(r, &at, 1, 4);
	journal_gather(j);
	assert_true(journal_put(j, &e));
	expect(r, &at, 0);
	journal_close(j);
	journal_close(r);
}

static void test_stop_early(void **state)
{
	(void)state;
	struct journal *j = open_it(JOURNAL_WRITE);
	struct seen s = {.stop_at = 2};
	struct err e;
	int64_t at = 0;
	for (int i = 1; i <= 4; i++)
		append(j, i, 5);
	assert_true(journal_read(j, &at, see, &s, &e));
	assert_int_equal(s.count, 2);
	expect(j, &at, 2, 3, 4);
	journal_close(j);
}

static void test_torn_tail(void **state)
{
	(void)state;
	struct journal *j = open_it(JOURNAL_WRITE), *r = open_it(JOURNAL_READ);
	int64_t at = 0;
	append(j, 1, 20);
	int64_t whole = journal_size(j);
	append(j, 2, 20);
	int64_t end = journal_size(j);
	for (int64_t cut = whole + 1; cut < end; cut++) { /* a crash after each byte */
		assert_int_equal(truncate(unit_path("journal"), cut), 0);
		at = 0;
		expect(r, &at, 1, 1);
		journal_close(j);
		j = open_it(JOURNAL_WRITE); /* opening cuts the torn tail off */
		assert_int_equal(journal_size(j), whole);
		append(j, 2, 20);
		expect(r, &at, 1, 2);
	}
	journal_close(j);
	journal_close(r);
}

static void test_torn_tail_is_cut_by_an_open_writer(void **state)
{
	(void)state;
	struct journal *j = open_it(JOURNAL_WRITE);
	int64_t at = 0;
	append(j, 1, 20);
	int fd = open(unit_path("journal"), O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "\x20\0\0\0garbage", 11), 11);
	close(fd);
	expect(j, &at, 1, 1);
	append(j, 2, 20);
	expect(j, &at, 1, 2);
	journal_close(j);
}

static void test_altered_record_is_refused(void **state)
{
	(void)state;
	struct journal *j = open_it(JOURNAL_WRITE);
	int64_t at = 0;
	append(j, 1, 20);
	int64_t first = journal_size(j);
	append(j, 2, 20);
	int fd = open(unit_path("journal"), O_WRONLY);
	assert_int_equal(pwrite(fd, "q", 1, first + 24), 1);
	close(fd);
	expect(j, &at, 1, 1);
	journal_close(j);
}

static void test_truncate(void **state)
{
	(void)state;
	struct err e;
	struct journal *j = open_it(JOURNAL_WRITE), *other = open_it(JOURNAL_WRITE), *r = open_it(JOURNAL_READ);
	int64_t at = 0, early = 0, start = 0;
	for (int i = 1; i <= 5; i++)
		append(j, i, 50);
	expect(r, &at, 5, 1, 2, 3, 4, 5);
	append(j, 6, 50);
	int64_t before = journal_size(j);
	assert_true(journal_truncate(j, at, NULL, NULL, &e));
	assert_true(journal_size(j) < before);
	append(other, 7, 50); /* its handle is on the old file */
	expect(r, &at, 2, 6, 7);
	expect(r, &early, 2, 6, 7);
	assert_int_equal(at, early);
	assert_true(journal_truncate(other, at, NULL, NULL, &e));
	assert_int_equal(journal_size(r), 16);
	assert_true(journal_truncate(j, start, NULL, NULL, &e)); /* a position before the base: nothing is truncated */
	append(j, 8, 50);
	expect(r, &at, 1, 8);
	journal_close(j);
	journal_close(other);
	journal_close(r);
	j = open_it(JOURNAL_WRITE);
	expect(j, &start, 1, 8);
	assert_int_equal(start, at); /* positions stay the same across a truncation */
	journal_close(j);
}

static void test_truncate_keeps(void **state)
{
	(void)state;
	struct err e;
	struct journal *j = open_it(JOURNAL_WRITE), *r = open_it(JOURNAL_READ);
	int64_t at = 0, start = 0;
	for (int i = 1; i <= 6; i++)
		append(j, i, (size_t)i * 10);
	expect(r, &at, 6, 1, 2, 3, 4, 5, 6);
	append(j, 7, 0);
	assert_true(journal_truncate(j, at, keep_even, NULL, &e));
	expect(r, &start, 4, 2, 4, 6, 7);
	expect(r, &at, 1, 7);
	assert_int_equal(start, at);
	assert_true(journal_truncate(j, at, keep_even, NULL, &e));
	start = 0;
	expect(r, &start, 3, 2, 4, 6);
	struct stat st;
	assert_int_equal(stat(unit_path("journal"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	journal_close(j);
	journal_close(r);
}

static void test_wrong_position(void **state)
{
	(void)state;
	struct err e;
	struct seen s = {.stop_at = -1};
	struct journal *j = open_it(JOURNAL_WRITE);
	append(j, 1, 50);
	int64_t end = 0, behind;
	expect(j, &end, 1, 1);
	behind = end + 1;
	assert_false(journal_truncate(j, end - 1, NULL, NULL, &e));
	assert_false(journal_truncate(j, behind, NULL, NULL, &e));
	assert_false(journal_read(j, &behind, see, &s, &e));
	end = 0;
	expect(j, &end, 1, 1);
	journal_close(j);
}

static void test_open_refuses(void **state)
{
	(void)state;
	struct err e;
	assert_null(journal_open(unit_path("journal"), JOURNAL_READ, &e)); /* absent */
	assert_int_equal(symlink("/etc/passwd", unit_path("journal")), 0);
	assert_null(journal_open(unit_path("journal"), JOURNAL_READ, &e));
	assert_null(journal_open(unit_path("journal"), JOURNAL_WRITE, &e));
	unlink(unit_path("journal"));
	assert_int_equal(mkfifo(unit_path("journal"), 0600), 0);
	assert_null(journal_open(unit_path("journal"), JOURNAL_READ, &e));
	assert_null(journal_open(unit_path("journal"), JOURNAL_WRITE, &e));
	unlink(unit_path("journal"));
	FILE *file = fopen(unit_path("journal"), "w");
	fputs("something else altogether", file);
	fclose(file);
	assert_null(journal_open(unit_path("journal"), JOURNAL_WRITE, &e));
	assert_non_null(strstr(e.message, "is not a journal"));
	if (geteuid() == 0) {
		assert_int_equal(truncate(unit_path("journal"), 0), 0);
		assert_int_equal(chown(unit_path("journal"), 1, 1), 0);
		assert_null(journal_open(unit_path("journal"), JOURNAL_WRITE, &e));
		assert_non_null(strstr(e.message, "belongs to"));
	}
}

/* Reserved space is invisible to readers, survives a torn tail and a truncation, and is used by appended records. */
static void test_room(void **state)
{
	(void)state;
	enum { ROOM = 1 << 20 };
	struct err e;
	struct journal *j = open_it(JOURNAL_WRITE), *r = open_it(JOURNAL_READ), *other;
	int64_t at = 0;
	append(j, 1, 100);
	int64_t size = journal_size(j);
	assert_true(journal_reserve(j, ROOM, &e));
	int64_t room = journal_reserved(j);
	if (room < ROOM)
		skip(); /* a file system that cannot reserve space */
	assert_int_equal(journal_size(r), size);
	append(j, 2, 100);
	expect(r, &at, 2, 1, 2);
	int fd = open(unit_path("journal"), O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "\x20\0\0\0garbage", 11), 11);
	close(fd);
	other = open_it(JOURNAL_WRITE);
	assert_true(journal_reserved(other) >= ROOM);
	append(other, 3, 100);
	expect(r, &at, 1, 3);
	assert_true(journal_truncate(j, at, NULL, NULL, &e));
	assert_true(journal_reserved(j) >= ROOM);
	assert_int_equal(journal_size(r), 16);
	append(other, 4, 100);
	expect(r, &at, 1, 4);
	journal_close(j);
	journal_close(r);
	journal_close(other);
}

static ino_t inode_now(void)
{
	struct stat st;
	assert_int_equal(stat(unit_path("journal"), &st), 0);
	return st.st_ino;
}

/* A callback that drops odd records, once one more record has been appended. */
static void truncate_on(struct journal *j)
{
	struct err e;
	static struct seen s;
	int64_t at = 0;
	s = (struct seen){.stop_at = -1};
	append(j, 7, 1);
	assert_true(journal_read(j, &at, see, &s, &e));
	assert_true(journal_truncate(j, at, keep_even, NULL, &e));
}

/* The end of a file that one family of writers has cached must not be used for a later file with the same inode number. */
static void test_inode_comes_again(void **state)
{
	(void)state;
	struct journal *old = open_it(JOURNAL_WRITE);
	int64_t at = 0;
	append(old, 1, 10);
	if (fork() == 0) {
		struct journal *other = open_it(JOURNAL_WRITE);
		truncate_on(other);
		journal_close(other);
		append(old, 2, 500);
		append(old, 3, 100);
		_exit(0);
	}
	wait(NULL);
	ino_t theirs = inode_now();
	struct journal *other = open_it(JOURNAL_WRITE);
	append(other, 4, 10);
	for (int i = 0; i < 8 && (i == 0 || inode_now() != theirs); i++)
		truncate_on(other);
	bool came_again = inode_now() == theirs;
	if (came_again) {
		append(old, 9, 10);
		struct journal *r = open_it(JOURNAL_READ);
		expect(r, &at, 3, 2, 4, 9);
		journal_close(r);
	}
	journal_close(other);
	journal_close(old);
	if (!came_again)
		skip();
}

/* Appenders in several processes, one handle shared through fork, while the parent truncates: each record is seen once. */
static void test_race(void **state)
{
	(void)state;
	enum { CHILDREN = 4, EACH = 200 };
	struct journal *j = open_it(JOURNAL_WRITE);
	static struct seen s;
	struct err e;
	int64_t at = 0;
	s = (struct seen){.stop_at = -1};
	for (int child = 0; child < CHILDREN; child++)
		if (fork() == 0) {
			for (int i = 0; i < EACH; i++)
				append(j, child * 1000 + i, (size_t)(i % 300));
			_exit(0);
		}
	for (int living = CHILDREN; living > 0;) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			living--;
		assert_true(journal_read(j, &at, see, &s, &e));
		assert_true(journal_truncate(j, at, NULL, NULL, &e));
	}
	assert_true(journal_read(j, &at, see, &s, &e));
	assert_int_equal(s.count, CHILDREN * EACH);
	int next[CHILDREN] = {0};
	for (int i = 0; i < s.count; i++) {
		int child = (int)(s.n[i] / 1000);
		assert_int_equal(s.n[i] % 1000, next[child]);
		next[child]++;
	}
	journal_close(j);
}

/* Appenders killed at any moment: complete records are intact, and those of each child have no gap. */
static void test_killed_appenders(void **state)
{
	(void)state;
	struct journal *j = open_it(JOURNAL_WRITE);
	static struct seen s;
	struct err e;
	int64_t at = 0;
	s = (struct seen){.stop_at = -1};
	for (int round = 0; round < 20; round++) {
		pid_t child = fork();
		if (child == 0) {
			for (int i = 0; i < 4000; i++) /* as many as `seen` can hold */
				append(j, i, 3000);
			for (;;)
				pause();
		}
		usleep(1000 + (useconds_t)round * 500);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		s.count = 0;
		assert_true(journal_read(j, &at, see, &s, &e));
		for (int i = 0; i < s.count; i++)
			assert_int_equal(s.n[i], i);
		append(j, 0, 10); /* appending cuts a torn tail off */
		s.count = 0;
		assert_true(journal_read(j, &at, see, &s, &e));
		assert_int_equal(s.count, 1);
		assert_true(journal_truncate(j, at, NULL, NULL, &e));
	}
	journal_close(j);
}

#define FOLDER_TEST(f) cmocka_unit_test_setup_teardown(f, unit_folder_make, unit_folder_remove)

int main(void)
{
	log_open("journal_test", NULL, LOG_LEVEL_ERROR);
	const struct CMUnitTest tests[] = {
		FOLDER_TEST(test_append_and_read),
		FOLDER_TEST(test_gather),
		FOLDER_TEST(test_stop_early),
		FOLDER_TEST(test_torn_tail),
		FOLDER_TEST(test_torn_tail_is_cut_by_an_open_writer),
		FOLDER_TEST(test_altered_record_is_refused),
		FOLDER_TEST(test_truncate),
		FOLDER_TEST(test_truncate_keeps),
		FOLDER_TEST(test_wrong_position),
		FOLDER_TEST(test_open_refuses),
		FOLDER_TEST(test_room),
		FOLDER_TEST(test_inode_comes_again),
		FOLDER_TEST(test_race),
		FOLDER_TEST(test_killed_appenders),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
