/* translate_option_test.c - each option in a plan: its default, its effect, and which of several settings takes precedence. */
#include "tests/unit/translate_case.h"

/* Defaults: a script without options. */
static void plain(void **state)
{
	static const struct fact facts[] = {
		{BASH "true\n",
		 {0},
		 {{"job",
		   "{\"name\":\"heat.sh\",\"account\":null,\"qos\":null,\"comment\":null,\"mail_user\":null,\"mail_type\":null,"
		   "\"nice\":0,"
		   "\"priority\":null,\"export\":\"ALL\",\"lines\":{},\"client_key\":null,\"retry_key\":null,\"script_name\":"
		   "\"dir/heat.sh\",\"workdir\":\"/work\","
		   "\"sequence\":false}"},
		  {"edges", "[]"},
		  {"steps/0/name", "\"script\""},
		  {"steps/0/step_id", "0"},
		  {"steps/0/line", "1"},
		  {"steps/0/topo", "0"},
		  {"steps/0/partition", "null"},
		  {"steps/0/nodes_min", "1"},
		  {"steps/0/nodes_max", "null"},
		  {"steps/0/ntasks", "1"},
		  {"steps/0/ntasks_per_node", "null"},
		  {"steps/0/cpus_per_task", "1"},
		  {"steps/0/mem_mb", "null"},
		  {"steps/0/mem_per_cpu_mb", "null"},
		  {"steps/0/gres", "{}"},
		  {"steps/0/licenses", "{}"},
		  {"steps/0/exclusive", "false"},
		  {"steps/0/constraint", "\"\""},
		  {"steps/0/nodelist", "[]"},
		  {"steps/0/exclude", "[]"},
		  {"steps/0/time_limit_s", "null"},
		  {"steps/0/time_min_s", "null"},
		  {"steps/0/begin_at", "null"},
		  {"steps/0/deadline_at", "null"},
		  {"steps/0/array", "null"},
		  {"steps/0/requeue", "true"},
		  {"steps/0/retry", "0"},
		  {"steps/0/hold", "false"},
		  {"steps/0/group", "null"},
		  {"steps/0/keep", "{\"cpus\":false,\"mem\":true,\"gres\":false,\"licenses\":true}"},
		  {"steps/0/deps_any", "false"},
		  {"steps/0/with_set", "null"}}},
		{BASH, {0}, {{"steps/0/image", "null"}, {"steps/0/prep", "null"}}},
		{BASH, {0}, {{"steps/0/name", "\"script\""}}},
		{"#!/bin/sh", {0}, {{"steps/0/name", "\"script\""}}},
		{"#! /usr/bin/env python3\nprint(1)\n", {0}, {{"steps/0/name", "\"script\""}}},
	};
	(void)state;
	FACTS(facts);
}

