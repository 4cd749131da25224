/* keeper_environment_test.c - the variables of tasks and hooks. */
#include "tests/unit/unit.h"

#include "procmgr/keeper/task_environment.h"

static struct order order;
static struct task_owner owner = {1000, 1000, 1000, (char *)"ann", (char *)"/home/ann", (char *)"/bin/zsh", NULL, 0};
static const struct task_facts task = {&order, &owner, "lab", "0123abcd.812.3.1", 5, "/spool/nodes", NULL, NULL,
				       NULL,   NULL,   false};
static const struct task_facts hook = {&order, &owner, "lab", "0123abcd.812.3.1", -1, NULL, NULL, NULL, NULL, NULL, false};

static int setup(void **state)
{
	(void)state;
	order = (struct order){
		.job_id = 812,
		.step_id = 2,
		.attempt = 1,
		.node = "n2",
		.nodes = "n1,n2",
		.node_index = 1,
		.node_count = 2,
		.first_task = 4,
		.tasks = 3,
		.task_count = 7,
		.cpus = 6,
		.tasks_per_node = "4,3",
		.cpus_per_node = "8,6",
		.mem_mb = 0,
		.gres = "fpga:1,gpu:0+3",
		.failing = "n1",
		.uid = 1000,
		.gid = 1000,
		.user = "ann",
		.array_index = -1,
		.step_label = "812.solve",
		.spec = {.step_name = "solve",
			 .job_name = "heat",
			 .account = "",
			 .partition = "main",
			 .workdir = "/w",
			 .group = "",
			 .cpus_per_task = 2},
	};
	return 0;
}

/* The value of a variable; NULL if it is absent. Fails if the variable occurs twice. */
static const char *value(char **environment, const char *name)
{
	const char *found = NULL;
	size_t length = strlen(name);
	for (; *environment; environment++) {
		if (strncmp(*environment, name, length) != 0 || (*environment)[length] != '=')
			continue;
		assert_null(found);
		found = *environment + length + 1;
	}
	return found;
}

static void is(char **environment, const char *name, const char *expected)
{
	const char *found = value(environment, name);
	assert_non_null(found);
	assert_string_equal(found, expected);
}

static void test_task(void **state)
{
	(void)state;
	char **e = task_environment("", 0, &task);
	is(e, "ROTA_JOB_ID", "812");
	is(e, "ROTA_STEP_LABEL", "812.solve");
	is(e, "ROTA_NODELIST", "n1,n2");
	is(e, "ROTA_NODES_FAILING", "n1");
	is(e, "ROTA_TASK_ID", "5");
	is(e, "SLURM_PROCID", "5");
	is(e, "SLURM_LOCALID", "1");
	is(e, "SLURM_TASKS_PER_NODE", "4,3");
	is(e, "SLURM_JOB_CPUS_PER_NODE", "8,6");
	is(e, "SLURM_CPUS_ON_NODE", "6");
	is(e, "SLURM_JOB_NODELIST", "n[1-2]");
	is(e, "SLURM_NODELIST", "n[1-2]");
	is(e, "ROTA_PARTITION", "main");
	is(e, "ROTA_SUBMIT_DIR", "/w");
	assert_null(value(e, "ROTA_SUBMIT_HOST")); /* the client has not exported this variable */
	assert_null(value(e, "SLURM_STEP_ID"));	   /* a script that runs once is a batch script */
	assert_null(value(e, "SLURM_STEPID"));
	assert_null(value(e, "SLURM_STEP_NODELIST"));
	is(e, "ROTA_STEP_ID", "2");
	assert_null(value(e, "SLURM_ARRAY_TASK_MIN"));
	is(e, "CUDA_VISIBLE_DEVICES", "0,3");
	is(e, "ROTA_GRES", "fpga:1,gpu:0+3");
	is(e, "ROTA_CLUSTER", "lab");
	is(e, "HOME", "/home/ann");
	is(e, "SHELL", "/bin/zsh");
	is(e, "PBS_JOBID", "812");
	is(e, "PBS_O_WORKDIR", "/w");
	is(e, "PBS_O_HOME", "/home/ann");
	is(e, "PBS_NODEFILE", "/spool/nodes");
	is(e, "PBS_ENVIRONMENT", "PBS_BATCH");
	assert_null(value(e, "PBS_ARRAY_INDEX"));
	assert_non_null(value(e, "PATH"));
	assert_null(value(e, "ROTA_MEM_MB"));
	assert_null(value(e, "ROTA_ACCOUNT"));
	assert_null(value(e, "SLURM_ARRAY_TASK_ID"));
	assert_null(value(e, "SLURM_RESTART_COUNT"));
	task_environment_free(e);
}

