/* translate_test.c - scripts to plans: what each option does, who overrides whom, edges, steps and specs. */
#include "lib/arguments.h"
#include "tests/unit/translate_case.h"

/* A plain script: what is there when nobody says anything. */
static void plain(void **state)
{
	static const struct fact facts[] = {
		{BASH "true\n",
		 {0},
		 "job",
		 "{\"name\":\"heat.sh\",\"account\":null,\"qos\":null,\"comment\":null,\"mail_user\":null,\"mail_type\":null,"
		 "\"nice\":0,"
		 "\"priority\":null,\"export\":\"ALL\",\"lines\":{},\"client_key\":null,\"retry_key\":null,\"script_name\":"
		 "\"dir/heat.sh\",\"workdir\":\"/work\","
		 "\"sequence\":false}"},
		{BASH "true\n", {0}, "edges", "[]"},
		{BASH "true\n", {0}, "steps/0/name", "\"script\""},
		{BASH "true\n", {0}, "steps/0/step_id", "0"},
		{BASH "true\n", {0}, "steps/0/line", "1"},
		{BASH "true\n", {0}, "steps/0/topo", "0"},
		{BASH "true\n", {0}, "steps/0/partition", "null"},
		{BASH "true\n", {0}, "steps/0/nodes_min", "1"},
		{BASH "true\n", {0}, "steps/0/nodes_max", "null"},
		{BASH "true\n", {0}, "steps/0/ntasks", "1"},
		{BASH "true\n", {0}, "steps/0/ntasks_per_node", "null"},
		{BASH "true\n", {0}, "steps/0/cpus_per_task", "1"},
		{BASH "true\n", {0}, "steps/0/mem_mb", "null"},
		{BASH "true\n", {0}, "steps/0/mem_per_cpu_mb", "null"},
		{BASH "true\n", {0}, "steps/0/gres", "{}"},
		{BASH "true\n", {0}, "steps/0/licenses", "{}"},
		{BASH "true\n", {0}, "steps/0/exclusive", "false"},
		{BASH "true\n", {0}, "steps/0/constraint", "\"\""},
		{BASH "true\n", {0}, "steps/0/nodelist", "[]"},
		{BASH "true\n", {0}, "steps/0/exclude", "[]"},
		{BASH "true\n", {0}, "steps/0/time_limit_s", "null"},
		{BASH "true\n", {0}, "steps/0/time_min_s", "null"},
		{BASH "true\n", {0}, "steps/0/begin_at", "null"},
		{BASH "true\n", {0}, "steps/0/deadline_at", "null"},
		{BASH "true\n", {0}, "steps/0/array", "null"},
		{BASH "true\n", {0}, "steps/0/requeue", "true"},
		{BASH "true\n", {0}, "steps/0/retry", "0"},
		{BASH "true\n", {0}, "steps/0/hold", "false"},
		{BASH "true\n", {0}, "steps/0/group", "null"},
		{BASH "true\n", {0}, "steps/0/keep", "{\"cpus\":false,\"mem\":true,\"gres\":true,\"licenses\":true}"},
		{BASH "true\n", {0}, "steps/0/deps_any", "false"},
		{BASH "true\n", {0}, "steps/0/with_set", "null"},
		{BASH, {0}, "steps/0/name", "\"script\""},
		{"#!/bin/sh", {0}, "steps/0/name", "\"script\""},
		{"#! /usr/bin/env python3\nprint(1)\n", {0}, "steps/0/name", "\"script\""},
	};
	(void)state;
	FACTS(facts);
}

