/* client_test.c - what `rota` prints: durations, sizes, times, ends, node lists, tables, suggestions. */
#include "tests/unit/unit.h"

#include <locale.h>

#include "bin/rota/print/format.h"
#include "bin/rota/print/join.h"
#include "bin/rota/print/outcome.h"
#include "bin/rota/output/output.h"
#include "bin/rota/print/peers.h"
#include "bin/rota/call/rows.h"
#include "bin/rota/print/table.h"
#include "bin/rota/submit/command_line.h"
#include "bin/rota/line/verb.h"

static void test_durations(void **state)
{
	(void)state;
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {{0, "0:00"},	  {9.9, "0:09"},	 {61, "1:01"},		{3599, "59:59"}, {3600, "1:00:00"},
		     {86399, "23:59:59"}, {86400, "1-00:00:00"}, {90061, "1-01:01:01"}, {-1, "-"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(format_duration(cases[i].seconds).s, cases[i].text);
}

static void line_is(const char *words, size_t size, const char *expected)
{
	char *line = command_line_text(words, size, 30);

	assert_string_equal(line, expected);
	free(line);
}

static void test_command_line(void **state)
{
	(void)state;
#define LINE_IS(WORDS, EXPECTED) line_is(WORDS, sizeof(WORDS), EXPECTED)
	LINE_IS("/usr/bin/rota\0submit\0--time=5", "rota submit --time=5");
	LINE_IS("rota\0a b\0\0it's", "rota 'a b' '' 'it'\\''s'");
	LINE_IS("rota\0a\nb\x1b'\\", "rota $'a\\x0ab\\x1b\\'\\\\'");
	LINE_IS("rota\0\xff\xc3\xbc\xe2\x80\xae", "rota $'\\xff\xc3\xbc\\xe2\\x80\\xae'");
	LINE_IS("rota\0"
		"12345678901234567890"
		"\0"
		"1234",
		"rota 12345678901234567890 1234");
	LINE_IS("rota\0"
		"12345678901234567890"
		"\0"
		"12345",
		"rota 12345678901234567890 1...");
	LINE_IS("rota\0"
		"12345678901234567890"
		"\0"
		"1\xc3\xbc"
		"90",
		"rota 12345678901234567890 '...");
#undef LINE_IS
}

static void test_sizes(void **state)
{
	(void)state;
	static const struct {
		long long kb;
		const char *text;
	} cases[] = {{0, "0K"},	      {512, "512K"},	  {1024, "1M"},	    {1536, "1.5M"}, {102400, "100M"},
		     {1048576, "1G"}, {1073741824, "1T"}, {10189, "10.0M"}, {1280, "1.2M"}, {1048575, "1024M"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *number = json_integer(cases[i].kb);
		assert_string_equal(format_size_kb(number).s, cases[i].text);
		json_decref(number);
	}
	assert_string_equal(format_size_mb(json_null()).s, "-");
	static const struct {
		const char *text;
		long mb;
	} parsed[] = {{"512", 512}, {"512M", 512}, {"2G", 2048}, {"1.5GiB", 1536}, {"1T", 1048576}, {"1k", 1},
		      {"", -1},	    {"G", -1},	   {"4X", -1},	 {"-1", -1},	   {"4Gx", -1},	    {"1e30", -1}};
	for (size_t i = 0; i < sizeof parsed / sizeof *parsed; i++)
		assert_int_equal(format_size_parse(parsed[i].text), parsed[i].mb);
}

static void test_times(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double seconds; /* -1: not given */
	} cases[] = {{"1970-01-01T00:00:00+00:00", 0},		{"1970-01-01T01:00:00+01:00", 0},
		     {"1969-12-31T19:00:10.5-05:00", 10.5},	{"1970-01-01 00:01:00Z", 60},
		     {"2026-11-20T14:00:00+05:30", 1795163400}, {"yesterday", -1}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double seconds = -1;
		assert_int_equal(format_time_parse(cases[i].text, &seconds), cases[i].seconds >= 0);
		assert_true(seconds == cases[i].seconds);
	}
	setenv("TZ", "UTC", 1);
	json_t *time = json_string("2026-11-20T14:00:00+05:30");
	assert_string_equal(format_time(time).s, "2026-11-20 08:30:00");
	json_decref(time);
	assert_string_equal(format_time(json_null()).s, "-");
	assert_string_equal(format_when(json_null()).s, "-");
}

/* Local time is looked up once for each quarter of an hour: the printed time must be that of strftime for each second. */
static void test_moments(void **state)
{
	(void)state;
	setenv("TZ", "X-5:45", 1);
	tzset();
	for (time_t now = time(NULL), at = now - 43000; at < now + 43000; at += 397) {
		char text[16];
		struct tm then;
		strftime(text, sizeof text, "%H:%M:%S", localtime_r(&at, &then));
		assert_string_equal(format_when_at(at).s, text);
	}
	assert_string_equal(format_when_at(0).s, "1970-01-01");
	assert_string_equal(format_when_at(-20701).s, "1969-12-31");
	setenv("TZ", "UTC", 1);
	tzset();
}

/* The end of one job: as an exit status and in words. */
static void check_outcome(const char *text, int status, const char *words)
{
	json_t *job = json_loads(text, 0, NULL);
	char *said = outcome_words(job);
	assert_non_null(job);
	assert_int_equal(outcome_status(job), status);
	assert_string_equal(said, words);
	free(said);
	json_decref(job);
}

static void test_outcomes(void **state)
{
	(void)state;
	check_outcome("{\"state\":\"completed\",\"exit_code\":0,\"cause\":\"exit\"}", 0, "completed");
	check_outcome("{\"state\":\"failed\",\"exit_code\":3,\"cause\":\"exit\"}", 3, "failed (exit code 3)");
	check_outcome("{\"state\":\"failed\",\"exit_code\":null,\"signal\":9}", 137, "failed (SIGKILL)");
	check_outcome("{\"state\":\"timeout\",\"exit_code\":0,\"signal\":15}", 143, "timeout (SIGTERM)");
	check_outcome("{\"state\":\"cancelled\",\"exit_code\":null,\"signal\":null,\"cause\":\"cancelled\"}", 1, "cancelled");
	check_outcome("{\"state\":\"failed\",\"exit_code\":0,\"cause\":\"prolog\"}", 1, "failed (prolog)");
	check_outcome("{\"state\":\"failed\",\"exit_code\":256}", 1, "failed (exit code 256)");
}

static void check_join(const char *list, const char *text)
{
	json_t *names = json_loads(list, 0, NULL);
	char *joined = join_text(names);
	assert_string_equal(joined, text);
	free(joined);
	json_decref(names);
}

static void test_join(void **state)
{
	(void)state;
	check_join("[]", "");
	check_join("[\"n1\"]", "n1");
	check_join("[\"n1\",\"n2\",\"n3\"]", "n[1-3]");
	check_join("[\"n1\",\"n3\",\"n4\",\"m5\"]", "n1,n[3-4],m5");
	check_join("[\"n9\",\"n10\",\"n11\"]", "n[9-11]");
	check_join("[\"n09\",\"n10\"]", "n[09-10]");
	check_join("[\"n9\",\"n010\"]", "n9,n010");
	check_join("[\"login\",\"login2\"]", "login,login2");
	check_join("[\"n99999999999999\",\"n100000000000000\"]", "n99999999999999,n100000000000000");
}

/* Print a table of two columns and some rows; the caller frees the text. */
static char *table_text(const struct table_column *columns, const char *const *cells, bool wide)
{
	struct table *t = table_new(columns, 2);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	for (; *cells; cells++)
		table_cell(t, *cells);
	table_print(t, out, wide);
	fclose(out);
	table_free(t);
	return text;
}

static void test_peers(void **state)
{
	(void)state;
	json_t *step = json_loads("{\"label\": \"7.c\", \"after\": ["
				  "{\"label\": \"7.a\", \"kind\": \"after\", \"condition\": \"ok\", \"state\": \"completed\"},"
				  "{\"label\": \"7.a\", \"kind\": \"same_nodes\", \"condition\": null, \"state\": \"completed\"},"
				  "{\"label\": \"7.b\", \"kind\": \"other_nodes\", \"condition\": null, \"state\": \"running\"},"
				  "{\"label\": \"7.b\", \"kind\": \"after\", \"condition\": \"any\", \"state\": \"running\"},"
				  "{\"label\": \"6.b\", \"kind\": \"after\", \"condition\": \"ok\", \"state\": \"pending\"}]}",
				  0, NULL);
	char *text = peers_text(step, false);
	assert_string_equal(text, "a, same nodes as a, other nodes than b, b:any, 6.b");
	free(text);
	text = peers_text(step, true);
	assert_string_equal(text, "other nodes than b, after b:any, 6.b");
	free(text);
	json_object_clear(step);
	text = peers_text(step, true);
	assert_string_equal(text, "");
	free(text);
	json_decref(step);
}

static void test_table(void **state)
{
	(void)state;
	static const struct table_column columns[] = {{"N", true, 0}, {"NAME", false, 4}};
	static const char *const cells[] = {"7", "a-rather-long-name", "12", "b\033[2J", NULL};
	setenv("COLUMNS", "14", 1);
	char *text = table_text(columns, cells, false);
	assert_string_equal(text, " N  NAME\n 7  a-rather-~\n12  b?[2J\n");
	free(text);
	text = table_text(columns, cells, true);
	assert_string_equal(text, " N  NAME\n 7  a-rather-long-name\n12  b?[2J\n");
	free(text);
	static const char *const empty[] = {"7", "-", "12", "", NULL};
	text = table_text(columns, empty, false);
	assert_string_equal(text, " N\n 7\n12\n"); /* a column without values is left out */
	free(text);
	static const struct table_column untitled[] = {{"", true, 0}, {"", false, 4}};
	static const char *const dash[] = {"-", "a", "-", "b", NULL};
	text = table_text(untitled, dash, false);
	assert_string_equal(text, "-  a\n-  b\n"); /* a column that must not be narrowed; no titles, so no title line */
	free(text);
}

static void test_wide_characters(void **state)
{
	(void)state;
	setlocale(LC_ALL, "C"); /* names are UTF-8 in any locale */
	assert_int_equal(table_text_width("größe"), 5);
	assert_int_equal(table_text_width("仕事"), 4);
	assert_int_equal(table_text_fit("größe", 3), 4);
	assert_int_equal(table_text_fit("仕事", 3), 3);
	assert_int_equal(table_text_width("\xff!"), 2); /* not UTF-8: a column for each byte */
}

static void test_output_path(void **state)
{
	(void)state;
	json_t *job = json_loads("{\"job_id\":812,\"name\":\"renamed\",\"user\":\"ann\",\"workdir\":\"/home/ann\"}", 0, NULL);
	json_t *step = json_loads("{\"step_id\":4,\"name\":\"solve\",\"nodes\":\"n3,n4\",\"attempt\":1,\"array_index\":7,"
				  "\"job_name\":\"heat\",\"output\":\"%x-%S-%a-%N.out\",\"error\":\"\"}",
				  0, NULL);
	char *path = output_path(job, step, "output");
	assert_string_equal(path, "/home/ann/heat-solve-7-n3.out");
	free(path);
	assert_null(output_path(job, step, "error"));
	json_object_set_new(step, "workdir", json_string("/scratch"));
	json_object_set_new(step, "error", json_string("e"));
	path = output_path(job, step, "error");
	assert_string_equal(path, "/scratch/e");
	free(path);
	json_object_set_new(step, "output", json_null());
	assert_null(output_path(job, step, "output")); /* private */
	json_decref(step);
	json_decref(job);
}

/* rows_answer parses rows as jansson does; it leaves anything else to jansson. */
static void test_answers_of_lines(void **state)
{
	(void)state;
	static const char *const plain[] = {"{\"lines\" : \"\"}", "{\"lines\" : \"1\\tname\\n2\\t\\\"x\\\\\\/\"}\n",
					    "{\"lines\" : \"\xC3\xA9 \xE2\x82\xAC\"}", "{\"lines\" : \"a\x7F\"}"};
	static const char *const others[] = {
		"{\"lines\" : \"a\\u0007\"}", "{\"lines\" : \"a\", \"b\": 1}", "{\"lines\" : 1}", "{\"lines\" : \"a",
		"{\"lines\" : \"a\\",	      "{\"lines\" : \"\xC3\"}",	       "{\"jobs\" : []}", "",
		"{\"lines\" : \"a\"",	      "{\"lines\" : \"a\"} b"};
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
		bool harmless, expected = true;
		json_t *read = rows_answer(plain[i], &harmless), *known = json_loads(plain[i], 0, NULL);
		assert_non_null(read);
		assert_true(json_equal(read, known));
		for (const char *c = json_string_value(json_object_get(known, "lines")); *c; c++)
			expected &= (*c >= ' ' && *c <= '~') || *c == '\t' || *c == '\n';
		assert_int_equal(harmless, expected);
		json_decref(read);
		json_decref(known);
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		bool harmless;
		assert_null(rows_answer(others[i], &harmless));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_of_lines),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_command_line),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_outcomes),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_wide_characters),
		cmocka_unit_test(test_output_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
