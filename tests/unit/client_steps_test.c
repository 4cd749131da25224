/* client_steps_test.c - pure parts of `rota run`: options, {} and lines, --multi-prog, labels, the log of --resume. */
#include "tests/unit/unit.h"

#include <fcntl.h>

#include "bin/rota/steps/done_log.h"
#include "bin/rota/steps/each_line.h"
#include "bin/rota/steps/programs.h"
#include "bin/rota/steps/run_options.h"
#include "bin/rota/steps/sink.h"

/* A client ends soon, so it frees nothing that it makes once. Other errors are looked for as everywhere. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* -- input lines and {} */

static void check_command(char *const *command, const char *line, const char *expected)
{
	char **words = each_line_command(command, line);
	char text[512] = "";
	for (size_t i = 0; words[i]; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s<%s>", i ? " " : "", words[i]);
	assert_string_equal(text, expected);
	free(words);
}

static void test_commands(void **state)
{
	(void)state;
	char *none[] = {NULL}, *plain[] = {"echo", "-n", NULL}, *braces[] = {"cp", "{}", "out/{}.{}", "{", "}", NULL},
	     *bare[] = {"{}", NULL};
	check_command(none, "a | b", "</bin/sh> <-c> <a | b>");
	check_command(none, "echo {}", "</bin/sh> <-c> <echo {}>");
	check_command(plain, "x y", "<echo> <-n> <x y>");
	check_command(braces, "a b", "<cp> <a b> <out/a b.a b> <{> <}>");
	check_command(braces, "{}", "<cp> <{}> <out/{}.{}> <{> <}>"); /* braces in the text of an input line are not replaced */
	check_command(bare, "./x", "<./x>");
}

static void test_hashes(void **state)
{
	(void)state;
	char *one[] = {"a", "b", NULL}, *two[] = {"ab", NULL}, *none[] = {NULL};
	uint64_t hash = each_line_hash(one, 1, "x");
	assert_true(hash == each_line_hash(one, 1, "x"));
	assert_true(hash != each_line_hash(one, 2, "x"));
	assert_true(hash != each_line_hash(one, 1, "y"));
	assert_true(hash != each_line_hash(two, 1, "x"));
	assert_true(each_line_hash(none, 1, "x") != each_line_hash(none, 1, ""));
}

static void test_reader(void **state)
{
	(void)state;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	struct line_reader r = {.fd = ends[0]};
	assert_null(line_reader_next(&r));
	assert_int_equal(write(ends[1], "one\r\n\n \t\ntw", 11), 11);
	line_reader_fill(&r);
	assert_string_equal(line_reader_next(&r), "one");
	assert_int_equal(r.number, 1);
	assert_null(line_reader_next(&r));
	assert_int_equal(write(ends[1], "o\nend", 5), 5);
	close(ends[1]);
	line_reader_fill(&r);
	assert_string_equal(line_reader_next(&r), "two");
	assert_int_equal(r.number, 4);
	assert_null(line_reader_next(&r));
	assert_false(r.ended);
	line_reader_fill(&r);
	assert_true(r.ended);
	assert_string_equal(line_reader_next(&r), "end"); /* the last line has no newline */
	assert_null(line_reader_next(&r));
	free(r.bytes);
	close(ends[0]);
}

/* A line that is longer than one read. */
static void test_long_line(void **state)
{
	(void)state;
	const char *path = unit_path("long");
	FILE *out = fopen(path, "w");
	for (int i = 0; i < 300000; i++)
		fputc('x', out);
	fputs("\nend\n", out);
	fclose(out);
	struct line_reader r = {.fd = open(path, O_RDONLY)};
	char *line;
	while (!(line = line_reader_next(&r)))
		line_reader_fill(&r);
	assert_int_equal(strlen(line), 300000);
	assert_string_equal(line_reader_next(&r), "end");
	free(r.bytes);
	close(r.fd);
}

/* -- the log of --resume */

static void test_done_log(void **state)
{
	(void)state;
	struct err e = {0};
	const char *path = unit_path("log");
	struct done_log *log = done_log_open(path, &e);
	assert_non_null(log);
	assert_false(done_log_has(log, 7));
	for (uint64_t i = 0; i < 2000; i++)
		assert_true(done_log_add(log, i * 0x123456789abcdefU, (long)i, &e));
	done_log_close(log);
	int fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "00000000000", 11), 11); /* cut off by a crash */
	close(fd);
	log = done_log_open(path, &e);
	for (uint64_t i = 0; i < 2000; i++)
		assert_true(done_log_has(log, i * 0x123456789abcdefU));
	assert_false(done_log_has(log, 1));
	assert_true(done_log_add(log, 1, 1, &e));
	done_log_close(log);
	log = done_log_open(path, &e);
	assert_true(done_log_has(log, 1));
	done_log_close(log);
	assert_null(done_log_open("/nonexistent/log", &e));
	char *named = done_log_default("/home/ann", "812.solve[7]");
	assert_string_equal(named, "/home/ann/rota-812.solve[7].done");
	free(named);
	assert_null(done_log_default("/home/ann", NULL));
}

