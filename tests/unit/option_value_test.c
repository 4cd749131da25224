/* option_value_test.c - the parsers of option values: accepted texts and their values, refused texts and their messages. */
#include <time.h>

#include "jobmgr/translate/option.h"
#include "tests/unit/unit.h"

#define NOW INT64_C(1900000000) /* 2030-03-17T17:46:40 UTC, a Sunday */

/* A text that is accepted, and its value. */
struct value_case {
	enum option_id id;
	const char *text, *json;
};

/* Texts that are refused, each with a message that contains `error`. */
struct refusal_case {
	enum option_id id;
	const char *error, *texts[32];
};

static json_t *value_of(enum option_id id, const char *text, struct err *e)
{
	struct option_context context = {NOW, 1000, 1000};
	return option_value(option_row(id), text, &context, e);
}

static void check_value(const struct value_case *c)
{
	struct err e;
	json_t *value = value_of(c->id, c->text, &e);
	const char *name = option_row(c->id)->name;
	if (!value)
		fail_msg("--%s=%s refused: %s", name, c->text, e.message);
	char *json = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	if (strcmp(json, c->json) != 0)
		fail_msg("--%s=%s gave %s instead of %s", name, c->text, json, c->json);
	free(json);
	json_decref(value);
}

static void check_refusal(enum option_id id, const char *text, const char *error)
{
	struct err e;
	json_t *value = value_of(id, text, &e);
	if (value)
		fail_msg("--%s=%s passed", option_row(id)->name, text);
	if (!strstr(e.message, error))
		fail_msg("--%s=%s: \"%s\" lacks \"%s\"", option_row(id)->name, text, e.message, error);
}

static void check_refusals(const struct refusal_case *c)
{
	for (size_t i = 0; i < sizeof c->texts / sizeof *c->texts && c->texts[i]; i++)
		check_refusal(c->id, c->texts[i], c->error);
}

#define CHECK(values, refusals)                                                                                                  \
	for (size_t i = 0; i < sizeof(values) / sizeof *(values); i++)                                                           \
		check_value(&(values)[i]);                                                                                       \
	for (size_t i = 0; i < sizeof(refusals) / sizeof *(refusals); i++)                                                       \
	check_refusals(&(refusals)[i])

static void times(void **state)
{
	static const struct value_case values[] = {
		{OPTION_ID_TIME, "0", "0"},
		{OPTION_ID_TIME, "5", "300"},
		{OPTION_ID_TIME, "90:30", "5430"},
		{OPTION_ID_TIME, "1:00:00", "3600"},
		{OPTION_ID_TIME, "1-0", "86400"},
		{OPTION_ID_TIME, "1-2:30", "95400"},
		{OPTION_ID_TIME, "2-03:04:05", "183845"},
		{OPTION_ID_TIME, "0-72:00:00", "259200"},
		{OPTION_ID_TIME, "UNLIMITED", "0"},
		{OPTION_ID_TIME, "infinite", "0"},
		{OPTION_ID_TIME_MIN, "10", "600"},
	};
	static const struct refusal_case refusals[] = {
		{OPTION_ID_TIME,
		 "is not a duration",
		 {"", "1:2:3:4", "1-", "-5", "1-2-3", "1:", ":1", "1.5", "99999999999999999999", "9223372036854775807",
		  "36600-23:59:59"}},
		{OPTION_ID_TIME, "\"1h\" is not a duration", {"1h"}},
	};
	(void)state;
	CHECK(values, refusals);
}