/* Variables of burst_buffer.lua replace those of the user, each occurs once, and Rota's own come last. */
static void test_job_variables(void **state)
{
	(void)state;
	static const char blob[] = "A=user\0Z=kept\0PATH=/bin";
	static const char *const names[] = {"A", "B", "EMPTY", "ROTA_JOB_ID", "LD_PRELOAD"};
	int counts[5] = {0};
	order.variables = "1=6:A=site\n2=5:B=x=y\n3=6:EMPTY=\n4=13:ROTA_JOB_ID=1\n5=16:LD_PRELOAD=/x.so\n";
	char **e = task_environment(blob, sizeof blob - 1, &task);
	is(e, "A", "site");
	is(e, "B", "x=y");
	is(e, "EMPTY", "");
	is(e, "Z", "kept");
	is(e, "ROTA_JOB_ID", "812");
	is(e, "LD_PRELOAD", "/x.so");
	for (char **item = e; *item; item++)
		for (int i = 0; i < 5; i++)
			counts[i] += strncmp(*item, names[i], strlen(names[i])) == 0 && (*item)[strlen(names[i])] == '=';
	for (int i = 0; i < 5; i++)
		assert_int_equal(counts[i], 1);
	task_environment_free(e);
	e = task_site_environment(&task);
	assert_null(value(e, "LD_PRELOAD"));
	task_environment_free(e);
	order.variables = NULL;
}

/* The variables of credentials replace those that the user exported; those of kinds of which the step has no credential stay. */
static void test_credentials(void **state)
{
	(void)state;
	static const char blob[] = "KRB5CCNAME=/tmp/login\0SSH_AUTH_SOCK=/tmp/agent\0ROTA_CREDENTIALS=/tmp/other";
	const struct task_credentials credentials = {"/spool/cred", "tickets", NULL, "storage", NULL};
	struct task_facts facts = task;
	char **environment = task_environment(blob, sizeof blob, &facts);
	is(environment, "KRB5CCNAME", "/tmp/login");
	assert_null(value(environment, "ROTA_CREDENTIALS"));
	task_environment_free(environment);
	facts.credentials = &credentials;
	environment = task_environment(blob, sizeof blob, &facts);
	is(environment, "ROTA_CREDENTIALS", "/spool/cred");
	is(environment, "KRB5CCNAME", "FILE:/spool/cred/tickets");
	is(environment, "BEARER_TOKEN_FILE", "/spool/cred/storage");
	is(environment, "SSH_AUTH_SOCK", "/tmp/agent");
	assert_null(value(environment, "X509_USER_PROXY"));
	task_environment_free(environment);
}

/* A TMPDIR of the step's own replaces that of the user; without one, the user's stays. */
static void test_tmpdir(void **state)
{
	(void)state;
	static const char blob[] = "TMPDIR=/tmp/mine\0ROTA_TMPDIR=/tmp/other";
	struct task_facts facts = task;
	char **environment = task_environment(blob, sizeof blob, &facts);
	is(environment, "TMPDIR", "/tmp/mine");
	assert_null(value(environment, "ROTA_TMPDIR"));
	task_environment_free(environment);
	facts.tmpdir = "/scratch/n1.812.0.1";
	environment = task_environment(blob, sizeof blob, &facts);
	is(environment, "TMPDIR", "/scratch/n1.812.0.1");
	is(environment, "ROTA_TMPDIR", "/scratch/n1.812.0.1");
	task_environment_free(environment);
}

/* An epilog of a step that was ended while it was suspended does not name the GPUs that another step may have. */
static void test_given_back(void **state)
{
	(void)state;
	struct task_facts facts = hook;
	facts.without_gpus = true;
	order.gres = "gpu:0+3,fpga:1";
	char **environment = task_site_environment(&facts);
	is(environment, "ROTA_GRES", "fpga:1");
	assert_null(value(environment, "CUDA_VISIBLE_DEVICES"));
	task_environment_free(environment);
}

/* Values of the order and the client replace those of the spec. */
static void test_origin(void **state)
{
	(void)state;
	static const char blob[] = "SLURM_SUBMIT_HOST=liar\0ROTA_SUBMIT_HOST=login1\0PBS_O_WORKDIR=/liar\0SLURM_STEP_ID=9";
	order.partition = "fast";
	order.spec.partition = "";
	order.spec.submit_dir = "/home/ann/from";
	char **e = task_environment(blob, sizeof blob - 1, &task);
	is(e, "ROTA_PARTITION", "fast");
	is(e, "SLURM_JOB_PARTITION", "fast");
	is(e, "PBS_QUEUE", "fast");
	is(e, "ROTA_WORKDIR", "/w");
	is(e, "ROTA_SUBMIT_DIR", "/home/ann/from");
	is(e, "SLURM_SUBMIT_DIR", "/home/ann/from");
	is(e, "PBS_O_WORKDIR", "/home/ann/from");
	is(e, "ROTA_SUBMIT_HOST", "login1");
	is(e, "SLURM_SUBMIT_HOST", "login1");
	is(e, "PBS_O_HOST", "login1");
	assert_null(value(e, "SLURM_STEP_ID"));
	task_environment_free(e);
	order.spec.per_task = true;
	e = task_environment(blob, sizeof blob - 1, &task);
	is(e, "SLURM_STEP_ID", "2");
	is(e, "SLURM_STEPID", "2");
	is(e, "SLURM_STEP_NODELIST", "n[1-2]");
	task_environment_free(e);
}

