/* option_value_test.c - the parsers of option values: what passes and as what, what is refused and why. */
#include <time.h>

#include "jobmgr/translate/option.h"
#include "tests/unit/unit.h"

#define NOW INT64_C(1900000000) /* 2030-03-17T17:46:40 UTC, a Sunday */

struct value_case {
	enum option_id id;
	const char *text;
	const char *json;  /* expected; NULL: refused */
	const char *error; /* part of the message, where refused */
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
	char *json = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	const char *name = option_row(c->id)->name;
	if (c->json && !json)
		fail_msg("--%s=%s refused: %s", name, c->text, e.message);
	if (c->json && strcmp(json, c->json) != 0)
		fail_msg("--%s=%s gave %s instead of %s", name, c->text, json, c->json);
	if (!c->json && json)
		fail_msg("--%s=%s passed as %s", name, c->text, json);
	if (!c->json && !strstr(e.message, c->error))
		fail_msg("--%s=%s: \"%s\" lacks \"%s\"", name, c->text, e.message, c->error);
	free(json);
	json_decref(value);
}

#define CHECK(cases)                                                                                                             \
	for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++)                                                             \
	check_value(&(cases)[i])

static void times(void **state)
{
	static const struct value_case cases[] = {
		{OPTION_ID_TIME, "0", "0", NULL},
		{OPTION_ID_TIME, "5", "300", NULL},
		{OPTION_ID_TIME, "90:30", "5430", NULL},
		{OPTION_ID_TIME, "1:00:00", "3600", NULL},
		{OPTION_ID_TIME, "1-0", "86400", NULL},
		{OPTION_ID_TIME, "1-2:30", "95400", NULL},
		{OPTION_ID_TIME, "2-03:04:05", "183845", NULL},
		{OPTION_ID_TIME, "0-72:00:00", "259200", NULL},
		{OPTION_ID_TIME, "UNLIMITED", "0", NULL},
		{OPTION_ID_TIME, "infinite", "0", NULL},
		{OPTION_ID_TIME_MIN, "10", "600", NULL},
		{OPTION_ID_TIME, "", NULL, "is not a length of time"},
		{OPTION_ID_TIME, "1h", NULL, "\"1h\" is not a length of time"},
		{OPTION_ID_TIME, "1:2:3:4", NULL, "is not a length of time"},
		{OPTION_ID_TIME, "1-", NULL, "is not a length of time"},
		{OPTION_ID_TIME, "-5", NULL, "is not a length of time"},
		{OPTION_ID_TIME, "1-2-3", NULL, "is not a length of time"},
		{OPTION_ID_TIME, "1:", NULL, "is not a length of time"},
		{OPTION_ID_TIME, ":1", NULL, "is not a length of time"},
		{OPTION_ID_TIME, "1.5", NULL, "is not a length of time"},
		{OPTION_ID_TIME, "99999999999999999999", NULL, "is not a length of time"},
		{OPTION_ID_TIME, "9223372036854775807", NULL, "is not a length of time"},
		{OPTION_ID_TIME, "36600-23:59:59", NULL, "is not a length of time"},
	};
	(void)state;
	CHECK(cases);
}