/* Each option, before the first step. */
static void options(void **state)
{
	static const struct fact facts[] = {
		FACT("#ROTA --job-name='the heat'\n", "job/name", "\"the heat\""),
		FACT("#ROTA --node-prep=mig\n", "steps/0/prep", "\"mig\""),
		FACT("#ROTA --node-prep='mig:2g, all -x'\n", "steps/0/prep", "\"mig:2g, all -x\""),
		FACT("#ROTA --node-prep=mig --node-prep=none\n", "steps/0/prep", "null"),
		FACT("#ROTA -J x\n", "job/name", "\"x\""),
		FACT("#ROTA --account=physics\n", "job/account", "\"physics\""),
		FACT("#ROTA --qos=high\n", "job/qos", "\"high\""),
		FACT("#ROTA --mem=1\n#SBATCH --qos=high\n#ROTA --account=a\n", "job/lines", "{\"account\":4,\"qos\":3}"),
		FACT("#ROTA -L a\n#ROTA step x\n#ROTA step y -w n1\n", "steps/1/lines", "{\"licenses\":2,\"nodelist\":4}"),
		FACT("#ROTA --priority=7\n", "job/priority", "7"),
		FACT("#ROTA --nice\n", "job/nice", "100"),
		FACT("#ROTA --nice=-5\n", "job/nice", "-5"),
		FACT("#ROTA --comment=\"a \\\"b\\\" c\"\n", "job/comment", "\"a \\\"b\\\" c\""),
		FACT("#ROTA --mail-user=a@b --mail-type=end\n", "job/mail_type", "\"END\""),
		FACT("#ROTA --mail-user=a@b\n", "job/mail_user", "\"a@b\""),
		FACT("#ROTA --export=PATH,A=b\n", "job/export", "\"PATH,A=b\""),
		FACT("#ROTA --workdir=sub\n", "job/workdir", "\"/work/sub\""),
		FACT("#ROTA --chdir=/x\n", "job/workdir", "\"/x\""),
		FACT("#ROTA -D ~/x\n", "job/workdir", "\"/home/u/x\""),
		FACT("#ROTA --partition=fast\n", "steps/0/partition", "\"fast\""),
		FACT("#ROTA --time=1:00:00\n", "steps/0/time_limit_s", "3600"),
		FACT("#ROTA --time=0\n", "steps/0/time_limit_s", "0"),
		FACT("#ROTA --time=60 --time-min=10\n", "steps/0/time_min_s", "600"),
		FACT("#ROTA --begin=now+1hour\n", "steps/0/begin_at", "1900003600"),
		FACT("#ROTA --deadline=now+1hour\n", "steps/0/deadline_at", "1900003600"),
		FACT("#ROTA --hold\n", "steps/0/hold", "true"),
		FACT("#ROTA -H\n", "steps/0/hold", "true"),
		{BASH "#ROTA --nodes=2-4\n", {0}, {{"steps/0/nodes_max", "4"}, {"steps/0/ntasks", "2"}}},
		{BASH "#ROTA --nodelist=n[1-3]\n",
		 {0},
		 {{"steps/0/nodelist", "[\"n1\",\"n2\",\"n3\"]"}, {"steps/0/nodes_min", "3"}}},
		FACT("#ROTA --nodelist=n[1-3] --ntasks=2\n", "steps/0/nodes_min", "2"),
		FACT("#ROTA --nodelist=n[1-3] --nodes=1\n", "steps/0/nodes_max", "1"),
		FACT("#ROTA --exclude=n1\n", "steps/0/exclude", "[\"n1\"]"),
		FACT("#ROTA --constraint='a & !b'\n", "steps/0/constraint", "\"a&!b\""),
		FACT("#ROTA --exclusive\n", "steps/0/exclusive", "true"),
		{BASH "#ROTA --ntasks=8\n", {0}, {{"steps/0/ntasks", "8"}, {"steps/0/nodes_max", "null"}}},
		FACT("#ROTA --ntasks=8 --ntasks-per-node=3\n", "steps/0/nodes_min", "3"),
		FACT("#ROTA --nodes=2 --ntasks-per-node=4\n", "steps/0/ntasks", "8"),
		FACT("#ROTA --ntasks=2 --ntasks-per-node=4\n", "steps/0/nodes_min", "1"),
		FACT("#ROTA --ntasks=2 --ntasks-per-node=4\n", "warnings/0/message",
		     "\"4 tasks on a node are more than the 2 of --ntasks, which counts\""),
		FACT("#ROTA --ntasks=4 --ntasks-per-node=4\n", "warnings", "nothing"),
		FACT("#ROTA --ntasks-per-node=4\n#ROTA step a -n 2\n#ROTA step b -n 2\n", "warnings/1", "nothing"),
		FACT("#ROTA --nodes=2-9 --ntasks=4\n", "steps/0/nodes_max", "4"),
		FACT("#ROTA --cpus-per-task=4\n", "steps/0/cpus_per_task", "4"),
		FACT("#ROTA --mem=4G\n", "steps/0/mem_mb", "4096"),
		FACT("#ROTA --mem=0\n", "steps/0/mem_mb", "0"),
		FACT("#ROTA --mem-per-cpu=512\n", "steps/0/mem_per_cpu_mb", "512"),
		FACT("#ROTA --gres=gpu:2,fpga\n", "steps/0/gres", "{\"gpu\":2,\"fpga\":1}"),
		FACT("#ROTA --gpus-per-node=2 --gres=fpga\n", "steps/0/gres", "{\"fpga\":1,\"gpu\":2}"),
		FACT("#ROTA --gres=gpu:0,fpga\n", "steps/0/gres", "{\"fpga\":1}"),
		{BASH "#ROTA --gres=gpu:2\n", {"--gpus=0"}, {{"steps/0/gres", "{}"}}},
		FACT("#ROTA --gpus=2\n", "steps/0/gres", "{\"gpu\":2}"),
		FACT("#ROTA --gpus=2 --ntasks=3\n", "steps/0/nodes_max", "1"),
		FACT("#SBATCH -G 4 -N 2\n", "steps/0/gres", "{\"gpu\":2}"),
		FACT("#ROTA --gpus=4 --ntasks=8 --ntasks-per-node=4\n", "steps/0/nodes_max", "2"),
		FACT("#ROTA --gpus-per-node=2\n#ROTA step a --gpus=1\n", "steps/0/gres", "{\"gpu\":1}"),
		FACT("#ROTA --licenses=matlab:0,abaqus\n", "steps/0/licenses", "{\"abaqus\":1}"),
		FACT("#ROTA --licenses=matlab:2\n", "steps/0/licenses", "{\"matlab\":2}"),
		FACT("#ROTA --licences=matlab:2\n", "steps/0/licenses", "{\"matlab\":2}"),
		FACT("#ROTA --array=0-15:4%2\n", "steps/0/array", "{\"indices\":[[0,12,4]],\"size\":4,\"limit\":2}"),
		FACT("#ROTA --no-requeue\n", "steps/0/requeue", "false"),
		FACT("#ROTA --eternal\n", "steps/0/eternal", "true"),
		FACT("true\n", "steps/0/eternal", "false"),
		FACT("#ROTA --retry=3\n", "steps/0/retry", "3"),
		FACT("true\n", "steps/0/checkpoint", "null"),
		FACT("#ROTA --checkpoint=no\n", "steps/0/checkpoint", "null"),
		FACT("#ROTA --checkpoint=app\n", "steps/0/checkpoint", "{\"driver\":\"app\",\"keep\":2}"),
		FACT("#ROTA --checkpoint=script:my-site_2\n", "steps/0/checkpoint",
		     "{\"driver\":\"script:my-site_2\",\"keep\":2}"),
		FACT("#ROTA --checkpoint=app --checkpoint-interval=auto\n", "steps/0/checkpoint",
		     "{\"driver\":\"app\",\"keep\":2,\"interval\":\"auto\"}"),
		FACT("#ROTA --checkpoint=auto\n", "steps/0/checkpoint/driver", "\"auto\""),
		FACT("#ROTA --checkpoint=dmtcp\n", "steps/0/checkpoint/driver", "\"dmtcp\""),
		FACT("#ROTA --checkpoint=criu\n", "steps/0/checkpoint/driver", "\"criu\""),
		FACT("#ROTA --checkpoint=app --checkpoint-keep=5 --checkpoint-before=1:00\n", "steps/0/checkpoint",
		     "{\"driver\":\"app\",\"keep\":5,\"before_s\":60}"),
		FACT("true\n", "steps/0/sample_s", "null"),
		FACT("#ROTA --sample=10\n#ROTA step a\n", "steps/0/sample_s", "10"),
		{BASH "#ROTA --sample=10\n", {"--sample=0"}, {{"steps/0/sample_s", "0"}}},
		FACT("#ROTA --sample=10\n", "steps/0/lines/sample", "2"),
		FACT("#ROTA --cred=krb5:forward,archive\n", "steps/0/credentials", "\"krb5,archive\""),
		FACT("#ROTA --cred=krb5:forward,archive\n", "job/forward", "[\"krb5\"]"),
		FACT("#ROTA --cred=krb5\n#ROTA step a --cred=archive:forward\n#ROTA step b --cred=none\n", "job/forward",
		     "[\"archive\"]"),
		FACT("#ROTA --keep=mem\n", "steps/0/keep", "{\"cpus\":false,\"mem\":true,\"gres\":false,\"licenses\":false}"),
		FACT("#ROTA --group=g\n", "steps/0/group", "\"g\""),
		FACT("#ROTA -n4 -c 2 -t5\n", "steps/0/ntasks", "4"),
		FACT("#ROTA --ntasks 4\n", "steps/0/ntasks", "4"),
		FACT("#ROTA\n#ROTA   # only a remark\n#ROTA --ntasks=4 # and another\n", "steps/0/ntasks", "4"),
		FACT("true\n#ROTA --ntasks=4\n", "steps/0/ntasks", "4"), /* without steps, options may be anywhere */
		FACT("# ROTA --x\n##ROTA --x\n #ROTA --x\n#ROTATE --x\n#rota --x\n", "steps/0/ntasks", "1"),
	};
	(void)state;
	FACTS(facts);
}

