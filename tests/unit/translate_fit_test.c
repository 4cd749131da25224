/* translate_fit_test.c - steps that can never run in their partitions, alone or with their peers, and steps that may. */
#include "tests/unit/translate_case.h"

static struct translate_partition partitions[] = {
	{.name = "small",
	 .nodes = 4,
	 .cpus = 12,
	 .node_cpus = 4,
	 .node_mem_mb = 8192,
	 .max_time_s = 3600,
	 .max_nodes = 3,
	 .is_default = true},
	{.name = "large", .nodes = 100, .cpus = 6400, .node_cpus = 64, .node_mem_mb = 262144},
};

/* Scripts whose steps may all run. */
static const char *const accepted[] = {
	/* not all of these steps exclude each other, or they are in another partition */
	BASH "#ROTA step a -N 2 --after=none\n#ROTA step b -N 2 --other-nodes=a\n#ROTA step c -N 2 --other-nodes=b\n"
	     "#ROTA step d -N 2 --other-nodes=c,a\n#ROTA step e -N 3 -p large --other-nodes=a,b,c\n",
	/* the node lists allow nodes that satisfy --other-nodes and --same-nodes */
	BASH "#ROTA step a -N 1 --nodelist=n[1-2] --after=none\n#ROTA step b --other-nodes=a --nodelist=n1\n"
	     "#ROTA step c --other-nodes=b --nodelist=n2\n#ROTA step d --other-nodes=a\n",
	BASH "#ROTA -p large\n#ROTA step a -N 5 -C old --after=none\n#ROTA step b -N 10 -C fast --other-nodes=a\n",
	BASH "#ROTA step a -N 1 --nodelist=n[1-3] --exclude=n4\n#ROTA step b -N 1 --same-nodes=a --nodelist=n[3-4] --after=a\n",
	BASH "#ROTA -p large\n#ROTA step a -C fast|old --after=none\n#ROTA step b --same-nodes=a -C old\n",
	/* Step a or step b may never run, since its dependency is not met or its files have not changed. Then the other step of the
	 * two can have node n1. */
	BASH "#ROTA --nodelist=n1\n#ROTA step w\n#ROTA step a --after=w\n#ROTA step b --after=w:fail --other-nodes=a\n",
	BASH "#ROTA --nodelist=n1\n#ROTA step w\n#ROTA step a --after=w:fail\n#ROTA step b --after=a:any --other-nodes=a\n",
	BASH "#ROTA --nodelist=n1\n#ROTA step w\n#ROTA step a --after=w\n#ROTA step b --after=w?a --other-nodes=a\n",
	BASH "#ROTA --nodelist=n1\n#ROTA step a --if-changed=out:in\n#ROTA step b --after=a --other-nodes=a\n",
	BASH "#ROTA --nodelist=n1\n#ROTA step a --if-changed=out:in\n#ROTA step b --after=a:start --other-nodes=a\n",
	BASH "#ROTA --nodelist=n1\n#ROTA step w\n#ROTA step a --after=w:fail\n#ROTA step b --after=a:fail --other-nodes=a\n",
	BASH "#ROTA --nodelist=n1\n#ROTA step a --after=812\n#ROTA step b --other-nodes=a\n",
	/* steps that use the same nodes one after the other: together they need more than a node has */
	BASH "#ROTA step a -c 3 --exclusive\n#ROTA step b -c 3 --after=a --same-nodes=a\n",
	BASH "#ROTA step a -c 2 --mem=4G\n#ROTA step b -c 2 --mem=4G --with=a --same-nodes=a\n"
	     "#ROTA step c -c 4 --same-nodes=b --after=a\n",
	/* elements of an array may have different nodes, and tasks that are spread over nodes fit */
	BASH "#ROTA step a --array=0-3 -c 2 --with=b\n#ROTA step b -c 2\n",
	BASH "#ROTA step a -N 1-3 -n 6\n#ROTA step b -n 6 --with=a --same-nodes=a\n",
	BASH "#ROTA step a --with=b\n#ROTA step b\n#ROTA step c --array=0-0 --exclusive --same-nodes=a --after=a\n",
	BASH "#ROTA -n 2 --ntasks-per-node=8\n",
	BASH "#ROTA -n 2 --ntasks-per-node=8 --mem-per-cpu=3G\n",
};