/* -- --multi-prog */

static void check_programs(const char *text, int ntasks, int count, const char *expected)
{
	struct programs p;
	struct err e = {0};
	char found[1024] = "";
	assert_true(programs_parse(text, "file", ntasks, &p, &e));
	assert_int_equal(p.ntasks, count);
	for (size_t i = 0; i < p.count; i++) {
		snprintf(found + strlen(found), sizeof found - strlen(found), "%s:", p.list[i].ranks);
		for (size_t w = 0; p.list[i].argv[w]; w++)
			snprintf(found + strlen(found), sizeof found - strlen(found), "<%s>", p.list[i].argv[w]);
	}
	assert_string_equal(found, expected);
}

static void test_programs(void **state)
{
	(void)state;
	check_programs("0-3 ./a\n", 0, 4, "0-3:<./a>");
	check_programs("# a comment\n\n0,2-3\t./a 'b c' \"d\"e\n1 ./b # rest\n", 0, 4, "0,2-3:<./a><b c><de>1:<./b>");
	check_programs("* ./all\n", 3, 3, "0-2:<./all>");
	check_programs("* ./all\n", 0, 1, "0:<./all>");
	check_programs("* ./rest\n1 ./b\n", 4, 4, "0,2-3:<./rest>1:<./b>");
	check_programs("2-3 ./a %t %o %%t\n* x", 4, 4, "2:<./a><2><0><%t>3:<./a><3><1><%t>0-1:<x>");
	check_programs("0-1 a\n1-2 b\n", 0, 3, "0-1:<a>2:<b>");
}

static void check_programs_error(const char *text, int ntasks, const char *message)
{
	struct programs p;
	struct err e = {0};
	assert_false(programs_parse(text, "file", ntasks, &p, &e));
	assert_string_equal(e.message, message);
}

static void test_programs_errors(void **state)
{
	(void)state;
	check_programs_error("", 0, "file has no line with a program");
	check_programs_error("0 a\n1-0 b\n", 0, "file:2: \"1-0\" is no list of tasks such as 0-3,6");
	check_programs_error("x a\n", 0, "file:1: \"x\" is no list of tasks such as 0-3,6");
	check_programs_error("0\n", 0, "file:1: tasks 0 have no program");
	check_programs_error("0 'a\n", 0, "file:1: a quote is not closed");
	check_programs_error("0 a\n", 2, "file: task 1 has no program");
	check_programs_error("0-3 a\n", 2, "file names task 3, but there are 2 tasks");
}

/* -- labels */

struct piece {
	int task;
	const char *text;
};

static void check_sink(bool label, bool unbuffered, const struct piece *pieces, const char *expected)
{
	int ends[2];
	char text[512] = "";
	assert_int_equal(pipe(ends), 0);
	struct sink *s = sink_new(ends[1], label, unbuffered);
	for (; pieces->text; pieces++)
		assert_true(sink_write(s, pieces->task, pieces->text, strlen(pieces->text)));
	assert_true(sink_close(s));
	close(ends[1]);
	assert_true(read(ends[0], text, sizeof text - 1) >= 0);
	assert_string_equal(text, expected);
	close(ends[0]);
}

static void test_sinks(void **state)
{
	(void)state;
	static const struct piece pieces[] = {{0, "a"}, {1, "x\ny"}, {0, "b\nc\n"}, {1, "\n"}, {2, "end"}, {0, NULL}};
	check_sink(false, false, pieces, "ax\nyb\nc\n\nend");
	check_sink(true, false, pieces, "1: x\n0: ab\n0: c\n1: y\n2: end\n");
	check_sink(true, true, pieces, "0: a\n1: x\n1: y\n0: b\n0: c\n1: \n2: end\n");
}

/* -- options */

static void check_option(int id, const char *value, const char *message)
{
	struct run_options o = RUN_OPTIONS;
	struct err e = {0};
	assert_int_equal(run_options_take(&o, id, value, &e), !message);
	assert_string_equal(e.message, message ? message : "");
}