/* Settings on the step line, on the command line, and on #ROTA, #SBATCH and #PBS lines. */
static void precedence(void **state)
{
#define ALL_GIVEN "#PBS -l procs=2\n#SBATCH -n 3\n#ROTA -n 4\n"
	static const struct fact facts[] = {
		FACT("#PBS -l procs=2\n", "steps/0/ntasks", "2"),
		FACT("#SBATCH -n 3\n#PBS -l procs=2\n", "steps/0/ntasks", "3"),
		FACT("#ROTA -n 4\n#SBATCH -n 3\n", "steps/0/ntasks", "4"),
		{BASH ALL_GIVEN, {"--ntasks=5"}, {{"steps/0/ntasks", "5"}}},
		{BASH ALL_GIVEN, {"-n", "5"}, {{"steps/0/ntasks", "5"}}},
		{BASH ALL_GIVEN, {"--ntasks=5", "--ntasks=7"}, {{"steps/0/ntasks", "7"}}},
		{BASH ALL_GIVEN "#ROTA step a -n 6\n", {0}, {{"steps/0/ntasks", "6"}}},
		{BASH ALL_GIVEN "#ROTA step a -n 6\n",
		 {"-n5"},
		 {{"steps/0/ntasks", "5"}}}, /* a single step: the command line takes precedence */
		{BASH ALL_GIVEN "#ROTA step a -n 6\n#ROTA step b\n", {"-n5"}, {{"steps/0/ntasks", "6"}, {"steps/1/ntasks", "5"}}},
		{BASH ALL_GIVEN "#ROTA step a -n 6\n#ROTA step b\n", {0}, {{"steps/1/ntasks", "4"}}},
		{BASH "#ROTA --mem=1G\n#ROTA step a --mem-per-cpu=5\n",
		 {0},
		 {{"steps/0/mem_mb", "null"}, {"steps/0/mem_per_cpu_mb", "5"}}},
		{BASH "#ROTA --mem-per-cpu=5\n", {"--mem=7"}, {{"steps/0/mem_mb", "7"}, {"steps/0/mem_per_cpu_mb", "null"}}},
		FACT("#ROTA --hold\n#ROTA step a --no-hold\n#ROTA step b\n", "steps/0/hold", "false"),
		FACT("#ROTA --gres=gpu:2\n#ROTA step a --gres=none\n#ROTA step b\n", "steps/0/gres", "{}"),
		{BASH "#ROTA --array=0-3\n#ROTA step a --array=none\n#ROTA step b\n",
		 {0},
		 {{"steps/0/array", "null"}, {"steps/1/array/size", "4"}}},
		{BASH "#ROTA --deadline=now+9days\n", {"--deadline=none"}, {{"steps/0/deadline_at", "null"}}},
		{BASH "#ROTA --time=5 --job-name=a\n", {"--job-name=b"}, {{"job/name", "\"b\""}}},
	};
	(void)state;
	FACTS(facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(options),
		cmocka_unit_test(precedence),
	};
	return cmocka_run_group_tests(tests, utc, NULL);
}