static void moments(void **state)
{
	static const struct value_case cases[] = {
		{OPTION_ID_BEGIN, "now", "1900000000", NULL},
		{OPTION_ID_BEGIN, "now+60", "1900000060", NULL},
		{OPTION_ID_BEGIN, "now+60seconds", "1900000060", NULL},
		{OPTION_ID_BEGIN, "now+2minutes", "1900000120", NULL},
		{OPTION_ID_BEGIN, "now+1hour", "1900003600", NULL},
		{OPTION_ID_BEGIN, "now+2days", "1900172800", NULL},
		{OPTION_ID_BEGIN, "now+1week", "1900604800", NULL},
		{OPTION_ID_BEGIN, "2030-03-18", "1900022400", NULL},
		{OPTION_ID_BEGIN, "2030-03-18T01:02", "1900026120", NULL},
		{OPTION_ID_BEGIN, "2030-03-18T01:02:03", "1900026123", NULL},
		{OPTION_ID_BEGIN, "03/18/30", "1900022400", NULL},
		{OPTION_ID_BEGIN, "3/18", "1900022400", NULL},
		{OPTION_ID_BEGIN, "031830", "1900022400", NULL},
		{OPTION_ID_BEGIN, "today", "1899936000", NULL},
		{OPTION_ID_BEGIN, "tomorrow", "1900022400", NULL},
		{OPTION_ID_BEGIN, "18:00", "1900000800", NULL},
		{OPTION_ID_BEGIN, "17:00", "1900083600", NULL}, /* over today, so tomorrow */
		{OPTION_ID_BEGIN, "6:00PM", "1900000800", NULL},
		{OPTION_ID_BEGIN, "6:00 pm", "1900000800", NULL},
		{OPTION_ID_BEGIN, "12:00 am", "1900022400", NULL},
		{OPTION_ID_BEGIN, "midnight", "1900022400", NULL},
		{OPTION_ID_BEGIN, "noon", "1900065600", NULL},
		{OPTION_ID_BEGIN, "elevenses", "1900062000", NULL},
		{OPTION_ID_BEGIN, "fika", "1900076400", NULL},
		{OPTION_ID_BEGIN, "teatime tomorrow", "1900080000", NULL},
		{OPTION_ID_BEGIN, "tomorrow 14:00:30", "1900072830", NULL},
		{OPTION_ID_DEADLINE, "none", "null", NULL},
		{OPTION_ID_BEGIN, "", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "yesterday", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "now+", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "now-5", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "now+5fortnights", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "now+99999999999weeks", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "24:00", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "13:00 PM", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "12:60", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "am", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "noon midnight", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "today tomorrow", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "2030-02-29", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "2030-13-01", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "2030-3-18T", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "30-03-18", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "13/01/30", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "00:00:00:00", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "12345", NULL, "is not a moment"},
		{OPTION_ID_BEGIN, "1111111111111111111111111111111111111111111111111111111111111111111", NULL, "is not a moment"},
	};
	(void)state;
	CHECK(cases);
}

static void numbers(void **state)
{
	static const struct value_case cases[] = {
		{OPTION_ID_NTASKS, "1", "1", NULL},
		{OPTION_ID_NTASKS, "1000000", "1000000", NULL},
		{OPTION_ID_NTASKS, "0", NULL, "\"0\" is not a number from 1 to 1000000"},
		{OPTION_ID_NTASKS, "1000001", NULL, "is not a number"},
		{OPTION_ID_NTASKS, "-1", NULL, "is not a number"},
		{OPTION_ID_NTASKS, "+1", NULL, "is not a number"},
		{OPTION_ID_NTASKS, "1x", NULL, "is not a number"},
		{OPTION_ID_NTASKS, "", NULL, "is not a number"},
		{OPTION_ID_NTASKS, " 1", NULL, "is not a number"},
		{OPTION_ID_NTASKS, "99999999999999999999999", NULL, "is not a number"},
		{OPTION_ID_RETRY, "0", "0", NULL},
		{OPTION_ID_PRIORITY, "2147483647", "2147483647", NULL},
		{OPTION_ID_PRIORITY, "2147483648", NULL, "is not a number"},
		{OPTION_ID_NICE, "", "100", NULL},
		{OPTION_ID_NICE, "-5", "-5", NULL},
		{OPTION_ID_NICE, "+5", "5", NULL},
		{OPTION_ID_NICE, "2147483646", NULL, "is not a number from -2147483645 to 2147483645"},
		{OPTION_ID_NICE, "--5", NULL, "is not a number"},
		{OPTION_ID_NODES, "2", "[2,2]", NULL},
		{OPTION_ID_NODES, "2-4", "[2,4]", NULL},
		{OPTION_ID_NODES, "4-2", NULL, "is not a number of nodes"},
		{OPTION_ID_NODES, "0", NULL, "is not a number of nodes"},
		{OPTION_ID_NODES, "0-2", NULL, "is not a number of nodes"},
		{OPTION_ID_NODES, "2-", NULL, "is not a number of nodes"},
		{OPTION_ID_NODES, "2-4-6", NULL, "is not a number of nodes"},
		{OPTION_ID_NODES, "n1", NULL, "is not a number of nodes"},
		{OPTION_ID_UMASK, "022", "18", NULL},
		{OPTION_ID_UMASK, "0777", "511", NULL},
		{OPTION_ID_UMASK, "1000", NULL, "is not a mask"},
		{OPTION_ID_UMASK, "8", NULL, "is not a mask"},
		{OPTION_ID_UMASK, "00022", NULL, "is not a mask"},
		{OPTION_ID_UMASK, "", NULL, "is not a mask"},
		{OPTION_ID_HOLD, "yes", "true", NULL},
		{OPTION_ID_HOLD, "no", "false", NULL},
		{OPTION_ID_EXCLUSIVE, "user", NULL, "it takes no value, and \"user\" is one"},
	};
	(void)state;
	CHECK(cases);
}