static void moments(void **state)
{
	static const struct value_case values[] = {
		{OPTION_ID_BEGIN, "now", "1900000000"},
		{OPTION_ID_BEGIN, "now+60", "1900000060"},
		{OPTION_ID_BEGIN, "now+60seconds", "1900000060"},
		{OPTION_ID_BEGIN, "now+2minutes", "1900000120"},
		{OPTION_ID_BEGIN, "now+1hour", "1900003600"},
		{OPTION_ID_BEGIN, "now+2days", "1900172800"},
		{OPTION_ID_BEGIN, "now+1week", "1900604800"},
		{OPTION_ID_BEGIN, "2030-03-18", "1900022400"},
		{OPTION_ID_BEGIN, "2030-03-18T01:02", "1900026120"},
		{OPTION_ID_BEGIN, "2030-03-18T01:02:03", "1900026123"},
		{OPTION_ID_BEGIN, "03/18/30", "1900022400"},
		{OPTION_ID_BEGIN, "3/18", "1900022400"},
		{OPTION_ID_BEGIN, "031830", "1900022400"},
		{OPTION_ID_BEGIN, "today", "1899936000"},
		{OPTION_ID_BEGIN, "tomorrow", "1900022400"},
		{OPTION_ID_BEGIN, "18:00", "1900000800"},
		{OPTION_ID_BEGIN, "17:00", "1900083600"}, /* this time has passed today, so it means tomorrow */
		{OPTION_ID_BEGIN, "6:00PM", "1900000800"},
		{OPTION_ID_BEGIN, "6:00 pm", "1900000800"},
		{OPTION_ID_BEGIN, "12:00 am", "1900022400"},
		{OPTION_ID_BEGIN, "midnight", "1900022400"},
		{OPTION_ID_BEGIN, "noon", "1900065600"},
		{OPTION_ID_BEGIN, "elevenses", "1900062000"},
		{OPTION_ID_BEGIN, "fika", "1900076400"},
		{OPTION_ID_BEGIN, "teatime tomorrow", "1900080000"},
		{OPTION_ID_BEGIN, "tomorrow 14:00:30", "1900072830"},
		{OPTION_ID_DEADLINE, "none", "null"},
	};
	static const struct refusal_case refusals[] = {
		{OPTION_ID_BEGIN,
		 "is not a date or time",
		 {"",
		  "yesterday",
		  "now+",
		  "now-5",
		  "now+5fortnights",
		  "now+99999999999weeks",
		  "24:00",
		  "13:00 PM",
		  "12:60",
		  "am",
		  "noon midnight",
		  "today tomorrow",
		  "2030-02-29",
		  "2030-13-01",
		  "2030-3-18T",
		  "30-03-18",
		  "13/01/30",
		  "00:00:00:00",
		  "12345",
		  "1111111111111111111111111111111111111111111111111111111111111111111"}},
	};
	(void)state;
	CHECK(values, refusals);
}

static void numbers(void **state)
{
	static const struct value_case values[] = {
		{OPTION_ID_NTASKS, "1", "1"},	   {OPTION_ID_NTASKS, "1000000", "1000000"},
		{OPTION_ID_RETRY, "0", "0"},	   {OPTION_ID_PRIORITY, "2147483647", "2147483647"},
		{OPTION_ID_NICE, "", "100"},	   {OPTION_ID_NICE, "-5", "-5"},
		{OPTION_ID_NICE, "+5", "5"},	   {OPTION_ID_NODES, "2", "[2,2]"},
		{OPTION_ID_NODES, "2-4", "[2,4]"}, {OPTION_ID_UMASK, "022", "18"},
		{OPTION_ID_UMASK, "0777", "511"},  {OPTION_ID_HOLD, "yes", "true"},
		{OPTION_ID_HOLD, "no", "false"},
	};
	static const struct refusal_case refusals[] = {
		{OPTION_ID_NTASKS, "\"0\" is not a number from 1 to 1000000", {"0"}},
		{OPTION_ID_NTASKS, "is not a number", {"1000001", "-1", "+1", "1x", "", " 1", "99999999999999999999999"}},
		{OPTION_ID_PRIORITY, "is not a number", {"2147483648"}},
		{OPTION_ID_NICE, "is not a number from -2147483645 to 2147483645", {"2147483646"}},
		{OPTION_ID_NICE, "is not a number", {"--5"}},
		{OPTION_ID_NODES, "is not a number of nodes", {"4-2", "0", "0-2", "2-", "2-4-6", "n1"}},
		{OPTION_ID_UMASK, "is not a mask", {"1000", "8", "00022", ""}},
		{OPTION_ID_EXCLUSIVE, "the option takes no value, but \"user\" was given", {"user"}},
	};
	(void)state;
	CHECK(values, refusals);
}

