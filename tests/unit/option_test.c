/* option_test.c - the table of options: each spelling has one row; the nearest name; which arguments are options. */
#include "jobmgr/translate/option.h"
#include "jobmgr/translate/option_text.h"
#include "tests/unit/unit.h"

/* Each spelling has one row. */
static void table(void **state)
{
	int count;
	const struct option_row *rows = option_rows(&count);
	(void)state;
	assert_int_equal(count, OPTION_ROWS);
	for (int i = 0; i < count; i++) {
		const struct option_row *row = &rows[i];
		assert_int_equal(row->id, i);
		assert_ptr_equal(option_row((enum option_id)i), row);
		assert_ptr_equal(option_find(row->name, OPTION_ROTA), row);
		if (*row->alias)
			assert_ptr_equal(option_find(row->alias, OPTION_ROTA), row);
		if (*row->slurm) {
			assert_ptr_equal(option_find(row->slurm, OPTION_ROTA), row);
			assert_ptr_equal(option_find(row->slurm, OPTION_SLURM), row);
		}
		if (row->letter)
			assert_ptr_equal(option_find_letter(row->letter, OPTION_ROTA), row);
		for (const char *pbs = row->pbs; *pbs;) {
			char *item = xstrndup(pbs, strcspn(pbs, ","));
			assert_ptr_equal(option_find_pbs(item), row);
			pbs += strlen(item);
			pbs += strspn(pbs, ", ");
			free(item);
		}
		assert_true(*row->help && (*row->key || row->id == OPTION_ID_STRICT || row->kind == OPTION_IGNORED));
		assert_true((row->kind == OPTION_FLAG) == !*row->argument || row->kind == OPTION_IGNORED);
		assert_true(strncmp(row->name, "no-", 3) != 0);
		assert_true((row->kind == OPTION_IGNORED) == (i >= OPTION_SETTINGS));
		assert_null(option_advice(row->name));
	}
	assert_null(option_find("after", OPTION_SLURM));
	assert_null(option_find("licences", OPTION_SLURM));
	assert_null(option_find("", OPTION_ROTA));
	assert_null(option_find_letter('\0', OPTION_ROTA));
	assert_null(option_find_letter('Z', OPTION_ROTA));
	assert_null(option_find_pbs("-l"));
}

static void nearest(void **state)
{
	(void)state;
	assert_string_equal(option_nearest("tme", OPTION_ROTA), "time");
	assert_string_equal(option_nearest("nodse", OPTION_ROTA), "nodes");
	assert_string_equal(option_nearest("part", OPTION_ROTA), "partition");
	assert_string_equal(option_nearest("jobname", OPTION_SLURM), "job-name");
	assert_string_equal(option_nearest("cpu-per-task", OPTION_ROTA), "cpus-per-task");
	assert_null(option_nearest("zzzzzzzz", OPTION_ROTA));
	assert_null(option_nearest("", OPTION_ROTA));
	assert_null(option_nearest("afte", OPTION_SLURM));
	char name[500];
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_null(option_nearest(name, OPTION_ROTA));
}

static void span(void **state)
{
	static const struct {
		const char *words[2];
		int count, span;
	} cases[] = {
		{{"--time=5", "x"}, 2, 1},   {{"--time", "5"}, 2, 2},	{{"--time", NULL}, 1, 1}, {{"-t5", "x"}, 2, 1},
		{{"-t", "5"}, 2, 2},	     {{"-H", "x"}, 2, 1},	{{"--hold", "x"}, 2, 1},  {{"--no-requeue", "x"}, 2, 1},
		{{"--nice", "x"}, 2, 1},     {{"--chdir", "x"}, 2, 2},	{{"--json", "x"}, 2, 0},  {{"script", "x"}, 2, 0},
		{{"-", "x"}, 2, 0},	     {{"--", "x"}, 2, 0},	{{"-Z", "x"}, 2, 0},	  {{NULL, NULL}, 0, 0},
		{{"--licences", "x"}, 2, 2}, {{"--no-mem", "x"}, 2, 0}, {{"-s", "x"}, 2, 1},	  {{"--hint", "x"}, 2, 2},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(option_span(cases[i].words, cases[i].count), cases[i].span);
}

static void quotes(void **state)
{
	char buffer[24];
	(void)state;
	assert_string_equal(option_text_quote(buffer, sizeof buffer, "plain", 5), "plain");
	assert_string_equal(option_text_quote(buffer, sizeof buffer, "a\nb\xFF", 4), "a\\x0Ab\\xFF");
	assert_string_equal(option_text_quote(buffer, sizeof buffer, "0123456789012345678901234567", 28),
			    "01234567890123456789...");
	assert_string_equal(option_text_quote(buffer, sizeof buffer, "\xE2\x82\xAC", 3), "\xE2\x82\xAC");
	assert_string_equal(option_text_quote(buffer, sizeof buffer, "\xE2\x82\xAC", 2), "\\xE2\\x82");
	assert_null(option_text_utf8("a\n\xE2\x82\xAC", 5));
	assert_non_null(option_text_utf8("\xE2\x82\xAC", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(nearest),
		cmocka_unit_test(span),
		cmocka_unit_test(quotes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