static void sizes(void **state)
{
	static const struct value_case cases[] = {
		{OPTION_ID_MEM, "100", "100", NULL},
		{OPTION_ID_MEM, "1K", "1", NULL},
		{OPTION_ID_MEM, "1025k", "2", NULL},
		{OPTION_ID_MEM, "100M", "100", NULL},
		{OPTION_ID_MEM, "4G", "4096", NULL},
		{OPTION_ID_MEM, "4g", "4096", NULL},
		{OPTION_ID_MEM, "4GB", "4096", NULL},
		{OPTION_ID_MEM, "4GiB", "4096", NULL},
		{OPTION_ID_MEM, "2T", "2097152", NULL},
		{OPTION_ID_MEM, "2048T", "2147483648", NULL},
		{OPTION_ID_MEM_PER_CPU, "512", "512", NULL},
		{OPTION_ID_MEM, "2049T", NULL, "is more than 2048T"},
		{OPTION_ID_MEM, "0", "0", NULL},
		{OPTION_ID_MEM, "", NULL, "is not a size"},
		{OPTION_ID_MEM, "G", NULL, "is not a size"},
		{OPTION_ID_MEM, "1.5G", NULL, "is not a size"},
		{OPTION_ID_MEM, "-1", NULL, "is not a size"},
		{OPTION_ID_MEM, "4X", NULL, "is not a size"},
		{OPTION_ID_MEM, "4GX", NULL, "is not a size"},
		{OPTION_ID_MEM, "4GiBs", NULL, "is not a size"},
		{OPTION_ID_MEM, "0G", "0", NULL},
		{OPTION_ID_MEM_PER_CPU, "0", NULL, "0 is no size"},
		{OPTION_ID_MEM, "4 G", NULL, "is not a size"},
		{OPTION_ID_MEM, "99999999999999999999", NULL, "is not a size"},
	};
	(void)state;
	CHECK(cases);
}

static void arrays(void **state)
{
	static const struct value_case cases[] = {
		{OPTION_ID_ARRAY, "0", "{\"indices\":[[0,0,1]],\"size\":1,\"limit\":null}", NULL},
		{OPTION_ID_ARRAY, "0-15", "{\"indices\":[[0,15,1]],\"size\":16,\"limit\":null}", NULL},
		{OPTION_ID_ARRAY, "0-15:4", "{\"indices\":[[0,12,4]],\"size\":4,\"limit\":null}", NULL},
		{OPTION_ID_ARRAY, "0-99%10", "{\"indices\":[[0,99,1]],\"size\":100,\"limit\":10}", NULL},
		{OPTION_ID_ARRAY, "0-15:4%2", "{\"indices\":[[0,12,4]],\"size\":4,\"limit\":2}", NULL},
		{OPTION_ID_ARRAY, "16-32,0,6", "{\"indices\":[[0,6,6],[16,32,1]],\"size\":19,\"limit\":null}", NULL},
		{OPTION_ID_ARRAY, "0,1,2,3", "{\"indices\":[[0,3,1]],\"size\":4,\"limit\":null}", NULL},
		{OPTION_ID_ARRAY, "2-3,0-1", "{\"indices\":[[0,3,1]],\"size\":4,\"limit\":null}", NULL},
		{OPTION_ID_ARRAY, "1,5,6,7", "{\"indices\":[[1,5,4],[6,7,1]],\"size\":4,\"limit\":null}", NULL},
		{OPTION_ID_ARRAY, "0-8:2,10,12-14", "{\"indices\":[[0,12,2],[13,14,1]],\"size\":9,\"limit\":null}", NULL},
		{OPTION_ID_ARRAY, "5-6:9", "{\"indices\":[[5,5,1]],\"size\":1,\"limit\":null}", NULL},
		{OPTION_ID_ARRAY, "2147483646", "{\"indices\":[[2147483646,2147483646,1]],\"size\":1,\"limit\":null}", NULL},
		{OPTION_ID_ARRAY, "none", "null", NULL},
		{OPTION_ID_ARRAY, "0-1000", NULL, "1001 elements are more than the 1000"},
		{OPTION_ID_ARRAY, "0-2147483646", NULL, "elements are more than"},
		{OPTION_ID_ARRAY, "2147483647", NULL, "is not an index"},
		{OPTION_ID_ARRAY, "0-5,5-9", NULL, "the ranges that begin at 0 and 5 overlap"},
		{OPTION_ID_ARRAY, "0-10:2,1", NULL, "overlap"},
		{OPTION_ID_ARRAY, "3,3", NULL, "overlap"},
		{OPTION_ID_ARRAY, "-3", NULL, "\"-3\" is not an index"},
		{OPTION_ID_ARRAY, "5-1", NULL, "\"5-1\" ends before it begins"},
		{OPTION_ID_ARRAY, "0-5:0", NULL, "is not an index"},
		{OPTION_ID_ARRAY, "0-5:", NULL, "is not an index"},
		{OPTION_ID_ARRAY, "5:2", NULL, "is not an index"},
		{OPTION_ID_ARRAY, "", NULL, "is not an index"},
		{OPTION_ID_ARRAY, "1,,2", NULL, "is not an index"},
		{OPTION_ID_ARRAY, "1,", NULL, "is not an index"},
		{OPTION_ID_ARRAY, "a", NULL, "is not an index"},
		{OPTION_ID_ARRAY, "0-5%0", NULL, "\"%0\" is not a number of elements"},
		{OPTION_ID_ARRAY, "0-5%", NULL, "is not a number of elements"},
		{OPTION_ID_ARRAY, "0-5%2%3", NULL, "is not a number of elements"},
		{OPTION_ID_ARRAY, "%3", NULL, "is not an index"},
		{OPTION_ID_ARRAY, "99999999999999999999", NULL, "is not an index"},
	};
	(void)state;
	CHECK(cases);
}