static void sizes(void **state)
{
	static const struct value_case values[] = {
		{OPTION_ID_MEM, "100", "100"},
		{OPTION_ID_MEM, "1K", "1"},
		{OPTION_ID_MEM, "1025k", "2"},
		{OPTION_ID_MEM, "100M", "100"},
		{OPTION_ID_MEM, "4G", "4096"},
		{OPTION_ID_MEM, "4g", "4096"},
		{OPTION_ID_MEM, "4GB", "4096"},
		{OPTION_ID_MEM, "4GiB", "4096"},
		{OPTION_ID_MEM, "2T", "2097152"},
		{OPTION_ID_MEM, "2048T", "2147483648"},
		{OPTION_ID_MEM_PER_CPU, "512", "512"},
		{OPTION_ID_MEM, "0", "0"},
		{OPTION_ID_MEM, "0G", "0"},
	};
	static const struct refusal_case refusals[] = {
		{OPTION_ID_MEM, "is more than 2048T", {"2049T"}},
		{OPTION_ID_MEM, "is not a size", {"", "G", "1.5G", "-1", "4X", "4GX", "4GiBs", "4 G", "99999999999999999999"}},
		{OPTION_ID_MEM_PER_CPU, "a size of 0 is not allowed for this option", {"0"}},
	};
	(void)state;
	CHECK(values, refusals);
}

static void arrays(void **state)
{
	static const struct value_case values[] = {
		{OPTION_ID_ARRAY, "0", "{\"indices\":[[0,0,1]],\"size\":1,\"limit\":null}"},
		{OPTION_ID_ARRAY, "0-15", "{\"indices\":[[0,15,1]],\"size\":16,\"limit\":null}"},
		{OPTION_ID_ARRAY, "0-15:4", "{\"indices\":[[0,12,4]],\"size\":4,\"limit\":null}"},
		{OPTION_ID_ARRAY, "0-99%10", "{\"indices\":[[0,99,1]],\"size\":100,\"limit\":10}"},
		{OPTION_ID_ARRAY, "0-15:4%2", "{\"indices\":[[0,12,4]],\"size\":4,\"limit\":2}"},
		{OPTION_ID_ARRAY, "16-32,0,6", "{\"indices\":[[0,6,6],[16,32,1]],\"size\":19,\"limit\":null}"},
		{OPTION_ID_ARRAY, "0,1,2,3", "{\"indices\":[[0,3,1]],\"size\":4,\"limit\":null}"},
		{OPTION_ID_ARRAY, "2-3,0-1", "{\"indices\":[[0,3,1]],\"size\":4,\"limit\":null}"},
		{OPTION_ID_ARRAY, "1,5,6,7", "{\"indices\":[[1,5,4],[6,7,1]],\"size\":4,\"limit\":null}"},
		{OPTION_ID_ARRAY, "0-8:2,10,12-14", "{\"indices\":[[0,12,2],[13,14,1]],\"size\":9,\"limit\":null}"},
		{OPTION_ID_ARRAY, "5-6:9", "{\"indices\":[[5,5,1]],\"size\":1,\"limit\":null}"},
		{OPTION_ID_ARRAY, "2147483646", "{\"indices\":[[2147483646,2147483646,1]],\"size\":1,\"limit\":null}"},
		{OPTION_ID_ARRAY, "none", "null"},
	};
	static const struct refusal_case refusals[] = {
		{OPTION_ID_ARRAY, "1001 elements requested; at most 1000", {"0-1000"}},
		{OPTION_ID_ARRAY, "elements requested", {"0-2147483646"}},
		{OPTION_ID_ARRAY,
		 "is not an index",
		 {"2147483647", "0-5:0", "0-5:", "5:2", "", "1,,2", "1,", "a", "%3", "99999999999999999999"}},
		{OPTION_ID_ARRAY, "the ranges that begin at 0 and 5 overlap", {"0-5,5-9"}},
		{OPTION_ID_ARRAY, "overlap", {"0-10:2,1", "3,3"}},
		{OPTION_ID_ARRAY, "\"-3\" is not an index", {"-3"}},
		{OPTION_ID_ARRAY, "the range \"5-1\" ends before it begins", {"5-1"}},
		{OPTION_ID_ARRAY, "\"%0\" is not a number of elements", {"0-5%0"}},
		{OPTION_ID_ARRAY, "is not a number of elements", {"0-5%", "0-5%2%3"}},
	};
	(void)state;
	CHECK(values, refusals);
}