/* Each option once, in the header of the script, and what it does. */
static void options(void **state)
{
	static const struct fact facts[] = {
		{BASH "#ROTA --job-name='the heat'\n", {0}, "job/name", "\"the heat\""},
		{BASH "#ROTA -J x\n", {0}, "job/name", "\"x\""},
		{BASH "#ROTA --account=physics\n", {0}, "job/account", "\"physics\""},
		{BASH "#ROTA --qos=high\n", {0}, "job/qos", "\"high\""},
		{BASH "#ROTA --mem=1\n#SBATCH --qos=high\n#ROTA --account=a\n", {0}, "job/lines", "{\"account\":4,\"qos\":3}"},
		{BASH "#ROTA -L a\n#ROTA step x\n#ROTA step y -w n1\n", {0}, "steps/1/lines", "{\"licenses\":2,\"nodelist\":4}"},
		{BASH "#ROTA --priority=7\n", {0}, "job/priority", "7"},
		{BASH "#ROTA --nice\n", {0}, "job/nice", "100"},
		{BASH "#ROTA --nice=-5\n", {0}, "job/nice", "-5"},
		{BASH "#ROTA --comment=\"a \\\"b\\\" c\"\n", {0}, "job/comment", "\"a \\\"b\\\" c\""},
		{BASH "#ROTA --mail-user=a@b --mail-type=end\n", {0}, "job/mail_type", "\"END\""},
		{BASH "#ROTA --mail-user=a@b\n", {0}, "job/mail_user", "\"a@b\""},
		{BASH "#ROTA --export=PATH,A=b\n", {0}, "job/export", "\"PATH,A=b\""},
		{BASH "#ROTA --workdir=sub\n", {0}, "job/workdir", "\"/work/sub\""},
		{BASH "#ROTA --chdir=/x\n", {0}, "job/workdir", "\"/x\""},
		{BASH "#ROTA -D ~/x\n", {0}, "job/workdir", "\"/home/u/x\""},
		{BASH "#ROTA --partition=fast\n", {0}, "steps/0/partition", "\"fast\""},
		{BASH "#ROTA --time=1:00:00\n", {0}, "steps/0/time_limit_s", "3600"},
		{BASH "#ROTA --time=0\n", {0}, "steps/0/time_limit_s", "0"},
		{BASH "#ROTA --time=60 --time-min=10\n", {0}, "steps/0/time_min_s", "600"},
		{BASH "#ROTA --begin=now+1hour\n", {0}, "steps/0/begin_at", "1900003600"},
		{BASH "#ROTA --deadline=now+1hour\n", {0}, "steps/0/deadline_at", "1900003600"},
		{BASH "#ROTA --hold\n", {0}, "steps/0/hold", "true"},
		{BASH "#ROTA -H\n", {0}, "steps/0/hold", "true"},
		{BASH "#ROTA --nodes=2-4\n", {0}, "steps/0/nodes_max", "4"},
		{BASH "#ROTA --nodes=2-4\n", {0}, "steps/0/ntasks", "2"},
		{BASH "#ROTA --nodelist=n[1-3]\n", {0}, "steps/0/nodelist", "[\"n1\",\"n2\",\"n3\"]"},
		{BASH "#ROTA --nodelist=n[1-3]\n", {0}, "steps/0/nodes_min", "3"},
		{BASH "#ROTA --nodelist=n[1-3] --ntasks=2\n", {0}, "steps/0/nodes_min", "2"},
		{BASH "#ROTA --nodelist=n[1-3] --nodes=1\n", {0}, "steps/0/nodes_max", "1"},
		{BASH "#ROTA --exclude=n1\n", {0}, "steps/0/exclude", "[\"n1\"]"},
		{BASH "#ROTA --constraint='a & !b'\n", {0}, "steps/0/constraint", "\"a&!b\""},
		{BASH "#ROTA --exclusive\n", {0}, "steps/0/exclusive", "true"},
		{BASH "#ROTA --ntasks=8\n", {0}, "steps/0/ntasks", "8"},
		{BASH "#ROTA --ntasks=8\n", {0}, "steps/0/nodes_max", "null"},
		{BASH "#ROTA --ntasks=8 --ntasks-per-node=3\n", {0}, "steps/0/nodes_min", "3"},
		{BASH "#ROTA --nodes=2 --ntasks-per-node=4\n", {0}, "steps/0/ntasks", "8"},
		{BASH "#ROTA --nodes=2-9 --ntasks=4\n", {0}, "steps/0/nodes_max", "4"},
		{BASH "#ROTA --cpus-per-task=4\n", {0}, "steps/0/cpus_per_task", "4"},
		{BASH "#ROTA --mem=4G\n", {0}, "steps/0/mem_mb", "4096"},
		{BASH "#ROTA --mem=0\n", {0}, "steps/0/mem_mb", "0"},
		{BASH "#ROTA --mem-per-cpu=512\n", {0}, "steps/0/mem_per_cpu_mb", "512"},
		{BASH "#ROTA --gres=gpu:2,fpga\n", {0}, "steps/0/gres", "{\"gpu\":2,\"fpga\":1}"},
		{BASH "#ROTA --gpus-per-node=2 --gres=fpga\n", {0}, "steps/0/gres", "{\"fpga\":1,\"gpu\":2}"},
		{BASH "#ROTA --gres=gpu:0,fpga\n", {0}, "steps/0/gres", "{\"fpga\":1}"},
		{BASH "#ROTA --gres=gpu:2\n", {"--gpus=0"}, "steps/0/gres", "{}"},
		{BASH "#ROTA --gpus=2\n", {0}, "steps/0/gres", "{\"gpu\":2}"},
		{BASH "#ROTA --gpus=2 --ntasks=3\n", {0}, "steps/0/nodes_max", "1"},
		{BASH "#SBATCH -G 4 -N 2\n", {0}, "steps/0/gres", "{\"gpu\":2}"},
		{BASH "#ROTA --gpus=4 --ntasks=8 --ntasks-per-node=4\n", {0}, "steps/0/nodes_max", "2"},
		{BASH "#ROTA --gpus-per-node=2\n#ROTA step a --gpus=1\n", {0}, "steps/0/gres", "{\"gpu\":1}"},
		{BASH "#ROTA --licenses=matlab:0,abaqus\n", {0}, "steps/0/licenses", "{\"abaqus\":1}"},
		{BASH "#ROTA --licenses=matlab:2\n", {0}, "steps/0/licenses", "{\"matlab\":2}"},
		{BASH "#ROTA --licences=matlab:2\n", {0}, "steps/0/licenses", "{\"matlab\":2}"},
		{BASH "#ROTA --array=0-15:4%2\n", {0}, "steps/0/array", "{\"indices\":[[0,12,4]],\"size\":4,\"limit\":2}"},
		{BASH "#ROTA --no-requeue\n", {0}, "steps/0/requeue", "false"},
		{BASH "#ROTA --retry=3\n", {0}, "steps/0/retry", "3"},
		{BASH "true\n", {0}, "steps/0/sample_s", "null"},
		{BASH "#ROTA --sample=10\n#ROTA step a\n", {0}, "steps/0/sample_s", "10"},
		{BASH "#ROTA --sample=10\n", {"--sample=0"}, "steps/0/sample_s", "0"},
		{BASH "#ROTA --sample=10\n", {0}, "steps/0/lines/sample", "2"},
		{BASH "#ROTA --keep=mem\n",
		 {0},
		 "steps/0/keep",
		 "{\"cpus\":false,\"mem\":true,\"gres\":false,\"licenses\":false}"},
		{BASH "#ROTA --group=g\n", {0}, "steps/0/group", "\"g\""},
		{BASH "#ROTA -n4 -c 2 -t5\n", {0}, "steps/0/ntasks", "4"},
		{BASH "#ROTA --ntasks 4\n", {0}, "steps/0/ntasks", "4"},
		{BASH "#ROTA\n#ROTA   # only a remark\n#ROTA --ntasks=4 # and another\n", {0}, "steps/0/ntasks", "4"},
		{BASH "true\n#ROTA --ntasks=4\n", {0}, "steps/0/ntasks", "4"}, /* no steps: anywhere */
		{BASH "# ROTA --x\n##ROTA --x\n #ROTA --x\n#ROTATE --x\n#rota --x\n", {0}, "steps/0/ntasks", "1"},
	};
	(void)state;
	FACTS(facts);
}