static void refused_fit(void **state)
{
	static const struct refusal refusals[] = {
		LINE(BASH "#ROTA -p smal\n", 2, "-p", "unknown partition \"smal\"", "\"small\""),
		LINE(BASH "#ROTA -p batch\n", 2, "-p", "unknown partition \"batch\"", "rota partitions"),
		LINE(BASH "#ROTA -N 4\n", 2, "-N", "4 nodes requested, but partition \"small\" has at most 3", NULL),
		LINE(BASH "#ROTA -p large -N 101\n", 2, "-N", "101 nodes requested, but partition \"large\" has at most 100",
		     NULL),
		LINE(BASH "#ROTA -c 5\n", 2, "-c", "5 CPUs for a task requested, but partition", NULL),
		LINE(BASH "#ROTA --ntasks-per-node=3 -c 2\n", 2, "--ntasks-per-node", "6 CPUs on a node requested, but partition",
		     NULL),
		LINE(BASH "#ROTA -n 3 --ntasks-per-node=8 -c 2\n", 2, "--ntasks-per-node",
		     "6 CPUs on a node requested, but partition", NULL),
		LINE(BASH "#ROTA -n 13\n", 2, "-n", "13 CPUs requested, but partition", NULL),
		LINE(BASH "#ROTA -n 4 -c 3\n", 2, "-n", "4 tasks do not fit on 3 nodes", NULL),
		LINE(BASH "#ROTA -n 9 -N 2\n", 2, "-n", "9 tasks do not fit on 2 nodes", NULL),
		LINE(BASH "#ROTA --mem=8193\n", 2, "--mem", "8193 MiB on a node requested, but partition", NULL),
		LINE(BASH "#ROTA --mem-per-cpu=3G -c 3\n", 2, "--mem-per-cpu", "9216 MiB on a node requested, but partition",
		     NULL),
		LINE(BASH "#ROTA --gres=gpu\n", 2, "--gres", "1 gpu on a node requested, but partition", NULL),
		LINE(BASH "#ROTA -p large --gres=gpu:3\n", 2, "--gres",
		     "3 gpu on a node requested, but partition \"large\" has at most 2", NULL),
		LINE(BASH "#ROTA -p large --gpus-per-node=3\n", 2, "--gpus-per-node",
		     "3 gpu on a node requested, but partition \"large\" has at most 2", NULL),
		LINE(BASH "#ROTA -p large --gpus=3\n", 2, "--gpus",
		     "3 gpu on a node requested, but partition \"large\" has at most 2", "with --nodes"),
		LINE(BASH "#ROTA --gpus=1\n", 2, "--gpus", "1 gpu on a node requested, but partition", NULL),
		LINE(BASH "#SBATCH -G 1\n", 2, "-G", "1 gpu on a node requested, but partition", NULL),
		LINE(BASH "#ROTA --time=61\n", 2, "--time", "3660 seconds requested, but partition", NULL),
		LINE(BASH "#ROTA --time=0\n", 2, "--time", "has a time limit of 3600 seconds", NULL),
		LINE(BASH "#ROTA step a -n 6\n#ROTA step b -n 7 --with=a\n", 3, "--with",
		     "more than the 12 CPUs of partition \"small\"", NULL),
		LINE(BASH "#ROTA step a -N 2 --exclusive\n#ROTA step b -N 2 --exclusive\n#ROTA step c --with=a,b\n", 4, "--with",
		     "more than the 4 nodes", NULL),
		LINE(BASH "#ROTA step a -N 2 --exclusive\n#ROTA step b -N 3 --with=a\n", 3, "--with", "more than the 4 nodes",
		     NULL),
		LINE(BASH "#ROTA step a -N 2\n#ROTA step b -N 3 --with=a --other-nodes=a\n", 3, "--other-nodes",
		     "the step needs 3 nodes beside 2 others (--other-nodes=a); the partition has 4", NULL),
		LINE(BASH "#ROTA step a -N 2 --with=b,c --other-nodes=b,c\n#ROTA step b -N 2 --other-nodes=c\n#ROTA step c\n", 2,
		     "--other-nodes", "the step needs 2 nodes beside 3 others (--other-nodes=b,c); the partition has 4", NULL),
		LINE(BASH "#ROTA step a --after=none\n#ROTA step b --other-nodes=a\n#ROTA step c --other-nodes=a,b\n"
			  "#ROTA step d --other-nodes=a,b,c\n#ROTA step e --other-nodes=a,b,c,d --after=d\n",
		     6, "--other-nodes", "the step needs a fifth node (--other-nodes=a,b,c,d); the partition has 4", NULL),
		LINE(BASH "#ROTA step a --with=b --nodelist=n1\n#ROTA step b --with=a --other-nodes=a --nodelist=n1\n", 3,
		     "--other-nodes", "the step needs a second node (--other-nodes=a); their --nodelist leaves 1", NULL),
		LINE(BASH "#ROTA step a --nodelist=n[1-2]\n#ROTA step b --other-nodes=a --nodelist=n2 -p large\n", 3,
		     "--other-nodes", "the step needs 1 node beside 2 others (--other-nodes=a); their --nodelist leaves 2", NULL),
		LINE(BASH "#ROTA step a -N 1 --nodelist=n[1-2] --after=none\n#ROTA step b --other-nodes=a --nodelist=n1\n"
			  "#ROTA step c --other-nodes=a,b\n#ROTA step d --same-nodes=c --nodelist=n2 --after=c\n",
		     4, "--other-nodes", "the step needs a third node (--other-nodes=a,b); their --nodelist leaves 2", NULL),
		LINE(BASH "#ROTA -p large -C old\n#ROTA step a -N 3 --after=none\n#ROTA step b -N 3 --other-nodes=a\n", 4,
		     "--other-nodes", "the step needs 3 nodes beside 3 others (--other-nodes=a); their --constraint leaves 5",
		     NULL),
		LINE(BASH "#ROTA --nodelist=n1 --after=812\n#ROTA step a --after=none\n#ROTA step b --other-nodes=a\n", 4,
		     "--other-nodes", "the step needs a second node (--other-nodes=a); their --nodelist leaves 1", NULL),
		LINE(BASH "#ROTA --nodelist=n1\n#ROTA step w\n#ROTA step a --after=w:fail\n#ROTA step b --with=a\n"
			  "#ROTA step c --after=b:start --other-nodes=a\n",
		     6, "--other-nodes", "the step needs a second node (--other-nodes=a); their --nodelist leaves 1", NULL),
		LINE(BASH "#ROTA --nodelist=n1\n#ROTA step w\n#ROTA step a --after=w\n#ROTA step b --after=w --other-nodes=a\n",
		     5, "--other-nodes", "the step needs a second node (--other-nodes=a); their --nodelist leaves 1", NULL),
		LINE(BASH "#ROTA --nodelist=n1\n#ROTA step w\n#ROTA step a --after=w:any\n#ROTA step b --other-nodes=a\n", 5,
		     "--other-nodes", "the step needs a second node (--other-nodes=a); their --nodelist leaves 1", NULL),
		LINE(BASH "#ROTA --nodelist=n1\n#ROTA step w\n#ROTA step a --after=w:fail\n#ROTA step x --after=a\n"
			  "#ROTA step b --after=x --other-nodes=a\n",
		     6, "--other-nodes", "the step needs a second node (--other-nodes=a); their --nodelist leaves 1", NULL),
		LINE(BASH "#ROTA step a --nodelist=n1\n#ROTA step b --same-nodes=a --nodelist=n2 --after=a\n", 3, "--same-nodes",
		     "the step needs 1 node (--same-nodes=a); by --nodelist of the steps on the same nodes, 0 are left", NULL),
		LINE(BASH "#ROTA step b --same-nodes=a --nodelist=n[1-2] --after=a\n#ROTA step a --nodelist=n[2-3]\n", 2,
		     "--same-nodes",
		     "the step needs 2 nodes (--same-nodes=a); by --nodelist of the steps on the same nodes, 1 is left", NULL),
		LINE(BASH "#ROTA step a --exclude=n1 --after=none\n#ROTA step b --same-nodes=a\n"
			  "#ROTA step c --same-nodes=b --nodelist=n1\n",
		     3, "--same-nodes", "by --nodelist and --exclude of the steps on the same nodes, 0 are left", NULL),
		LINE(BASH "#ROTA -p large\n#ROTA step a -C fast --after=none\n#ROTA step b --same-nodes=a -C !fast\n", 4,
		     "--same-nodes",
		     "the step needs 1 node (--same-nodes=a); by --constraint of the steps on the same nodes, 0 are left", NULL),
		LINE(BASH "#ROTA step a -c 2 --with=b\n#ROTA step b -c 3 --with=a --same-nodes=a\n", 3, "--same-nodes",
		     "steps that start together on the same nodes (--same-nodes=a) need 5 CPUs on a node; partition \"small\" "
		     "has at most 4",
		     NULL),
		LINE(BASH "#ROTA step a -N 2 -n 3 -c 2\n#ROTA step b -n 3 --with=a --same-nodes=a\n", 3, "--same-nodes",
		     "need 5 CPUs on a node", NULL),
		LINE(BASH "#ROTA step a --after=none\n#ROTA step b --array=0-3 --with=a --same-nodes=a\n", 3, "--same-nodes",
		     "need 5 CPUs on a node", NULL),
		LINE(BASH "#ROTA step a --mem=5G\n#ROTA step b --mem-per-cpu=2G -c 2 --with=a --same-nodes=a\n", 3,
		     "--same-nodes", "need 9216 MiB on a node; partition \"small\" has at most 8192", NULL),
		LINE(BASH "#ROTA -p large\n#ROTA step a --gpus=1\n#ROTA step b --gpus=2 --with=a --same-nodes=a\n", 4,
		     "--same-nodes", "need 3 GPUs on a node; partition \"large\" has at most 2", NULL),
		LINE(BASH "#ROTA step a --exclusive\n#ROTA step b --with=a --same-nodes=a\n", 3, "--same-nodes",
		     "the step starts together with others on its nodes (--same-nodes=a), but --exclusive keeps others off",
		     NULL),
		LINE(BASH "#ROTA -p large\n#ROTA -C nosuch\n", 3, "-C",
		     "\"nosuch\" is met by 0 nodes of partition \"large\", but 1 is requested", NULL),
		LINE(BASH "#ROTA -p large -C fast&!old -N 11\n", 2, "-C", "is met by 10 nodes", NULL),
		LINE(BASH "#ROTA -p large -C (old|none)&fast -N 6\n", 2, "-C", "is met by 5 nodes", NULL),
		LINE(BASH "#ROTA step a --array=0-12 --with=b\n#ROTA step b\n", 2, "--with", "more than the 12 CPUs", NULL),
	};
	struct translate_limits limits = translate_limits_default;
	struct translate_problems problems;
	json_t *gres = json_pack("{s:i}", "gpu", 2);
	(void)state;
	limits.know_partitions = true;
	limits.partitions = partitions;
	limits.partition_count = 2;
	partitions[1].node_gres = gres;
	json_t *features = json_loads("[{\"features\": [], \"nodes\": 85}, {\"features\": [\"fast\"], \"nodes\": 10}, "
				      "{\"features\": [\"fast\", \"old\"], \"nodes\": 5}]",
				      0, NULL);
	partitions[1].features = features;
	REFUSALS(refusals, &limits);
	for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
		json_t *plan = run(accepted[i], NULL, &limits, &problems);
		assert_non_null(plan);
		json_decref(plan);
	}
	json_t *plan = run(BASH "#ROTA step a -N 2 -n 8 --mem=8G --time=60\n#ROTA step b -n 4 --with=a\n#ROTA step c -p large "
				"--gres=gpu:2 -t 0 -N 95 -C !old\n",
			   NULL, &limits, &problems);
	assert_non_null(plan);
	json_decref(plan);
	limits.partition_count = 0;
	check_refusal(&(struct refusal){BASH, {0}, 1, "--partition", "there is no default", NULL}, &limits);
	json_decref(gres);
	json_decref(features);
	partitions[1].node_gres = partitions[1].features = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(refused_fit)};
	return cmocka_run_group_tests(tests, utc, NULL);
}
