/* translate_large_test.c - deep and large scripts, and small ones that would make large plans. */
#include <limits.h>

#include "tests/unit/translate_case.h"

/* A long cycle is printed without its middle; a deep graph needs no stack. */
static void deep(void **state)
{
	enum { STEPS = 10000 };
	size_t room = STEPS * 64, used;
	char *script = xmalloc(room);
	struct translate_problems problems;
	(void)state;
	for (int cyclic = 0; cyclic < 2; cyclic++) {
		used = (size_t)snprintf(script, room, BASH);
		for (int i = 0; i < STEPS; i++)
			used += (size_t)snprintf(script + used, room - used, "#ROTA step s%d --after=%s%.0d\n", i,
						 i < STEPS - 1 ? "s"
						 : cyclic      ? "s0"
							       : "none",
						 i < STEPS - 1 ? i + 1 : 0);
		json_t *plan = run(script, NULL, NULL, &problems);
		assert_true(cyclic ? !plan : plan != NULL);
		if (cyclic) {
			assert_int_equal(problems.count, 1);
			assert_non_null(strstr(problems.list[0].message, "cycle: s0 -> s1 -> "));
			assert_non_null(strstr(problems.list[0].message, "-> ... -> s0"));
		}
		json_decref(plan);
		translate_problems_free(&problems);
	}
	free(script);
}

/* CPU time, so a busy machine changes nothing. */
static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 10,000 steps and 100,000 edges, valid and invalid. The bounds are generous: the test finds quadratic work. */
static void large(void **state)
{
	enum { STEPS = 10000, EACH = 10 };
	size_t room = STEPS * 200, used = (size_t)snprintf(NULL, 0, BASH);
	char *script = xmalloc(room);
	struct translate_problems problems;
	(void)state;
	for (int wrong = 0; wrong < 2; wrong++) {
		strcpy(script, BASH);
		used = strlen(script);
		for (int i = 0; i < STEPS; i++) {
			used += (size_t)snprintf(script + used, room - used, "#ROTA step step%d --after=", i);
			for (int j = 0; j < EACH && (j < i || i == 0); j++)
				used += (size_t)snprintf(script + used, room - used, "%s%s%d", j ? "," : "",
							 i == 0	 ? "none,none"
							 : wrong ? "stop"
								 : "step",
							 i == 0 ? 0 : i - j - 1);
			if (i == 0)
				used = (size_t)snprintf(script, room, BASH "#ROTA step step0 --after=none");
			used += (size_t)snprintf(script + used, room - used, "\n");
		}
		double begin = seconds();
		json_t *plan = run(script, NULL, NULL, &problems);
		assert_true(wrong ? !plan : plan != NULL);
		assert_true(seconds() - begin < 20);
		if (!wrong)
			assert_int_equal(json_array_size(json_object_get(plan, "edges")), 99945);
		json_decref(plan);
		translate_problems_free(&problems);
	}
	free(script);
	script = xcalloc(10 << 20, 1);
	memset(script, '#', (10 << 20) - 1);
	double begin = seconds();
	assert_null(run(script, NULL, NULL, &problems));
	assert_true(seconds() - begin < 1);
	assert_non_null(strstr(problems.list[0].message, "the script has more than 4194304 bytes"));
	translate_problems_free(&problems);
	free(script);
}

/* Small scripts that would make huge plans. */
static void amplified(void **state)
{
	static const struct refusal refusals[] = {
		LINE(BASH "#ROTA --nodelist=n[1-99999] --nodes=1\n#ROTA step a\n#ROTA step b\n#ROTA step c\n#ROTA step d\n#ROTA "
			  "step e\n"
			  "#ROTA step f\n#ROTA step g\n#ROTA step h\n#ROTA step i\n#ROTA step j\n#ROTA step k\n",
		     13, "", "of all steps together take more than 32 MiB", NULL),
		LINE(BASH "#ROTA step a --nodelist=n[1-60000]\n#ROTA step b --nodelist=n[1-60000]\n", 3, "--nodelist",
		     "too many nodes are listed", NULL),
		LINE(BASH "#ROTA step a --array=0-2000000000\n", 2, "--array", "elements requested", NULL),
	};
	(void)state;
	REFUSALS(refusals, NULL);
	struct translate_limits wide = translate_limits_default;
	wide.array = INT_MAX - 1;
	check_refusal(&(struct refusal){BASH "#ROTA step a --array=0-2000000000\n#ROTA step b --array=0-2000000000\n",
					{0},
					3,
					"--array",
					"more than 2147483647 steps and elements",
					NULL},
		      &wide);
}

/* One line, or one option, of megabytes before many steps: the translation takes linear time. */
static void long_lines(void **state)
{
	enum { SIZE = 4 << 20, STEPS = 3000 };
	static const struct {
		const char *head, *item;
	} cases[] = {
		{"#ROTA ", "--tmex "},
		{"#ROTA ", "--time=x "},
		{"#ROTA ", "tmex "},
		{"#ROTA --after=", "812,"},
		{"#ROTA --after=", "stex:ok,"},
		{"#ROTA --after=", "a0:x?"},
		{"#ROTA --after=", ",,"},
		{"#SBATCH -d ", "afterok:812:"},
		{"#SBATCH --dependency=afterok", ":812"},
		{"#SBATCH --dependency=", "afterx,"},
		{"#PBS -l ", "walltmex=1,"},
		{"#PBS ", "-l walltmex=1 "},
		{"#PBS ", "-v A=1 "},
		{"#PBS ", "-l nodes=1:a "},
		{"#ROTA --constraint=", "a&"},
		{"#ROTA --gres=", "gpu,"},
		{"#ROTA --nodelist=", "n[1-9],"},
		{"#ROTA --array=", "0-1:3,"},
		{"#ROTA --export=", "A=1,"},
		{"#ROTA --mail-type=", "END,"},
		{"#ROTA --output=", "%j"},
	};
	struct translate_problems problems;
	char *script = xmalloc(SIZE + 1);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t used = (size_t)sprintf(script, BASH "%s", cases[i].head), length = strlen(cases[i].item);
		for (; used < SIZE - STEPS * 40; used += length)
			memcpy(script + used, cases[i].item, length);
		script[used++] = '\n';
		for (int k = 0; k < STEPS; k++)
			used += (size_t)sprintf(script + used, "#ROTA step a%d%s\n", k, k ? "" : " --after=none");
		double begin = seconds();
		json_decref(run(script, NULL, NULL, &problems));
		if (seconds() - begin > 5)
			fail_msg("%s%s... took %f seconds", cases[i].head, cases[i].item, seconds() - begin);
		translate_problems_free(&problems);
	}
	free(script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deep),
		cmocka_unit_test(large),
		cmocka_unit_test(amplified),
		cmocka_unit_test(long_lines),
	};
	return cmocka_run_group_tests(tests, utc, NULL);
}