/* Slurm's and PBS's lines. */
static void foreign(void **state)
{
	static const struct fact facts[] = {
		{BASH "#SBATCH --job-name=a -n 4 --chdir=/x\n", {0}, "job/name", "\"a\""},
		{BASH "#SBATCH --job-name=a -n 4 --chdir=/x\n", {0}, "steps/0/ntasks", "4"},
		{BASH "#SBATCH --job-name=a -n 4 --chdir=/x\n", {0}, "job/workdir", "\"/x\""},
		{BASH "#SBATCH -N2 -t 1-0\n", {0}, "steps/0/time_limit_s", "86400"},
		{BASH "\n# remark\n\n   # another\n#SBATCH -n 4\n", {0}, "steps/0/ntasks", "4"},
		{BASH "true\n#SBATCH --no-such\n#PBS -l x=y\n", {0}, "steps/0/ntasks", "1"},
		{BASH "#ROTA step a\n#SBATCH --no-such\n", {0}, "steps/0/ntasks", "1"},
		{BASH "#SBATCH --mem=1G\n#SBATCH --mem=2G\n", {0}, "steps/0/mem_mb", "2048"},
		{BASH "#SBATCH --dependency=afterok:12:13,afternotok:14,after:15,aftercorr:16,afterany:17,18\n#SBATCH -a 0-3\n",
		 {0},
		 "edges/1",
		 "{\"step_id\":0,\"kind\":\"after\",\"peer_job\":13,\"condition\":\"ok\",\"line\":2,\"peer_step\":null,"
		 "\"peer_name\":null}"},
		{BASH "#SBATCH -d afterok:12:13,afternotok:14,after:15,aftercorr:16,afterany:17,18\n#SBATCH -a 0-3\n",
		 {0},
		 "edges/2/condition",
		 "\"fail\""},
		{BASH "#SBATCH -d afterok:12:13,afternotok:14,after:15,aftercorr:16,afterany:17,18\n#SBATCH -a 0-3\n",
		 {0},
		 "edges/3/condition",
		 "\"start\""},
		{BASH "#SBATCH -d afterok:12:13,afternotok:14,after:15,aftercorr:16,afterany:17,18\n#SBATCH -a 0-3\n",
		 {0},
		 "edges/4/condition",
		 "\"corr\""},
		{BASH "#SBATCH -d afterok:12:13,afternotok:14,after:15,aftercorr:16,afterany:17,18\n#SBATCH -a 0-3\n",
		 {0},
		 "edges/6/condition",
		 "\"any\""},
		{BASH "#SBATCH -d singleton\n", {0}, "edges/0/condition", "\"singleton\""},
		{BASH "#SBATCH -d afterok:12,singleton\n", {0}, "edges/1/peer_job", "null"},
		{BASH "#SBATCH --reservation=maint\n", {0}, "steps/0/reservation", "\"maint\""},
		{BASH "#SBATCH --reservation=maint\n", {"--reservation=none"}, "steps/0/reservation", "null"},
		{BASH "#SBATCH -d afterok:12?13\n", {0}, "steps/0/deps_any", "true"},
		{BASH "#PBS -N a -q fast\n#PBS -l nodes=2:ppn=4,walltime=1:00:00,mem=2gb\n", {0}, "steps/0/time_limit_s", "3600"},
		{BASH "#PBS -N a -q fast\n#PBS -l nodes=2:ppn=4,walltime=1:00:00,mem=2gb\n", {0}, "steps/0/ntasks", "8"},
		{BASH "#PBS -l nodes=2:ppn=4,walltime=1:00:00,mem=2gb\n",
		 {0},
		 "steps/0/mem_mb",
		 "1024"}, /* of both nodes together */
		{BASH "#PBS -l mem=2gb -l nodes=2\n", {0}, "steps/0/mem_mb", "1024"},
		{BASH "#PBS -l select=2:ncpus=4:mem=4gb:ngpus=1\n", {0}, "steps/0/mem_mb", "4096"},
		{BASH "#PBS -l select=2:ncpus=4:mem=4gb:ngpus=1\n", {0}, "steps/0/cpus_per_task", "4"},
		{BASH "#PBS -l select=2:ncpus=4:mem=4gb:ngpus=1\n", {0}, "steps/0/gres", "{\"gpu\":1}"},
		{BASH "#PBS -lnodes=1:a:b\n", {0}, "steps/0/constraint", "\"a&b\""},
		{BASH "#PBS -V -v A=1\n", {0}, "job/export", "\"ALL,A=1\""},
		{BASH "#PBS -h -r n\n", {0}, "steps/0/hold", "true"},
		{BASH "#PBS -W depend=afterany:812\n", {0}, "edges/0/condition", "\"any\""},
		{BASH "#PBS -j oe\n#PBS -p 10\n", {0}, "job/nice", "-10"},
	};
	(void)state;
	FACTS(facts);
}

