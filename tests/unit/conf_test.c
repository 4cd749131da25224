/* conf_test.c - rota.conf: defaults, refused values with their line, the places of the file, saving and loading. */
#include "tests/unit/unit.h"

#include <sys/stat.h>

#include "lib/conf.h"

static void file_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_defaults(void **state)
{
	(void)state;
	struct conf c;
	struct err e;
	file_write(unit_path("rota.conf"), "");
	assert_true(conf_load(&c, unit_path("rota.conf"), &e));
	assert_string_equal(c.instance_name, "rota");
	assert_string_equal(c.gate_url, "");
	assert_int_equal(c.schedule_depth, 2000);
	assert_string_equal(c.path, unit_path("rota.conf"));
	conf_clear(&c);
	assert_null(c.instance_name);
}

static void test_values(void **state)
{
	(void)state;
	struct conf c;
	struct err e;
	file_write(unit_path("rota.conf"), "# a comment\n; another\n[instance]\nname=x\n\n[database]\n"
					   "  conninfo =  host=/tmp dbname='a;b' password='p # ;q'  \n[schedule]\ndepth = 5\n");
	if (!conf_load(&c, unit_path("rota.conf"), &e))
		fail_msg("%s", e.message);
	assert_string_equal(c.instance_name, "x");
	assert_string_equal(c.database_conninfo, "host=/tmp dbname='a;b' password='p # ;q'");
	assert_int_equal(c.schedule_depth, 5);
	conf_clear(&c);
}

static void test_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"[gate]\nsocket=/a\nsokcet=b\n", ":3: unknown key \"sokcet\" in section \"gate\""},
		{"[gaet]\n\nsocket=a\n", ":3: unknown key \"socket\" in section \"gaet\""},
		{"name=x\n", ":1: unknown key \"name\" in section \"\""},
		{"[schedule]\ndepth=many\n",
		 ":2: \"depth\" in section \"schedule\" wants an integer from 1 to 1000000, not \"many\""},
		{"[schedule]\ndepth=0\n", ":2: \"depth\" in section \"schedule\" wants an integer"},
		{"[schedule]\ndepth=\n", ":2: \"depth\" in section \"schedule\" wants an integer"},
		{"[schedule]\ndepth=5x\n", ":2: \"depth\" in section \"schedule\" wants an integer"},
		{"[schedule]\ndepth=99999999999999999999\n", ":2: \"depth\" in section \"schedule\" wants an integer"},
		{"[node]\ngrace=1\ncgroup=on\n", ":3: \"cgroup\" in section \"node\" wants one of auto, off, not \"on\""},
		{"[node]\ncgroup=aut\n", ":2: \"cgroup\" in section \"node\" wants one of auto, off, not \"aut\""},
		{"[node]\ncgroup=autoo\n", ":2: \"cgroup\" in section \"node\" wants one of"},
		{"[node]\ncgroup=auto, off\n", ":2: \"cgroup\" in section \"node\" wants one of"},
		{"[node]\ngrace=1\nstate=var/node\n",
		 ":3: \"state\" in section \"node\" wants a path that begins with \"/\", not \"var/node\""},
		{"[gate]\nsocket=\n", ":2: \"socket\" in section \"gate\" wants a path that begins with \"/\", not \"\""},
		{"[controller]\nepilog=\nprolog=true\n", ":3: \"prolog\" in section \"controller\" wants a path"},
		{"[node]\ncgroup=\n", ":2: \"cgroup\" in section \"node\" wants one of"},
		{"[instance]\nname=a\nname=b\n", ":3: \"name\" in section \"instance\" is given twice"},
		{"[instance]\nname=a\njust words\n", ":3: neither \"[section]\" nor \"name = value\""},
		{"[instance\nname=a\n", ":1: neither \"[section]\" nor \"name = value\""},
	};
	struct conf c;
	struct err e;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		file_write(unit_path("rota.conf"), cases[i].text);
		assert_false(conf_load(&c, unit_path("rota.conf"), &e));
		const char *behind = e.message + strlen(unit_path("rota.conf"));
		if (strncmp(behind, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("case %zu: %s", i, e.message);
	}
}

static void test_meant(void **state)
{
	(void)state;
	static const struct {
		const char *text, *hint;
	} cases[] = {
		{"[gate]\nsokcet=b\n", "did you mean \"socket\"?"},
		{"[gaet]\nsocket=a\n", "did you mean section \"gate\"?"},
		{"[gate]\nfrobnicate=a\n", ""},
	};
	struct conf c;
	struct err e;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		file_write(unit_path("rota.conf"), cases[i].text);
		assert_false(conf_load(&c, unit_path("rota.conf"), &e));
		assert_string_equal(e.hint, cases[i].hint);
	}
}

