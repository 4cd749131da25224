/* translate_foreign_test.c - #SBATCH and #PBS lines. */
#include "tests/unit/translate_case.h"

static void foreign(void **state)
{
	static const struct fact facts[] = {
		{BASH "#SBATCH --job-name=a -n 4 --chdir=/x\n",
		 {0},
		 {{"job/name", "\"a\""}, {"steps/0/ntasks", "4"}, {"job/workdir", "\"/x\""}}},
		FACT("#SBATCH -N2 -t 1-0\n", "steps/0/time_limit_s", "86400"),
		FACT("\n# remark\n\n   # another\n#SBATCH -n 4\n", "steps/0/ntasks", "4"),
		FACT("true\n#SBATCH --no-such\n#PBS -l x=y\n", "steps/0/ntasks", "1"),
		FACT("#ROTA step a\n#SBATCH --no-such\n", "steps/0/ntasks", "1"),
		FACT("\ntrue\n\n#SBATCH -n 4\n", "warnings/0/line", "5"),
		FACT("\ntrue\n\n#SBATCH -n 4\n", "warnings/0/message",
		     "\"this #SBATCH line is ignored: it is below the first command (line 3); move it up\""),
		FACT("true\n#PBS -l ncpus=2\n", "warnings/0/message",
		     "\"this #PBS line is ignored: it is below the first command (line 2); move it up\""),
		FACT("#ROTA step a\ntrue\n#SBATCH -n 4\n#ROTA step b -n 2\n", "warnings/0/message",
		     "\"this #SBATCH line is ignored: it is below the first step (line 2); write it above, or on a #ROTA step "
		     "line\""),
		FACT("#ROTA step a\ntrue\n#SBATCH -n 4\n#ROTA step b -n 2\n", "warnings/1", "nothing"),
		FACT("cat >x <<EOF\n#!/bin/sh\n#SBATCH -n 4\nEOF\n", "warnings", "nothing"),
		FACT("echo '\n#SBATCH -n 4\n' >x\n", "warnings", "nothing"),
		FACT("true\n#SBATCH\n#SBATCH lines stand above\n##SBATCH -n 4\n #SBATCH -n 4\n#SBATCHX -n 4\n", "warnings",
		     "nothing"),
		FACT("true\n#ROTA -n 4\n", "warnings", "nothing"),
		FACT("true\n#ROTA -n 4\n", "steps/0/ntasks", "4"),
		FACT("#SBATCH --mem=1G\n#SBATCH --mem=2G\n", "steps/0/mem_mb", "2048"),
		FACT("#SBATCH --dependency=afterok:12:13,afternotok:14,after:15,aftercorr:16,afterany:17,18\n#SBATCH -a 0-3\n",
		     "edges/1",
		     "{\"step_id\":0,\"kind\":\"after\",\"peer_job\":13,\"condition\":\"ok\",\"line\":2,\"peer_step\":null,"
		     "\"peer_name\":null}"),
		{BASH "#SBATCH -d afterok:12:13,afternotok:14,after:15,aftercorr:16,afterany:17,18\n#SBATCH -a 0-3\n",
		 {0},
		 {{"edges/2/condition", "\"fail\""},
		  {"edges/3/condition", "\"start\""},
		  {"edges/4/condition", "\"corr\""},
		  {"edges/6/condition", "\"any\""}}},
		FACT("#SBATCH -d singleton\n", "edges/0/condition", "\"singleton\""),
		FACT("#SBATCH -d afterok:12,singleton\n", "edges/1/peer_job", "null"),
		FACT("#SBATCH --reservation=maint\n", "steps/0/reservation", "\"maint\""),
		{BASH "#SBATCH --reservation=maint\n", {"--reservation=none"}, {{"steps/0/reservation", "null"}}},
		FACT("#SBATCH -d afterok:12?13\n", "steps/0/deps_any", "true"),
		{BASH "#PBS -N a -q fast\n#PBS -l nodes=2:ppn=4,walltime=1:00:00,mem=2gb\n",
		 {0},
		 {{"steps/0/time_limit_s", "3600"}, {"steps/0/ntasks", "8"}}},
		FACT("#PBS -l nodes=2:ppn=4,walltime=1:00:00,mem=2gb\n", "steps/0/mem_mb", "1024"), /* the sum of both nodes */
		FACT("#PBS -l mem=2gb -l nodes=2\n", "steps/0/mem_mb", "1024"),
		{BASH "#PBS -l select=2:ncpus=4:mem=4gb:ngpus=1\n",
		 {0},
		 {{"steps/0/mem_mb", "4096"}, {"steps/0/cpus_per_task", "4"}, {"steps/0/gres", "{\"gpu\":1}"}}},
		FACT("#PBS -lnodes=1:a:b\n", "steps/0/constraint", "\"a&b\""),
		FACT("#PBS -V -v A=1\n", "job/export", "\"ALL,A=1\""),
		FACT("#PBS -h -r n\n", "steps/0/hold", "true"),
		FACT("#PBS -W depend=afterany:812\n", "edges/0/condition", "\"any\""),
		FACT("#PBS -j oe\n#PBS -p 10\n", "job/nice", "-10"),
	};
	(void)state;
	FACTS(facts);
}