/* What has no counterpart is taken, and said to be ignored: each once, by its line. */
static void ignored(void **state)
{
	static const struct fact facts[] = {
		{BASH "#SBATCH --oversubscribe --ntasks=2\n", {0}, "steps/0/ntasks", "2"},
		{BASH "#SBATCH --oversubscribe\n", {0}, "warnings/0/option", "\"--oversubscribe\""},
		{BASH "#SBATCH --hint nomultithread -n 2\n", {0}, "steps/0/ntasks", "2"},
		{BASH "#SBATCH --hint nomultithread\n", {0}, "warnings/0/line", "2"},
		{BASH "#SBATCH --get-user-env -n 2\n", {0}, "steps/0/ntasks", "2"},
		{BASH "#SBATCH --tmp=4G\n", {0}, "warnings/0/file", "\"dir/heat.sh\""},
		{BASH "#SBATCH --ntasks-per-core=1\n", {0}, "warnings/0/option", "\"--ntasks-per-core\""},
		{BASH "#SBATCH -s\n", {"--tmp=1"}, "warnings/0/line", "0"},
		{BASH "#SBATCH -s\n", {"--tmp=1"}, "warnings/1/line", "2"},
		{BASH "#SBATCH -s\n#ROTA step a\n#ROTA step b\n", {0}, "warnings/1", "nothing"},
		{BASH "#PBS -k oe\n", {0}, "warnings/0/option", "\"-k\""},
		{BASH "#PBS -l select=1:ncpus=2:vmem=4gb,cput=1:00:00\n", {0}, "warnings/0/option", "\"-l select\""},
		{BASH "#PBS -l ncpus=2,vmem=4gb,cput=1:00:00\n", {0}, "warnings/1/option", "\"-l cput\""},
		{BASH "true\n", {0}, "warnings", "nothing"},
		{BASH "#ROTA --strict\n", {0}, "warnings", "nothing"},
	};
	(void)state;
	FACTS(facts);
}

/* The arguments of the script, in the job and in the spec of every step. */
static void arguments(void **state)
{
	static const char script[] = BASH "#ROTA step a\n#ROTA step b\n";
	static const char *const words[] = {"a b", "", "-n", "\xC3\xA9\n"};
	struct translate_request q = request_of(script, strlen(script), NULL);
	struct translate_problems problems = {0};
	struct order_spec spec;
	(void)state;
	q.arguments = words;
	q.argument_count = 4;
	json_t *plan = translate_script(&q, &translate_limits_default, &problems);
	assert_non_null(plan);
	translate_plan_whole(plan);
	assert_int_equal(json_array_size(pick(plan, "job/arguments")), 4);
	for (int i = 0; i < 2; i++) {
		struct fields *owner = spec_of(pick(plan, i ? "steps/1" : "steps/0"), &spec),
			      *list = arguments_parse(spec.arguments);
		assert_int_equal(fields_count(list), 4);
		for (int j = 0; j < 4; j++)
			assert_string_equal(fields_value(list, j), words[j]);
		fields_free(list);
		fields_free(owner);
	}
	json_decref(plan);
}

/* More than a spec is to have, and what is no text. */
static void arguments_refused(void **state)
{
	static const char *many[1001], *bad[] = {"ok", "\xFF"};
	char *large = xmalloc(40000);
	struct {
		const char *const *list;
		int count;
		const char *message;
	} cases[] = {{many, 1001, "1001 arguments"},
		     {bad, 2, "argument 2 of the script is not UTF-8"},
		     {(const char *[]){large}, 1, "have 40000 bytes"}};
	(void)state;
	memset(large, 'x', 39999);
	large[39999] = '\0';
	for (int i = 0; i < 1001; i++)
		many[i] = "x";
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct translate_request q = request_of(BASH, strlen(BASH), NULL);
		struct translate_problems problems = {0};
		q.arguments = cases[i].list;
		q.argument_count = cases[i].count;
		assert_null(translate_script(&q, &translate_limits_default, &problems));
		if (!strstr(problems.list[0].message, cases[i].message))
			fail_msg("\"%s\" instead of \"%s\"", problems.list[0].message, cases[i].message);
		translate_problems_free(&problems);
	}
	free(large);
}

/* Who overrides whom. */
static void precedence(void **state)
{
#define ALL_SAY "#PBS -l procs=2\n#SBATCH -n 3\n#ROTA -n 4\n"
	static const struct fact facts[] = {
		{BASH "#PBS -l procs=2\n", {0}, "steps/0/ntasks", "2"},
		{BASH "#SBATCH -n 3\n#PBS -l procs=2\n", {0}, "steps/0/ntasks", "3"},
		{BASH "#ROTA -n 4\n#SBATCH -n 3\n", {0}, "steps/0/ntasks", "4"},
		{BASH ALL_SAY, {"--ntasks=5"}, "steps/0/ntasks", "5"},
		{BASH ALL_SAY, {"-n", "5"}, "steps/0/ntasks", "5"},
		{BASH ALL_SAY, {"--ntasks=5", "--ntasks=7"}, "steps/0/ntasks", "7"},
		{BASH ALL_SAY "#ROTA step a -n 6\n", {0}, "steps/0/ntasks", "6"},
		{BASH ALL_SAY "#ROTA step a -n 6\n", {"-n5"}, "steps/0/ntasks", "5"}, /* one step: the command line is stronger */
		{BASH ALL_SAY "#ROTA step a -n 6\n#ROTA step b\n", {"-n5"}, "steps/0/ntasks", "6"},
		{BASH ALL_SAY "#ROTA step a -n 6\n#ROTA step b\n", {"-n5"}, "steps/1/ntasks", "5"},
		{BASH ALL_SAY "#ROTA step a -n 6\n#ROTA step b\n", {0}, "steps/1/ntasks", "4"},
		{BASH "#ROTA --mem=1G\n#ROTA step a --mem-per-cpu=5\n", {0}, "steps/0/mem_mb", "null"},
		{BASH "#ROTA --mem=1G\n#ROTA step a --mem-per-cpu=5\n", {0}, "steps/0/mem_per_cpu_mb", "5"},
		{BASH "#ROTA --mem-per-cpu=5\n", {"--mem=7"}, "steps/0/mem_mb", "7"},
		{BASH "#ROTA --mem-per-cpu=5\n", {"--mem=7"}, "steps/0/mem_per_cpu_mb", "null"},
		{BASH "#ROTA --hold\n#ROTA step a --no-hold\n#ROTA step b\n", {0}, "steps/0/hold", "false"},
		{BASH "#ROTA --gres=gpu:2\n#ROTA step a --gres=none\n#ROTA step b\n", {0}, "steps/0/gres", "{}"},
		{BASH "#ROTA --array=0-3\n#ROTA step a --array=none\n#ROTA step b\n", {0}, "steps/0/array", "null"},
		{BASH "#ROTA --array=0-3\n#ROTA step a --array=none\n#ROTA step b\n", {0}, "steps/1/array/size", "4"},
		{BASH "#ROTA --deadline=now+9days\n", {"--deadline=none"}, "steps/0/deadline_at", "null"},
		{BASH "#ROTA --time=5 --job-name=a\n", {"--job-name=b"}, "job/name", "\"b\""},
	};
	(void)state;
	FACTS(facts);
}