/* Tasks and CPUs of all nodes are in a launch request for several nodes. */
static void test_per_node(void **state)
{
	(void)state;
	order.tasks_per_node = "3,2(x3)";
	order.cpus_per_node = "8(x2),4";
	char **e = task_environment("", 0, &task);
	is(e, "SLURM_TASKS_PER_NODE", "3,2(x3)");
	is(e, "SLURM_JOB_CPUS_PER_NODE", "8(x2),4");
	task_environment_free(e);
	order.tasks_per_node = order.cpus_per_node = NULL;
	e = task_environment("", 0, &task);
	is(e, "SLURM_TASKS_PER_NODE", "3");
	is(e, "SLURM_JOB_CPUS_PER_NODE", "6");
	is(e, "SLURM_CPUS_ON_NODE", "6");
	task_environment_free(e);
}

static void test_blob(void **state)
{
	(void)state;
	static const char blob[] = "FOO=bar\0HOME=/evil\0ROTA_JOB_ID=1\0ROTA_ARRAY_INDEX=9\0SLURM_MEM_PER_NODE=7\0=x\0nosign\0"
				   "PATH=/mine\0FOO=again\0EMPTY=\0CUDA_VISIBLE_DEVICES=7\0LAST=1";
	char **e = task_environment(blob, sizeof blob - 1, &task);
	assert_non_null(value(e, "FOO"));
	is(e, "HOME", "/home/ann");
	is(e, "ROTA_JOB_ID", "812");
	is(e, "PATH", "/mine");
	is(e, "EMPTY", "");
	is(e, "LAST", "1");
	is(e, "CUDA_VISIBLE_DEVICES", "0,3");
	assert_null(value(e, "ROTA_ARRAY_INDEX"));
	assert_null(value(e, "SLURM_MEM_PER_NODE"));
	for (char **item = e; *item; item++) {
		assert_int_not_equal(**item, '=');
		assert_non_null(strchr(*item, '='));
	}
	task_environment_free(e);
}

static void test_array_and_single_node(void **state)
{
	(void)state;
	order.array_index = 7;
	order.array_size = 10;
	order.spec.array_max = 18;
	order.spec.array_step = 2;
	order.nodes = "";
	order.failing = "";
	order.node_count = 1;
	order.tasks_per_node = order.cpus_per_node = NULL;
	order.gres = "";
	order.attempt = 3;
	char **e = task_environment("", 0, &task);
	is(e, "ROTA_ARRAY_INDEX", "7");
	is(e, "SLURM_ARRAY_JOB_ID", "812");
	is(e, "PBS_JOBID", "812[7]");
	is(e, "PBS_ARRAY_INDEX", "7");
	is(e, "SLURM_ARRAY_TASK_COUNT", "10");
	is(e, "SLURM_ARRAY_TASK_MIN", "0");
	is(e, "SLURM_ARRAY_TASK_MAX", "18");
	is(e, "SLURM_ARRAY_TASK_STEP", "2");
	is(e, "ROTA_NODELIST", "n2");
	is(e, "SLURM_TASKS_PER_NODE", "3");
	is(e, "SLURM_RESTART_COUNT", "2");
	assert_null(value(e, "ROTA_NODES_FAILING"));
	assert_null(value(e, "CUDA_VISIBLE_DEVICES"));
	assert_null(value(e, "SLURM_JOB_GPUS"));
	task_environment_free(e);
}

static void test_site(void **state)
{
	(void)state;
	char **e = task_site_environment(&hook);
	is(e, "ROTA_JOB_ID", "812");
	is(e, "ROTA_USER", "ann");
	is(e, "ROTA_UID", "1000");
	is(e, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	assert_null(value(e, "ROTA_TASK_ID"));
	assert_null(value(e, "HOME"));
	for (char **item = e; *item; item++)
		assert_true(strncmp(*item, "PATH=", 5) == 0 || strncmp(*item, "ROTA_", 5) == 0 ||
			    strncmp(*item, "SLURM", 5) == 0 || strncmp(*item, "PBS_", 4) == 0);
	task_environment_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_task, setup),
		cmocka_unit_test_setup(test_job_variables, setup),
		cmocka_unit_test_setup(test_given_back, setup),
		cmocka_unit_test_setup(test_origin, setup),
		cmocka_unit_test_setup(test_credentials, setup),
		cmocka_unit_test_setup(test_tmpdir, setup),
		cmocka_unit_test_setup(test_per_node, setup),
		cmocka_unit_test_setup(test_blob, setup),
		cmocka_unit_test_setup(test_array_and_single_node, setup),
		cmocka_unit_test_setup(test_site, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