/* Options without a counterpart are ignored with a warning, once for each line. */
static void ignored(void **state)
{
	static const struct fact facts[] = {
		FACT("#SBATCH --oversubscribe --ntasks=2\n", "steps/0/ntasks", "2"),
		FACT("#SBATCH --oversubscribe\n", "warnings/0/option", "\"--oversubscribe\""),
		FACT("#SBATCH --hint nomultithread -n 2\n", "steps/0/ntasks", "2"),
		FACT("#SBATCH --hint nomultithread\n", "warnings/0/line", "2"),
		FACT("#SBATCH --get-user-env -n 2\n", "steps/0/ntasks", "2"),
		FACT("#SBATCH --tmp=4G\n", "warnings/0/file", "\"dir/heat.sh\""),
		FACT("#SBATCH --ntasks-per-core=1\n", "warnings/0/option", "\"--ntasks-per-core\""),
		{BASH "#SBATCH -s\n", {"--tmp=1"}, {{"warnings/0/line", "0"}, {"warnings/1/line", "2"}}},
		FACT("#SBATCH -s\n#ROTA step a\n#ROTA step b\n", "warnings/1", "nothing"),
		FACT("#PBS -k oe\n", "warnings/0/option", "\"-k\""),
		FACT("#PBS -X\n#PBS -l ncpus=2\n", "warnings/0/option", "\"-X\""),
		FACT("#PBS -c s -P physics -R oe\n", "warnings/2/option", "\"-R\""),
		FACT("#PBS -l ncpus=2,file=1gb,software=x\n", "warnings/1/option", "\"-l software\""),
		FACT("#PBS -W group_list=physics\n", "warnings/0/option", "\"-W group_list\""),
		FACT("#SBATCH -B 2:8 -S2 -m cyclic -v -Q -n 2\n", "steps/0/ntasks", "2"),
		FACT("#SBATCH -B 2:8 -S2 -m cyclic -v -Q\n", "warnings/4/option", "\"-Q\""),
		FACT("#SBATCH --propagate --contiguous --switches 2 -n 2\n", "steps/0/ntasks", "2"),
		FACT("#SBATCH --x11 --threads-per-core=1 --wckey w -n 2\n", "steps/0/ntasks", "2"),
		FACT("#PBS -l select=1:ncpus=2:vmem=4gb,cput=1:00:00\n", "warnings/0/option", "\"-l select\""),
		FACT("#PBS -l ncpus=2,vmem=4gb,cput=1:00:00\n", "warnings/1/option", "\"-l cput\""),
		FACT("true\n", "warnings", "nothing"),
		FACT("#ROTA --strict\n", "warnings", "nothing"),
	};
	(void)state;
	FACTS(facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign),
		cmocka_unit_test(ignored),
	};
	return cmocka_run_group_tests(tests, utc, NULL);
}