/* All edges of a plan: "b after a ok, c with b". */
static void edges_text(const json_t *plan, char *text, size_t size)
{
	size_t i, used = 0;
	const json_t *edge, *steps = json_object_get(plan, "steps");
	text[0] = '\0';
	json_array_foreach (json_object_get(plan, "edges"), i, edge) {
		const char *step = NULL, *peer = NULL;
		char other[100] = "";
		size_t j;
		const json_t *s, *job = json_object_get(edge, "peer_job"), *name = json_object_get(edge, "peer_name");
		json_array_foreach (steps, j, s) {
			if (json_equal(json_object_get(s, "step_id"), json_object_get(edge, "step_id")))
				step = json_string_value(json_object_get(s, "name"));
			if (json_equal(json_object_get(s, "step_id"), json_object_get(edge, "peer_step")))
				peer = json_string_value(json_object_get(s, "name"));
		}
		if (!peer)
			snprintf(other, sizeof other, "%lld%s%s", (long long)json_integer_value(job),
				 json_is_null(name) ? "" : ".", json_is_null(name) ? "" : json_string_value(name));
		bool after = strcmp(json_string_value(json_object_get(edge, "kind")), "after") == 0;
		used += (size_t)snprintf(text + used, size - used, "%s%s %s %s%s%s", used ? ", " : "", step,
					 json_string_value(json_object_get(edge, "kind")), peer ? peer : other, after ? " " : "",
					 after ? json_string_value(json_object_get(edge, "condition")) : "");
		assert_true(used < size);
	}
}