static void test_options(void **state)
{
	(void)state;
	struct run_options o = RUN_OPTIONS;
	struct err e = {0};
	assert_true(run_options_take(&o, 'n', "4", &e) && run_options_take(&o, 't', "1:30:00", &e) &&
		    run_options_take(&o, RUN_MEM, "2G", &e));
	assert_true(run_options_take(&o, 'o', "out.%t", &e) && run_options_take(&o, 'K', NULL, &e) &&
		    run_options_take(&o, 'i', "all", &e));
	assert_true(run_options_take(&o, RUN_CPU_BIND, "map_cpu:0,2", &e) && run_options_take(&o, RUN_PRIORITY, "-5", &e));
	assert_true(run_options_finish(&o, &e));
	assert_int_equal(o.run.ntasks, 4);
	assert_int_equal(o.run.time_s, 5400);
	assert_int_equal(o.run.mem_mb, 2048);
	assert_int_equal(o.run.priority, -5);
	assert_string_equal(o.run.output, "out.%t");
	assert_string_equal(o.run.error, "output");
	assert_string_equal(o.run.input, "client");
	assert_string_equal(o.run.cpu_bind, "map:0,2");
	assert_true(o.run.kill_on_bad_exit);
	free((char *)o.run.cpu_bind);
	check_option('n', "0", "--ntasks: \"0\" is not a number from 1 to 1048576");
	check_option('c', "x", "--cpus-per-task: \"x\" is not a number from 1 to 1048576");
	check_option(RUN_CPU_BIND, "map:0-3,8", NULL);
	check_option(RUN_CPU_BIND, "sideways", "--cpu-bind: \"sideways\" is not none, threads, cores, sockets or map:LIST");
	check_option(RUN_GRES, "gpu:2", NULL);
	check_option('J', "", "--name: the name is empty");
}

static void check_streams(const char *output, const char *error, const char *run_output, const char *run_error, int out_task,
			  int error_task)
{
	struct run_options o = RUN_OPTIONS;
	struct err e = {0};
	assert_true(!output || run_options_take(&o, 'o', output, &e));
	assert_true(!error || run_options_take(&o, 'e', error, &e));
	assert_true(run_options_finish(&o, &e));
	assert_string_equal(o.run.output ? o.run.output : "", run_output);
	assert_string_equal(o.run.error ? o.run.error : "", run_error);
	assert_int_equal(o.output_task, out_task);
	assert_int_equal(o.error_task, error_task);
}

static void test_streams(void **state)
{
	(void)state;
	check_streams(NULL, NULL, "", "", RUN_ALL_TASKS, RUN_ALL_TASKS);
	check_streams("none", NULL, "none", "none", RUN_ALL_TASKS, RUN_ALL_TASKS);
	check_streams("none", "all", "none", "", RUN_ALL_TASKS, RUN_ALL_TASKS);
	check_streams("2", NULL, "", "", 2, 2);
	check_streams("2", "0", "", "", 2, 0);
	check_streams("f", "g", "f", "g", RUN_ALL_TASKS, RUN_ALL_TASKS);
	check_streams(NULL, "g", "", "g", RUN_ALL_TASKS, RUN_ALL_TASKS);
}

static void test_options_together(void **state)
{
	(void)state;
	struct err e = {0};
	struct run_options o = RUN_OPTIONS;
	o.resume = true;
	assert_false(run_options_finish(&o, &e));
	assert_string_equal(e.message, "--resume needs --each or --file");
	o.each = o.run.detach = true;
	assert_false(run_options_finish(&o, &e));
	assert_string_equal(e.message, "--each cannot be combined with --detach");
	o.run.detach = false;
	assert_true(run_options_finish(&o, &e));
}

static void check_environment(const char *export, const char *expected)
{
	char *environment[] = {"A=1", "B=2", "ROTA_JOB_ID=7", "BAD=\xff", NULL};
	char **list = run_options_environment(export, environment), text[256] = "";
	for (size_t i = 0; list[i]; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", list[i]);
	assert_string_equal(text, expected);
	free(list);
}

static void test_environment(void **state)
{
	(void)state;
	check_environment(NULL, "A=1 B=2 ROTA_JOB_ID=7");
	check_environment("ALL", "A=1 B=2 ROTA_JOB_ID=7");
	check_environment("NONE", "ROTA_JOB_ID=7");
	check_environment("B,D", "ROTA_JOB_ID=7 B=2");
	check_environment("ALL,A=9,C='x,y'", "A=9 B=2 ROTA_JOB_ID=7 C=x,y");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_hashes),
		cmocka_unit_test(test_reader),
		cmocka_unit_test_setup_teardown(test_long_line, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(test_done_log, unit_folder_make, unit_folder_remove),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_programs_errors),
		cmocka_unit_test(test_sinks),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_options_together),
		cmocka_unit_test(test_environment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