/* Equal sets of indices have equal lists, however they are written. */
static void array_canonical(void **state)
{
	(void)state;
	srand(7);
	for (int round = 0; round < 300; round++) {
		char one[600] = "", two[600] = "";
		for (int i = 0, previous = -2; i < 40; i++) {
			if (rand() % 3 == 0)
				continue;
			size_t used = strlen(one);
			snprintf(one + used, sizeof one - used, "%s%d", used ? "," : "", i);
			used = strlen(two);
			bool run = previous == i - 1 && rand() % 2;
			char *last = run ? strrchr(two, ',') : NULL;
			if (last && !strchr(last, '-'))
				snprintf(two + used, sizeof two - used, "-%d", i);
			else
				snprintf(two + used, sizeof two - used, "%s%d", used ? "," : "", i);
			previous = i;
		}
		struct err e;
		json_t *a = value_of(OPTION_ID_ARRAY, one, &e), *b = value_of(OPTION_ID_ARRAY, two, &e);
		assert_non_null(a);
		assert_non_null(b);
		if (!json_equal(a, b))
			fail_msg("\"%s\" and \"%s\" differ", one, two);
		json_decref(a);
		json_decref(b);
	}
}

static void hosts(void **state)
{
	static const struct value_case values[] = {
		{OPTION_ID_NODELIST, "n1", "[\"n1\"]"},
		{OPTION_ID_NODELIST, "n1,n2", "[\"n1\",\"n2\"]"},
		{OPTION_ID_NODELIST, "n[1-4,7],m2", "[\"n1\",\"n2\",\"n3\",\"n4\",\"n7\",\"m2\"]"},
		{OPTION_ID_NODELIST, "n[01-03]", "[\"n01\",\"n02\",\"n03\"]"},
		{OPTION_ID_NODELIST, "n[9-11]", "[\"n9\",\"n10\",\"n11\"]"},
		{OPTION_ID_NODELIST, "r[1-2]n[1-2].x", "[\"r1n1.x\",\"r1n2.x\",\"r2n1.x\",\"r2n2.x\"]"},
		{OPTION_ID_NODELIST, "n1,n1,n[1-2]", "[\"n1\",\"n2\"]"},
		{OPTION_ID_EXCLUDE, "none", "[]"},
	};
	static const struct refusal_case refusals[] = {
		{OPTION_ID_NODELIST, "too many nodes", {"n[1-1001]", "n[1-999999999]"}},
		{OPTION_ID_NODELIST, "has no closing bracket", {"n[1"}},
		{OPTION_ID_NODELIST, "has a character", {"n1]", "../n", "n 1"}},
		{OPTION_ID_NODELIST, "is not a range", {"n[2-1]", "n[a-b]", "n[]", "n[[1-2]]"}},
		{OPTION_ID_NODELIST, "too many brackets", {"a[1]b[1]c[1]d[1]e[1]"}},
		{OPTION_ID_NODELIST, "is not the name of a node", {"n1,,n2", "", "-n"}},
	};
	(void)state;
	CHECK(values, refusals);
}