/* Whatever the spelling of an array, the list is canonical: equal sets have equal lists. */
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
	static const struct value_case cases[] = {
		{OPTION_ID_NODELIST, "n1", "[\"n1\"]", NULL},
		{OPTION_ID_NODELIST, "n1,n2", "[\"n1\",\"n2\"]", NULL},
		{OPTION_ID_NODELIST, "n[1-4,7],m2", "[\"n1\",\"n2\",\"n3\",\"n4\",\"n7\",\"m2\"]", NULL},
		{OPTION_ID_NODELIST, "n[01-03]", "[\"n01\",\"n02\",\"n03\"]", NULL},
		{OPTION_ID_NODELIST, "n[9-11]", "[\"n9\",\"n10\",\"n11\"]", NULL},
		{OPTION_ID_NODELIST, "r[1-2]n[1-2].x", "[\"r1n1.x\",\"r1n2.x\",\"r2n1.x\",\"r2n2.x\"]", NULL},
		{OPTION_ID_NODELIST, "n1,n1,n[1-2]", "[\"n1\",\"n2\"]", NULL},
		{OPTION_ID_EXCLUDE, "none", "[]", NULL},
		{OPTION_ID_NODELIST, "n[1-1001]", NULL, "too many nodes"},
		{OPTION_ID_NODELIST, "n[1-999999999]", NULL, "too many nodes"},
		{OPTION_ID_NODELIST, "n[1", NULL, "has no closing bracket"},
		{OPTION_ID_NODELIST, "n1]", NULL, "holds a character"},
		{OPTION_ID_NODELIST, "n[2-1]", NULL, "is not a range"},
		{OPTION_ID_NODELIST, "n[a-b]", NULL, "is not a range"},
		{OPTION_ID_NODELIST, "n[]", NULL, "is not a range"},
		{OPTION_ID_NODELIST, "n[[1-2]]", NULL, "is not a range"},
		{OPTION_ID_NODELIST, "a[1]b[1]c[1]d[1]e[1]", NULL, "too many brackets"},
		{OPTION_ID_NODELIST, "n1,,n2", NULL, "is not the name of a node"},
		{OPTION_ID_NODELIST, "", NULL, "is not the name of a node"},
		{OPTION_ID_NODELIST, "-n", NULL, "is not the name of a node"},
		{OPTION_ID_NODELIST, "../n", NULL, "holds a character"},
		{OPTION_ID_NODELIST, "n 1", NULL, "holds a character"},
	};
	(void)state;
	CHECK(cases);
}