static void test_long_line(void **state)
{
	(void)state;
	struct conf c;
	struct err e;
	char *value = xcalloc(1, 6000);
	memset(value, 'v', 3000);
	char *text = xasprintf("[database]\nconninfo = %s\n", value);
	file_write(unit_path("rota.conf"), text);
	free(text);
	assert_true(conf_load(&c, unit_path("rota.conf"), &e));
	assert_string_equal(c.database_conninfo, value);
	conf_clear(&c);
	memset(value, 'v', 5000);
	text = xasprintf("[database]\n# help\nconninfo = %s\n", value);
	file_write(unit_path("rota.conf"), text);
	free(text);
	free(value);
	assert_false(conf_load(&c, unit_path("rota.conf"), &e));
	assert_non_null(strstr(e.message, ":3: line is longer than"));
}

static void test_absent(void **state)
{
	(void)state;
	struct conf c;
	struct err e;
	assert_false(conf_load(&c, unit_path("rota.conf"), &e));
	assert_non_null(strstr(e.message, "No such file"));
	assert_non_null(strstr(e.hint, "rota up"));
	setenv("ROTA_HOME", unit_path("nowhere"), 1);
	unsetenv("ROTA_CONFIG");
	assert_false(conf_load(&c, NULL, &e));
	assert_non_null(strstr(e.hint, "rota up"));
}

static void test_save_and_load(void **state)
{
	(void)state;
	struct conf c, d;
	struct err e;
	file_write(unit_path("a"),
		   "[instance]\nname=x y\n[gate]\nlisten=[::1]:6820\nmax_body=4096\n[database]\nconninfo=a='; #'\n");
	assert_true(conf_load(&c, unit_path("a"), &e));
	if (!conf_save(&c, unit_path("b"), &e) || !conf_load(&d, unit_path("b"), &e))
		fail_msg("%s", e.message);
#define CONF_TEXT(section, name, otherwise, help) assert_string_equal(c.section##_##name, d.section##_##name);
#define CONF_INT(section, name, otherwise, lowest, highest, help) assert_int_equal(c.section##_##name, d.section##_##name);
#include "lib/conf.def"
#undef CONF_TEXT
#undef CONF_INT
	conf_clear(&d);
	FILE *file = fopen(unit_path("b"), "r");
	char text[16384] = "";
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof text - 1, file) > 0);
	fclose(file);
	assert_non_null(strstr(
		text,
		"# Largest request in bytes; all requests of one user at a time may have four times that.\nmax_body = 4096\n"));
	free(c.instance_name);
	c.instance_name = xstrdup("two\nlines");
	assert_false(conf_save(&c, unit_path("b"), &e));
	assert_true(conf_load(&d, unit_path("b"), &e)); /* the old file is unchanged */
	conf_clear(&c);
	conf_clear(&d);
}

static void test_where(void **state)
{
	(void)state;
	struct conf c;
	struct err e;
	mkdir(unit_path("home"), 0700);
	mkdir(unit_path("home/etc"), 0700);
	file_write(unit_path("home/etc/rota.conf"), "[instance]\nname=from-home\n");
	file_write(unit_path("other"), "[instance]\nname=from-variable\n");
	setenv("ROTA_HOME", unit_path("home"), 1);
	unsetenv("ROTA_CONFIG");
	char *home = conf_home();
	assert_string_equal(home, unit_path("home"));
	free(home);
	assert_true(conf_load(&c, NULL, &e));
	assert_string_equal(c.instance_name, "from-home");
	conf_clear(&c);
	setenv("ROTA_CONFIG", unit_path("other"), 1);
	assert_true(conf_load(&c, NULL, &e));
	assert_string_equal(c.instance_name, "from-variable");
	conf_clear(&c);
	assert_true(conf_load(&c, unit_path("home/etc/rota.conf"), &e));
	assert_string_equal(c.instance_name, "from-home");
	conf_clear(&c);
	unsetenv("ROTA_CONFIG");
	unsetenv("ROTA_HOME");
	home = conf_home();
	assert_non_null(strstr(home, "/.local/state/rota"));
	free(home);
}

#define FOLDER_TEST(f) cmocka_unit_test_setup_teardown(f, unit_folder_make, unit_folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOLDER_TEST(test_defaults),  FOLDER_TEST(test_values), FOLDER_TEST(test_refused),	FOLDER_TEST(test_meant),
		FOLDER_TEST(test_long_line), FOLDER_TEST(test_absent), FOLDER_TEST(test_save_and_load), FOLDER_TEST(test_where),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