static void lists(void **state)
{
	static const struct value_case values[] = {
		{OPTION_ID_GRES, "gpu", "{\"gpu\":1}"},
		{OPTION_ID_GRES, "gpu:2,fpga", "{\"gpu\":2,\"fpga\":1}"},
		{OPTION_ID_GRES, "none", "{}"},
		{OPTION_ID_GRES, "gpu:0", "{\"gpu\":0}"},
		{OPTION_ID_GPUS, "0", "0"},
		{OPTION_ID_GPUS_PER_NODE, "2", "2"},
		{OPTION_ID_LICENSES, "matlab:2,abaqus@server", "{\"matlab\":2,\"abaqus@server\":1}"},
		{OPTION_ID_LICENSES, "none", "{}"},
		{OPTION_ID_KEEP, "mem,gres", "{\"cpus\":false,\"mem\":true,\"gres\":true,\"licenses\":false}"},
		{OPTION_ID_KEEP, "licences", "{\"cpus\":false,\"mem\":false,\"gres\":false,\"licenses\":true}"},
		{OPTION_ID_KEEP, "all", "{\"cpus\":true,\"mem\":true,\"gres\":true,\"licenses\":true}"},
		{OPTION_ID_KEEP, "none", "{\"cpus\":false,\"mem\":false,\"gres\":false,\"licenses\":false}"},
		{OPTION_ID_MAIL_TYPE, "end,FAIL,end", "\"END,FAIL\""},
		{OPTION_ID_MAIL_TYPE, "all", "\"ALL\""},
		{OPTION_ID_MAIL_USER, "alice", "\"alice\""},
		{OPTION_ID_MAIL_USER, "a.b+c@mail-1.example.org,bob", "\"a.b+c@mail-1.example.org,bob\""},
		{OPTION_ID_EXPORT, "ALL", "\"ALL\""},
		{OPTION_ID_EXPORT, "NONE", "\"NONE\""},
		{OPTION_ID_EXPORT, "PATH,A=b,C='d,e'", "\"PATH,A=b,C='d,e'\""},
	};
	static const struct refusal_case refusals[] = {
		{OPTION_ID_GRES, "\"gpu\" is requested by type", {"gpu:a100:2"}},
		{OPTION_ID_GRES, "\"-1\" is not a number", {"gpu:-1"}},
		{OPTION_ID_GPUS, "is not a number", {"a100:2"}},
		{OPTION_ID_GRES, "is not a number", {"gpu:"}},
		{OPTION_ID_GRES, "\"gpu\" is named twice", {"gpu,gpu:2"}},
		{OPTION_ID_GRES, "is not a name", {"", "2", "g/pu"}},
		{OPTION_ID_LICENSES, "is not a name", {"matlab|abaqus"}},
		{OPTION_ID_LICENSES, "is not a number", {"matlab:x"}},
		{OPTION_ID_KEEP, "\"disk\" is not one of cpus, mem, gres, licenses", {"disk"}},
		{OPTION_ID_KEEP, "is not one of", {""}},
		{OPTION_ID_MAIL_USER, "\"\" is not a mail address", {"", "a@b,"}},
		{OPTION_ID_MAIL_USER, "\"-oQ/tmp\" is not a mail address", {"-oQ/tmp"}},
		{OPTION_ID_MAIL_USER,
		 "is not a mail address",
		 {"|/bin/id", ":include:/etc/passwd", "a@b\nBcc: c@d", "a b", "a@b@c", "a@-b", "a@b..c"}},
		{OPTION_ID_MAIL_USER, "more than 10 mail addresses", {"a,b,c,d,e,f,g,h,i,j,k"}},
		{OPTION_ID_MAIL_TYPE, "\"sometimes\" is not an event", {"sometimes"}},
		{OPTION_ID_MAIL_TYPE, "is not an event", {""}},
		{OPTION_ID_EXPORT, "NONE cannot be combined with other variables", {"NONE,A=b"}},
		{OPTION_ID_EXPORT, "is not a list of variables", {""}},
		{OPTION_ID_EXPORT, "\"1A\" is not the name of a variable", {"1A"}},
		{OPTION_ID_EXPORT, "is not the name of a variable", {"A B", "A,,B", "=b"}},
	};
	(void)state;
	CHECK(values, refusals);
}

static void features(void **state)
{
	static const struct value_case values[] = {
		{OPTION_ID_CONSTRAINT, "fast", "\"fast\""},
		{OPTION_ID_CONSTRAINT, "intel&avx-512", "\"intel&avx-512\""},
		{OPTION_ID_CONSTRAINT, " ( a | b ) & ! c ", "\"(a|b)&!c\""},
		{OPTION_ID_CONSTRAINT, "!(a|!b)", "\"!(a|!b)\""},
		{OPTION_ID_CONSTRAINT, "none", "\"\""},
	};
	static const struct refusal_case refusals[] = {
		{OPTION_ID_CONSTRAINT,
		 "is not an expression",
		 {"", "a b", "a&", "&a", "a&|b", "(a", "a)", "()", "a!b", "[a|b]", "a*2", "a\xC3\xA9"}},
	};
	(void)state;
	CHECK(values, refusals);
}

/* 32 parentheses are accepted, 33 are refused. */
static void features_deep(void **state)
{
	char deep[80] = "", json[90];
	(void)state;
	memset(deep, '(', 33);
	deep[33] = 'a';
	memset(deep + 34, ')', 33);
	check_refusal(OPTION_ID_CONSTRAINT, deep, "is not an expression");
	deep[66] = '\0';
	snprintf(json, sizeof json, "\"%s\"", deep + 1);
	check_value(&(struct value_case){OPTION_ID_CONSTRAINT, deep + 1, json});
	memset(deep, '!', 33);
	deep[34] = '\0';
	check_refusal(OPTION_ID_CONSTRAINT, deep, "is not an expression");
}