static void lists(void **state)
{
	static const struct value_case cases[] = {
		{OPTION_ID_GRES, "gpu", "{\"gpu\":1}", NULL},
		{OPTION_ID_GRES, "gpu:2,fpga", "{\"gpu\":2,\"fpga\":1}", NULL},
		{OPTION_ID_GRES, "none", "{}", NULL},
		{OPTION_ID_GRES, "gpu:a100:2", NULL, "\"gpu\" is asked for by its type"},
		{OPTION_ID_GRES, "gpu:0", "{\"gpu\":0}", NULL},
		{OPTION_ID_GRES, "gpu:-1", NULL, "\"-1\" is not a number"},
		{OPTION_ID_GPUS, "0", "0", NULL},
		{OPTION_ID_GPUS, "a100:2", NULL, "is not a number"},
		{OPTION_ID_GRES, "gpu:", NULL, "is not a number"},
		{OPTION_ID_GRES, "gpu,gpu:2", NULL, "\"gpu\" is named twice"},
		{OPTION_ID_GRES, "", NULL, "is not a name"},
		{OPTION_ID_GRES, "2", NULL, "is not a name"},
		{OPTION_ID_GRES, "g/pu", NULL, "is not a name"},
		{OPTION_ID_GPUS_PER_NODE, "2", "2", NULL},
		{OPTION_ID_LICENSES, "matlab:2,abaqus@server", "{\"matlab\":2,\"abaqus@server\":1}", NULL},
		{OPTION_ID_LICENSES, "none", "{}", NULL},
		{OPTION_ID_LICENSES, "matlab|abaqus", NULL, "is not a name"},
		{OPTION_ID_LICENSES, "matlab:x", NULL, "is not a number"},
		{OPTION_ID_KEEP, "mem,gres", "{\"cpus\":false,\"mem\":true,\"gres\":true,\"licenses\":false}", NULL},
		{OPTION_ID_KEEP, "licences", "{\"cpus\":false,\"mem\":false,\"gres\":false,\"licenses\":true}", NULL},
		{OPTION_ID_KEEP, "all", "{\"cpus\":true,\"mem\":true,\"gres\":true,\"licenses\":true}", NULL},
		{OPTION_ID_KEEP, "none", "{\"cpus\":false,\"mem\":false,\"gres\":false,\"licenses\":false}", NULL},
		{OPTION_ID_KEEP, "disk", NULL, "\"disk\" is not one of cpus, mem, gres, licenses"},
		{OPTION_ID_KEEP, "", NULL, "is not one of"},
		{OPTION_ID_MAIL_TYPE, "end,FAIL,end", "\"END,FAIL\"", NULL},
		{OPTION_ID_MAIL_TYPE, "all", "\"ALL\"", NULL},
		{OPTION_ID_MAIL_USER, "alice", "\"alice\"", NULL},
		{OPTION_ID_MAIL_USER, "a.b+c@mail-1.example.org,bob", "\"a.b+c@mail-1.example.org,bob\"", NULL},
		{OPTION_ID_MAIL_USER, "", NULL, "\"\" is not a mail address"},
		{OPTION_ID_MAIL_USER, "a@b,", NULL, "\"\" is not a mail address"},
		{OPTION_ID_MAIL_USER, "-oQ/tmp", NULL, "\"-oQ/tmp\" is not a mail address"},
		{OPTION_ID_MAIL_USER, "|/bin/id", NULL, "is not a mail address"},
		{OPTION_ID_MAIL_USER, ":include:/etc/passwd", NULL, "is not a mail address"},
		{OPTION_ID_MAIL_USER, "a@b\nBcc: c@d", NULL, "is not a mail address"},
		{OPTION_ID_MAIL_USER, "a b", NULL, "is not a mail address"},
		{OPTION_ID_MAIL_USER, "a@b@c", NULL, "is not a mail address"},
		{OPTION_ID_MAIL_USER, "a@-b", NULL, "is not a mail address"},
		{OPTION_ID_MAIL_USER, "a@b..c", NULL, "is not a mail address"},
		{OPTION_ID_MAIL_USER, "a,b,c,d,e,f,g,h,i,j,k", NULL, "more than 10 mail addresses"},
		{OPTION_ID_MAIL_TYPE, "sometimes", NULL, "\"sometimes\" is not an event"},
		{OPTION_ID_MAIL_TYPE, "", NULL, "is not an event"},
		{OPTION_ID_EXPORT, "ALL", "\"ALL\"", NULL},
		{OPTION_ID_EXPORT, "NONE", "\"NONE\"", NULL},
		{OPTION_ID_EXPORT, "PATH,A=b,C='d,e'", "\"PATH,A=b,C='d,e'\"", NULL},
		{OPTION_ID_EXPORT, "NONE,A=b", NULL, "NONE stands beside other variables"},
		{OPTION_ID_EXPORT, "", NULL, "is not a list of variables"},
		{OPTION_ID_EXPORT, "1A", NULL, "\"1A\" is not the name of a variable"},
		{OPTION_ID_EXPORT, "A B", NULL, "is not the name of a variable"},
		{OPTION_ID_EXPORT, "A,,B", NULL, "is not the name of a variable"},
		{OPTION_ID_EXPORT, "=b", NULL, "is not the name of a variable"},
	};
	(void)state;
	CHECK(cases);
}