static void edges(void **state)
{
	static const struct {
		const char *script, *options[3], *edges;
	} cases[] = {
		{BASH "#ROTA step a\n#ROTA step b\n#ROTA step c\n", {0}, "b after a ok, c after b ok"},
		{BASH "#ROTA step a\n#ROTA step b\n#ROTA step c --after=none\n", {0}, ""},
		{BASH "#ROTA --after=none\n#ROTA step a\n#ROTA step b\n", {0}, ""},
		{BASH "#ROTA step a\n#ROTA step b\n", {"--after=none"}, ""},
		{BASH "#ROTA step a\n#ROTA step b --after=a\n#ROTA step c\n", {0}, "b after a ok"},
		{BASH "#ROTA step a\n#ROTA step b --with=a\n", {0}, "b with a"},
		{BASH "#ROTA step a\n#ROTA step b --same-nodes=a\n", {0}, "b after a ok, b same_nodes a"},
		{BASH "#ROTA step a\n#ROTA step b --other-nodes=a\n", {0}, "b after a ok, b other_nodes a"},
		{BASH "#ROTA step a\n#ROTA step b --after=a:any\n#ROTA step c --after=a:fail,b:start\n",
		 {0},
		 "b after a any, c after a fail, c after b start"},
		{BASH "#ROTA step a\n#ROTA step b\n#ROTA step c --after=a?b:any\n", {0}, "c after a ok, c after b any"},
		{BASH "#ROTA step a --array=0-3\n#ROTA step b --array=0,1,2,3 --after=a:corr\n", {0}, "b after a corr"},
		{BASH "#ROTA step a --after=c\n#ROTA step b\n#ROTA step c\n", {0}, "a after c ok"}, /* forward */
		{BASH "#ROTA --after=812\n", {0}, "script after 812 ok"},
		{BASH "true\n", {"--after=812.solve:any"}, "script after 812.solve any"},
		{BASH "true\n", {"--dependency=afterany:812,7.x"}, "script after 812 any, script after 7.x any"},
		{BASH "#ROTA step a\n#ROTA step b\n", {"--after=812"}, "a after 812 ok, b after a ok"},
		{BASH "#ROTA step a --after=none\n#ROTA step b\n#ROTA step c --after=b\n#ROTA step d --after=9\n",
		 {"--after=812"},
		 "b after 812 ok, c after b ok, d after 9 ok"},
		{BASH "#ROTA --same-nodes=812.x\ntrue\n", {0}, "script same_nodes 812.x"},
		{BASH "#ROTA --other-nodes=812\n#ROTA step a\n", {0}, "a other_nodes 812"},
		{BASH "#ROTA step a --with=b,c\n#ROTA step b\n#ROTA step c\n", {0}, "a with b, a with c"},
		{BASH "#ROTA step a --with=b\n#ROTA step b --with=a\n", {0}, "a with b, b with a"},
		{BASH "#ROTA step a --with=b --same-nodes=b\n#ROTA step b --with=a --same-nodes=a\n",
		 {0},
		 "a with b, a same_nodes b, b with a, b same_nodes a"},
		{BASH "#ROTA step a --with=b --other-nodes=b\n#ROTA step b --other-nodes=a\n",
		 {0},
		 "a with b, a other_nodes b, b other_nodes a"},
		{BASH "#ROTA --dependency=afterok:5\n", {"--after=6"}, "script after 6 ok"},
		{BASH "#ROTA step a\n#ROTA step b --after 'a'\n", {0}, "b after a ok"},
		{BASH "#ROTA step a\n#ROTA step b --dependency=afternotok:a\n", {0}, "b after a fail"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[600];
		json_t *plan = plan_of(cases[i].script, cases[i].options);
		edges_text(plan, text, sizeof text);
		if (strcmp(text, cases[i].edges) != 0)
			fail_msg("%s\ngave \"%s\" instead of \"%s\"", cases[i].script, text, cases[i].edges);
		json_decref(plan);
	}
}

static void steps(void **state)
{
#define DESIGN                                                                                                                   \
	BASH "#ROTA --job-name=heat --account=physics --time=2:00:00\nset -e\n\n#ROTA step mesh --ntasks=1 --mem=2G\n./mesh\n\n" \
	     "#ROTA step solve --after=mesh --nodes=2 --ntasks-per-node=4\nmpirun\n\n"                                           \
	     "#ROTA step render --after=solve --same-nodes=solve --array=0-99%10\n./render\n\n#ROTA step tidy "                  \
	     "--after=render:any --retry=2\n./tidy\n"
	static const struct fact facts[] = {
		{DESIGN, {0}, "steps/0/line", "5"},
		{DESIGN, {0}, "steps/1/ntasks", "8"},
		{DESIGN, {0}, "steps/2/nodes_min", "2"}, /* those of solve */
		{DESIGN, {0}, "steps/2/nodes_max", "2"},
		{DESIGN, {0}, "steps/2/ntasks", "2"},
		{DESIGN, {0}, "steps/2/step_id", "2"},
		{DESIGN, {0}, "steps/3/step_id", "103"},
		{DESIGN, {0}, "steps/3/retry", "2"},
		{DESIGN, {0}, "edges/3/step_id", "103"},
		{DESIGN, {0}, "edges/3/peer_step", "2"},
		{DESIGN, {0}, "edges/3/line", "14"},
		{DESIGN, {0}, "job/sequence", "false"},
		{BASH "#ROTA step a\n#ROTA step b\n", {0}, "job/sequence", "true"},
		{BASH "#ROTA step a\n#ROTA step b\n", {0}, "edges/0/line", "3"},
		{BASH "#ROTA step a\n#ROTA step b --with=a\n#ROTA step c --with=b\n#ROTA step d\n", {0}, "steps/2/with_set", "0"},
		{BASH "#ROTA step a\n#ROTA step b --with=a\n#ROTA step c --with=b\n#ROTA step d\n",
		 {0},
		 "steps/3/with_set",
		 "null"},
		{BASH "#ROTA step a --array=0-9\n#ROTA step b\n#ROTA step c --with=b\n", {0}, "steps/2/with_set", "11"},
		{BASH "#ROTA step a --after=b\n#ROTA step b --after=c\n#ROTA step c\n", {0}, "steps/0/topo", "2"},
		{BASH "#ROTA step a --after=b\n#ROTA step b --after=c\n#ROTA step c\n", {0}, "steps/2/topo", "0"},
		{BASH "#ROTA step a --nodes=2\n#ROTA step b --same-nodes=a\n#ROTA step c --same-nodes=b\n",
		 {0},
		 "steps/2/nodes_min",
		 "2"},
		{BASH "#ROTA step a\n#ROTA step b --same-nodes=a --nodes=3\n", {0}, "steps/0/nodes_max", "3"},
		{BASH "#ROTA step a --ntasks=6 --ntasks-per-node=2\n#ROTA step b --same-nodes=a\n",
		 {0},
		 "steps/1/nodes_min",
		 "3"},
		{BASH "#ROTA step a\n#ROTA step b\n", {0}, "steps/1/name", "\"b\""}, /* empty steps may be */
		{BASH "#ROTA step a --workdir=/x\n#ROTA step b\n", {0}, "job/workdir", "\"/work\""},
		{BASH "#ROTA step a\n#ROTA step b --after=a?812\n", {0}, "steps/1/deps_any", "true"},
		{BASH "#ROTA step script\n#ROTA step Step-2_x\n", {0}, "steps/1/name", "\"Step-2_x\""},
	};
	(void)state;
	FACTS(facts);
}

/* Where it was submitted is said where its folder is another; arrays say their range. */
static void origin(void **state)
{
	static const struct {
		const char *line, *submit_dir;
		int lowest, highest, step;
	} cases[] = {{"", NULL, 0, 0, 0},
		     {"#SBATCH --chdir=/elsewhere\n", "/work", 0, 0, 0},
		     {"#ROTA --workdir=/work\n", NULL, 0, 0, 0},
		     {"#ROTA --array=0-9\n", NULL, 0, 9, 1},
		     {"#ROTA --array=2-10:4%2\n", NULL, 2, 10, 4},
		     {"#ROTA --array=7,3\n", NULL, 3, 7, 4},
		     {"#ROTA --array=0-8:2,20\n", NULL, 0, 20, 1}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct order_spec spec;
		char *script = xasprintf(BASH "%strue\n", cases[i].line);
		json_t *plan = plan_of(script, NULL);
		struct fields *owner = spec_of(pick(plan, "steps/0"), &spec);
		assert_int_equal(spec.submit_dir == NULL, cases[i].submit_dir == NULL);
		if (spec.submit_dir)
			assert_string_equal(spec.submit_dir, cases[i].submit_dir);
		assert_int_equal(spec.array_min, cases[i].lowest);
		assert_int_equal(spec.array_max, cases[i].highest);
		assert_int_equal(spec.array_step, cases[i].step);
		fields_free(owner);
		json_decref(plan);
		free(script);
	}
}

/* What stands in a here-document of a shell script is text; what only looks like one hides nothing. */
static void here_documents(void **state)
{
	static const struct {
		const char *script, *steps;
	} cases[] = {
		{BASH "#ROTA step a\ncat <<EOF\n#ROTA step x\nEOF\n#ROTA step b\ntrue\n", "a:2-5 b:6-7"},
		{BASH "#ROTA step a\ncat >f <<-'E O' <<\"F\"\n\t#ROTA\n#ROTA step x\n\tE O\n#ROTA step y\nF\n#ROTA step b\n", "a:2-8 b:9-9"},
		{BASH "#ROTA step a\nx=\"$(cat <<\\EOF | tr a b\n#ROTA step x\nEOF\n)\"\n#ROTA step b\n", "a:2-6 b:7-7"},
		{BASH "#ROTA step a\ncat <<EOF \\\n| sort\n#ROTA step x\nEOF\n#ROTA step b\n", "a:2-6 b:7-7"},
		{BASH "#ROTA step a\nf() { # don't <<X\n  cat << EOF; }\n#ROTA step x\n EOF\nEOF\n#ROTA step b\nX\n", "a:2-7 b:8-9"},
		{BASH "#ROTA step a\ncat <<EOF\n#ROTA step b\n", "a:2-3 b:4-4"}, /* no end */
		{BASH "#ROTA step a\necho $((1<<2)) $((x<<y))\n#ROTA step b\ny\n2\n", "a:2-3 b:4-6"},
		{BASH "#ROTA step a\ncat <<<EOF\n#ROTA step b\nEOF\n", "a:2-3 b:4-5"},
		{BASH "#ROTA step a\necho 'a <<EOF' \"b <<EOF\" \\<<EOF\n#ROTA step b\nEOF\n", "a:2-3 b:4-5"},
		{BASH "#ROTA step a\necho 'two\nlines <<EOF'\n#ROTA step b\nEOF\n", "a:2-4 b:5-6"},
		{"#!/usr/bin/python3\n#ROTA step a\nx = 1 <<EOF\n#ROTA step b\nEOF\n", "a:2-3 b:4-5"},
		{"#!/usr/bin/env bash\n#ROTA step a\ncat <<EOF\n#ROTA step x\nEOF\n", "a:2-5"},
		{BASH "cat <<EOF\n#ROTA step x\nEOF\n", "script:1-4"},
		{"#!/bin/sh", "script:1-1"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int count;
		char text[256] = "";
		struct translate_cut *cuts = translate_cuts(cases[i].script, strlen(cases[i].script), &count);
		for (int n = 0; n < count; n++)
			sprintf(text + strlen(text), "%s%s:%d-%d", n ? " " : "", cuts[n].name, cuts[n].from, cuts[n].to);
		assert_string_equal(text, cases[i].steps);
		free(cuts);
	}
}

/* Many that begin and do not end cost no more than their lines. */
static void here_documents_without_end(void **state)
{
	(void)state;
	enum { LINES = 100000 };
	size_t size = 0;
	char *script = xmalloc(LINES * 16 + 64);
	size += (size_t)sprintf(script, BASH);
	for (int i = 0; i < LINES; i++)
		size += (size_t)sprintf(script + size, "cat <<E%d\n", i);
	size += (size_t)sprintf(script + size, "#ROTA step b\n");
	int count;
	struct translate_cut *cuts = translate_cuts(script, size, &count);
	assert_int_equal(count, 1);
	assert_string_equal(cuts[0].name, "b");
	free(cuts);
	free(script);
}

static void signals(void **state)
{
	static const struct {
		const char *line;
		int signal, seconds;
		bool shell;
	} cases[] = {{"#ROTA --signal=USR1\n", 10, 60, false},
		     {"#SBATCH --signal=B:sigterm@120\n", 15, 120, true},
		     {"#SBATCH --signal=RB:12@0\n", 12, 0, true},
		     {"#SBATCH --signal=R:INT@65535\n", 2, 65535, false}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct order_spec spec;
		char *script = xasprintf(BASH "%strue\n", cases[i].line);
		json_t *plan = plan_of(script, NULL);
		struct fields *owner = spec_of(pick(plan, "steps/0"), &spec);
		assert_int_equal(spec.signal, cases[i].signal);
		assert_int_equal(spec.signal_s, cases[i].seconds);
		assert_int_equal(spec.signal_shell, cases[i].shell);
		fields_free(owner);
		json_decref(plan);
		free(script);
	}
}

/* Of a step, from the preamble or its own line; absent where nobody asks. */
static void if_changed(void **state)
{
	static const char *const expected[] = {"out.%a:in,~/x", "b:a", NULL};
	(void)state;
	json_t *plan = plan_of(BASH "#ROTA --if-changed=out.%a:in,~/x\n#ROTA step a\ntrue\n#ROTA step b --if-changed=b:a\ntrue\n"
				    "#ROTA step c --if-changed=none\ntrue\n",
			       NULL);
	for (size_t i = 0; i < 3; i++) {
		struct order_spec spec;
		struct fields *owner = spec_of(json_array_get(pick(plan, "steps"), i), &spec);
		if (expected[i])
			assert_string_equal(spec.if_changed, expected[i]);
		else
			assert_null(spec.if_changed);
		fields_free(owner);
	}
	json_decref(plan);
}

/* What may run again is fenced, unless the step says otherwise. */
static void node_loss(void **state)
{
	static const struct {
		const char *line;
		bool fence, no_kill;
	} cases[] = {{"", true, false},
		     {"#ROTA --requeue\n", true, false},
		     {"#ROTA --no-requeue\n", false, false},
		     {"#ROTA --node-loss=keep --kill\n", false, false},
		     {"#ROTA --no-requeue --node-loss=fence\n", true, false},
		     {"#ROTA --no-kill\n", true, true},
		     {"#SBATCH --no-kill\n", true, true}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct order_spec spec;
		char *script = xasprintf(BASH "%strue\n", cases[i].line);
		json_t *plan = plan_of(script, NULL);
		struct fields *owner = spec_of(pick(plan, "steps/0"), &spec);
		assert_int_equal(spec.fence, cases[i].fence);
		assert_int_equal(spec.no_kill, cases[i].no_kill);
		fields_free(owner);
		json_decref(plan);
		free(script);
	}
}

/* The files of a script's first step, as its spec has them. */
static void outputs(void **state)
{
	static const struct {
		const char *lines, *output, *error;
	} cases[] = {
		{"#PBS -o o -e e\n", "o", "e"},
		{"#PBS -o o -e e\n#PBS -j oe\n", "o", ""},
		{"#PBS -j oe -e e -o o\n", "o", ""},
		{"#PBS -j oe\n#SBATCH -e e\n", "", "e"},
		{"#PBS -o /tmp/ -e ~/\n", "/tmp/rota-%j%R.out", "/home/u/rota-%j%R.err"},
		{"#ROTA --output=o/ --array=0-3\n", "o/rota-%j.%S.%a%R.out", ""},
		{"#ROTA --output=o/\n#ROTA step a\n", "o/rota-%j.%S%R.out", ""},
		{"#ROTA step script\n#ROTA step a\n", "rota-%j.%S%R.out", ""},
		{"#ROTA step script --output=o\n", "o", ""},
		{"#ROTA step script --array=0-3\n", "rota-%j.%S.%a%R.out", ""},
		{"#ROTA step a\n#ROTA step script\n", "", ""},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct order_spec spec;
		char *script = xasprintf(BASH "%strue\n", cases[i].lines);
		json_t *plan = plan_of(script, NULL);
		struct fields *owner = spec_of(pick(plan, "steps/0"), &spec);
		assert_string_equal(spec.output, cases[i].output);
		assert_string_equal(spec.error, cases[i].error);
		fields_free(owner);
		json_decref(plan);
		free(script);
	}
}

/* The spec: lines, paths, and all that only the node needs. */
static void specs(void **state)
{
	struct order_spec spec;
	(void)state;
	json_t *plan =
		plan_of(BASH "#ROTA --output=~/o-%j --prolog=pro --umask=077\nset -e\n#ROTA step a --error=e --input=/in\none\n\n"
			     "#ROTA step b --run=tasks --open-mode=append --workdir=sub --epilog=epi --shell=login --group=g -p "
			     "fast -n 3 -c 2\ntwo",
			(const char *[]){"--account=acc", NULL});
	struct fields *owner = spec_of(pick(plan, "steps/0"), &spec);
	assert_int_equal(spec.pre_from, 1);
	assert_int_equal(spec.pre_to, 3);
	assert_int_equal(spec.from, 4);
	assert_int_equal(spec.to, 6);
	assert_false(spec.per_task || spec.append);
	assert_string_equal(spec.step_name, "a");
	assert_string_equal(spec.job_name, "heat.sh");
	assert_string_equal(spec.account, "acc");
	assert_string_equal(spec.output, "/home/u/o-%j");
	assert_string_equal(spec.error, "e");
	assert_string_equal(spec.input, "/in");
	assert_string_equal(spec.workdir, "/work");
	assert_int_equal(spec.umask, 077);
	assert_string_equal(spec.shell, "");
	assert_string_equal(spec.user_prolog, "/work/pro");
	assert_string_equal(spec.user_epilog, "");
	assert_string_equal(spec.rlimits, "nofile=1024,core=0");
	assert_int_equal(spec.submit_ntasks, 0);
	fields_free(owner);
	owner = spec_of(pick(plan, "steps/1"), &spec);
	assert_int_equal(spec.from, 7);
	assert_int_equal(spec.to, 8);
	assert_true(spec.per_task && spec.append);
	assert_string_equal(spec.partition, "fast");
	assert_string_equal(spec.workdir, "/work/sub");
	assert_string_equal(spec.user_prolog, "/work/sub/pro");
	assert_string_equal(spec.user_epilog, "/work/sub/epi");
	assert_string_equal(spec.shell, "login");
	assert_string_equal(spec.group, "g");
	assert_int_equal(spec.submit_ntasks, 3);
	assert_int_equal(spec.cpus_per_task, 2);
	fields_free(owner);
	json_decref(plan);
	plan = plan_of(BASH "one\ntwo\n", NULL);
	owner = spec_of(pick(plan, "steps/0"), &spec);
	assert_int_equal(spec.pre_from, 0);
	assert_int_equal(spec.pre_to, 0);
	assert_int_equal(spec.from, 1);
	assert_int_equal(spec.to, 3);
	assert_int_equal(spec.umask, 022);
	fields_free(owner);
	json_decref(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(options),
		cmocka_unit_test(foreign),
		cmocka_unit_test(precedence),
		cmocka_unit_test(edges),
		cmocka_unit_test(steps),
		cmocka_unit_test(specs),
		cmocka_unit_test(node_loss),
		cmocka_unit_test(origin),
		cmocka_unit_test(signals),
		cmocka_unit_test(if_changed),
		cmocka_unit_test(outputs),
		cmocka_unit_test(here_documents),
		cmocka_unit_test(ignored),
		cmocka_unit_test(arguments),
		cmocka_unit_test(arguments_refused),
		cmocka_unit_test(here_documents_without_end),
	};
	return cmocka_run_group_tests(tests, utc, NULL);
}