static void texts(void **state)
{
	static char longest[1100];
	memset(longest, 'a', sizeof longest - 1);
	static const struct value_case values[] = {
		{OPTION_ID_JOB_NAME, "heat 1", "\"heat 1\""},
		{OPTION_ID_JOB_NAME, "h\xC3\xA4t", "\"h\xC3\xA4t\""},
		{OPTION_ID_COMMENT, "", "\"\""},
		{OPTION_ID_COMMENT, "a\tb", "\"a\\tb\""},
		{OPTION_ID_ACCOUNT, "physics.lab-2", "\"physics.lab-2\""},
		{OPTION_ID_GROUP, "g1", "\"g1\""},
		{OPTION_ID_OUTPUT, "out/%j-%4a.txt", "\"out/%j-%4a.txt\""},
		{OPTION_ID_OUTPUT, "../%x.%S.%%", "\"../%x.%S.%%\""},
		{OPTION_ID_WORKDIR, "/tmp", "\"/tmp\""},
		{OPTION_ID_OPEN_MODE, "append", "\"append\""},
		{OPTION_ID_RUN, "tasks", "\"tasks\""},
		{OPTION_ID_SHELL, "/bin/zsh", "\"/bin/zsh\""},
		{OPTION_ID_SHELL, "login", "\"login\""},
		{OPTION_ID_IF_CHANGED, "out.%4a,b:in,~/x", "\"out.%4a,b:in,~/x\""},
		{OPTION_ID_IF_CHANGED, "none", "null"},
	};
	static const struct refusal_case refusals[] = {
		{OPTION_ID_JOB_NAME, "the value is empty", {""}},
		{OPTION_ID_JOB_NAME, "\"a\\x09b\" is not UTF-8 text without control characters", {"a\tb"}},
		{OPTION_ID_JOB_NAME, "\"a\\x1B[31m\" is not", {"a\x1b[31m"}},
		{OPTION_ID_JOB_NAME,
		 "\"a\\xE2\\x80\\xAEb\" is not",
		 {"a\xE2\x80\xAE"
		  "b"}},
		{OPTION_ID_JOB_NAME,
		 "is not UTF-8",
		 {"a\xC2\x85", "\xFF", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}},
		{OPTION_ID_JOB_NAME, "the value has 1099 bytes; at most 255 are allowed", {longest}},
		{OPTION_ID_COMMENT, "is not UTF-8", {"a\nb"}},
		{OPTION_ID_COMMENT, "bytes; at most", {longest}},
		{OPTION_ID_ACCOUNT, "is not a name", {"", "-x", "a/b"}},
		{OPTION_ID_PARTITION, "is not a name", {"a,b"}},
		{OPTION_ID_GROUP, "is not a name", {"1g", "../g"}},
		{OPTION_ID_OUTPUT, "the value is empty", {""}},
		{OPTION_ID_OUTPUT, "has a % without a pattern letter", {"a%q"}},
		{OPTION_ID_OUTPUT, "without a pattern letter", {"a%", "a%5"}},
		{OPTION_ID_OUTPUT, "is not UTF-8", {"a\nb", "a\xFF"}},
		{OPTION_ID_OUTPUT, "bytes; at most", {longest}},
		{OPTION_ID_WORKDIR, "the value is empty", {""}},
		{OPTION_ID_OPEN_MODE, "\"a\" is not one of append|truncate", {"a"}},
		{OPTION_ID_RUN, "is not one of once|tasks", {""}},
		{OPTION_ID_SHELL, "is neither an absolute path nor login", {"zsh"}},
		{OPTION_ID_IF_CHANGED, "the value is empty", {""}},
		{OPTION_ID_IF_CHANGED, "\"out\" is not OUT[,OUT...]:IN[,IN...]", {"out"}},
		{OPTION_ID_IF_CHANGED, "\"out:\" is not", {"out:"}},
		{OPTION_ID_IF_CHANGED, "\"a:b:c\" is not", {"a:b:c"}},
		{OPTION_ID_IF_CHANGED, "\"a,:b\" is not", {"a,:b"}},
		{OPTION_ID_IF_CHANGED, "has a % without a pattern letter", {"a%q:b"}},
		{OPTION_ID_IF_CHANGED, "is not UTF-8", {"a:b\n"}},
		{OPTION_ID_IF_CHANGED, "bytes; at most", {longest}},
		{OPTION_ID_AFTER, "the value is empty", {""}},
		{OPTION_ID_WITH, "is not UTF-8", {"a\xFF"}},
	};
	(void)state;
	CHECK(values, refusals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),    cmocka_unit_test(moments),	       cmocka_unit_test(numbers), cmocka_unit_test(sizes),
		cmocka_unit_test(arrays),   cmocka_unit_test(array_canonical), cmocka_unit_test(hosts),	  cmocka_unit_test(lists),
		cmocka_unit_test(features), cmocka_unit_test(features_deep),   cmocka_unit_test(texts),
	};
	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