static void features(void **state)
{
	static const struct value_case cases[] = {
		{OPTION_ID_CONSTRAINT, "fast", "\"fast\"", NULL},
		{OPTION_ID_CONSTRAINT, "intel&avx-512", "\"intel&avx-512\"", NULL},
		{OPTION_ID_CONSTRAINT, " ( a | b ) & ! c ", "\"(a|b)&!c\"", NULL},
		{OPTION_ID_CONSTRAINT, "!(a|!b)", "\"!(a|!b)\"", NULL},
		{OPTION_ID_CONSTRAINT, "none", "\"\"", NULL},
		{OPTION_ID_CONSTRAINT, "", NULL, "is not an expression"},
		{OPTION_ID_CONSTRAINT, "a b", NULL, "is not an expression"},
		{OPTION_ID_CONSTRAINT, "a&", NULL, "is not an expression"},
		{OPTION_ID_CONSTRAINT, "&a", NULL, "is not an expression"},
		{OPTION_ID_CONSTRAINT, "a&|b", NULL, "is not an expression"},
		{OPTION_ID_CONSTRAINT, "(a", NULL, "is not an expression"},
		{OPTION_ID_CONSTRAINT, "a)", NULL, "is not an expression"},
		{OPTION_ID_CONSTRAINT, "()", NULL, "is not an expression"},
		{OPTION_ID_CONSTRAINT, "a!b", NULL, "is not an expression"},
		{OPTION_ID_CONSTRAINT, "[a|b]", NULL, "is not an expression"},
		{OPTION_ID_CONSTRAINT, "a*2", NULL, "is not an expression"},
		{OPTION_ID_CONSTRAINT, "a\xC3\xA9", NULL, "is not an expression"},
	};
	(void)state;
	CHECK(cases);
}

/* 32 parentheses pass, 33 do not. */
static void features_deep(void **state)
{
	char deep[80] = "", json[90];
	(void)state;
	memset(deep, '(', 33);
	deep[33] = 'a';
	memset(deep + 34, ')', 33);
	check_value(&(struct value_case){OPTION_ID_CONSTRAINT, deep, NULL, "is not an expression"});
	deep[66] = '\0';
	snprintf(json, sizeof json, "\"%s\"", deep + 1);
	check_value(&(struct value_case){OPTION_ID_CONSTRAINT, deep + 1, json, NULL});
	memset(deep, '!', 33);
	deep[34] = '\0';
	check_value(&(struct value_case){OPTION_ID_CONSTRAINT, deep, NULL, "is not an expression"});
}

static void texts(void **state)
{
	static char longest[1100];
	memset(longest, 'a', sizeof longest - 1);
	static const struct value_case cases[] = {
		{OPTION_ID_JOB_NAME, "heat 1", "\"heat 1\"", NULL},
		{OPTION_ID_JOB_NAME, "h\xC3\xA4t", "\"h\xC3\xA4t\"", NULL},
		{OPTION_ID_JOB_NAME, "", NULL, "its value is empty"},
		{OPTION_ID_JOB_NAME, "a\tb", NULL, "\"a\\x09b\" is not UTF-8 text without control characters"},
		{OPTION_ID_JOB_NAME, "a\x1b[31m", NULL, "\"a\\x1B[31m\" is not"},
		{OPTION_ID_JOB_NAME, "a\xC2\x85", NULL, "is not UTF-8"},
		{OPTION_ID_JOB_NAME, "\xFF", NULL, "is not UTF-8"},
		{OPTION_ID_JOB_NAME, "\xC0\xAF", NULL, "is not UTF-8"},
		{OPTION_ID_JOB_NAME, "\xED\xA0\x80", NULL, "is not UTF-8"},
		{OPTION_ID_JOB_NAME, "\xF4\x90\x80\x80", NULL, "is not UTF-8"},
		{OPTION_ID_JOB_NAME, "\xE2\x82", NULL, "is not UTF-8"},
		{OPTION_ID_JOB_NAME, longest, NULL, "1099 bytes are too long, 255 are the most"},
		{OPTION_ID_COMMENT, "", "\"\"", NULL},
		{OPTION_ID_COMMENT, "a\tb", "\"a\\tb\"", NULL},
		{OPTION_ID_COMMENT, "a\nb", NULL, "is not UTF-8"},
		{OPTION_ID_COMMENT, longest, NULL, "too long"},
		{OPTION_ID_ACCOUNT, "physics.lab-2", "\"physics.lab-2\"", NULL},
		{OPTION_ID_ACCOUNT, "", NULL, "is not a name"},
		{OPTION_ID_ACCOUNT, "-x", NULL, "is not a name"},
		{OPTION_ID_ACCOUNT, "a/b", NULL, "is not a name"},
		{OPTION_ID_PARTITION, "a,b", NULL, "is not a name"},
		{OPTION_ID_GROUP, "g1", "\"g1\"", NULL},
		{OPTION_ID_GROUP, "1g", NULL, "is not a name"},
		{OPTION_ID_GROUP, "../g", NULL, "is not a name"},
		{OPTION_ID_OUTPUT, "out/%j-%4a.txt", "\"out/%j-%4a.txt\"", NULL},
		{OPTION_ID_OUTPUT, "../%x.%S.%%", "\"../%x.%S.%%\"", NULL},
		{OPTION_ID_OUTPUT, "", NULL, "its value is empty"},
		{OPTION_ID_OUTPUT, "a%q", NULL, "has no letter of a pattern behind a %"},
		{OPTION_ID_OUTPUT, "a%", NULL, "has no letter"},
		{OPTION_ID_OUTPUT, "a%5", NULL, "has no letter"},
		{OPTION_ID_OUTPUT, "a\nb", NULL, "is not UTF-8"},
		{OPTION_ID_OUTPUT, "a\xFF", NULL, "is not UTF-8"},
		{OPTION_ID_OUTPUT, longest, NULL, "too long"},
		{OPTION_ID_WORKDIR, "/tmp", "\"/tmp\"", NULL},
		{OPTION_ID_WORKDIR, "", NULL, "its value is empty"},
		{OPTION_ID_OPEN_MODE, "append", "\"append\"", NULL},
		{OPTION_ID_OPEN_MODE, "a", NULL, "\"a\" is not one of append|truncate"},
		{OPTION_ID_RUN, "tasks", "\"tasks\"", NULL},
		{OPTION_ID_RUN, "", NULL, "is not one of once|tasks"},
		{OPTION_ID_SHELL, "/bin/zsh", "\"/bin/zsh\"", NULL},
		{OPTION_ID_SHELL, "login", "\"login\"", NULL},
		{OPTION_ID_SHELL, "zsh", NULL, "is neither an absolute path nor login"},
		{OPTION_ID_IF_CHANGED, "out.%4a,b:in,~/x", "\"out.%4a,b:in,~/x\"", NULL},
		{OPTION_ID_IF_CHANGED, "none", "null", NULL},
		{OPTION_ID_IF_CHANGED, "", NULL, "its value is empty"},
		{OPTION_ID_IF_CHANGED, "out", NULL, "\"out\" is not OUT[,OUT...]:IN[,IN...]"},
		{OPTION_ID_IF_CHANGED, "out:", NULL, "\"out:\" is not"},
		{OPTION_ID_IF_CHANGED, "a:b:c", NULL, "\"a:b:c\" is not"},
		{OPTION_ID_IF_CHANGED, "a,:b", NULL, "\"a,:b\" is not"},
		{OPTION_ID_IF_CHANGED, "a%q:b", NULL, "has no letter of a pattern behind a %"},
		{OPTION_ID_IF_CHANGED, "a:b\n", NULL, "is not UTF-8"},
		{OPTION_ID_IF_CHANGED, longest, NULL, "too long"},
		{OPTION_ID_AFTER, "", NULL, "its value is empty"},
		{OPTION_ID_WITH, "a\xFF", NULL, "is not UTF-8"},
	};
	(void)state;
	CHECK(cases);
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
