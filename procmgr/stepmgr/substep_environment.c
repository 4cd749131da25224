/* substep_environment.c - makes the arguments, the environment and the files with which a task of a sub-step is started.
 *
 * Called by: substep_engine.c.
 * Invariants: the variables by which the processes of the step are found (ROTA_MARK) and by which they find the step manager are
 * always those of the step. */
#include "procmgr/stepmgr/substep_environment.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arguments.h"
#include "lib/daemon.h"
#include "lib/pattern.h"
#include "procmgr/stepmgr/substep_nodelist.h"

/* Variables that the step manager sets. Those of the request with these names are dropped. */
static const char *const own_names[] = {
	"ROTA_SUBSTEP",	 "ROTA_SUBSTEP_NAME", "ROTA_TASK_ID", "ROTA_NTASKS",	     "ROTA_CPUS_PER_TASK",
	"ROTA_CPUS",	 "ROTA_GRES",	      "ROTA_MARK",    "ROTA_STEP_SOCKET",    "SLURM_PROCID",
	"SLURM_LOCALID", "SLURM_NTASKS",      "SLURM_NPROCS", "SLURM_CPUS_PER_TASK", "PWD",
};

/* Variables that differ between nodes: tasks get this node's values, not those of the request. The first INDEX_COUNT are the
 * position of the node among the nodes of the step. */
static const char *const node_names[] = {"ROTA_NODE_INDEX", "SLURM_NODEID",	    "PBS_NODENUM",     "ROTA_NODE",
					 "SLURMD_NODENAME", "CUDA_VISIBLE_DEVICES", "ROTA_CREDENTIALS"};

/* Variables of credentials. On each node they name files in that node's credential folder, unless a program of the job has set
 * them to other files. */
static const char *const credential_names[] = {"KRB5CCNAME", "X509_USER_PROXY", "BEARER_TOKEN_FILE", "SSH_AUTH_SOCK"};

enum { INDEX_COUNT = 3 };
enum { OWN_COUNT = sizeof own_names / sizeof *own_names, TERMINAL_WORDS = 4 };
enum {
	NODE_COUNT = sizeof node_names / sizeof *node_names,
	CREDENTIAL_COUNT = sizeof credential_names / sizeof *credential_names
};

int substep_environment_global_rank(const struct substep *s, int rank)
{
	const struct substep_part_spec *part = &s->spec->part;
	return part->number > 0 ? substep_ranks_at(&part->ranks, rank) : rank;
}

int substep_environment_local_rank(const struct substep *s, int rank)
{
	return substep_ranks_position(&s->ranks, rank);
}

char **substep_environment_argv(const struct substep *s, int rank)
{
	const json_t *list = substep_spec_argv(s->spec, substep_environment_global_rank(s, rank));
	struct err e;
	int count = 0;
	char **argv = xcalloc(json_array_size(list) + TERMINAL_WORDS + 1, sizeof *argv);
	if (s->terminal) {
		argv[count] = daemon_beside("rota-terminal", &e);
		if (!argv[count++])
			die("%s", e.message);
		argv[count++] = xstrdup(s->terminal);
		argv[count++] = xasprintf("%d", s->spec->rows);
		argv[count++] = xasprintf("%d", s->spec->cols);
	}
	for (size_t i = 0; i < json_array_size(list); i++)
		argv[count++] = xstrdup(json_string_value(json_array_get(list, i)));
	return argv;
}

/* Returns true if the value names a file in a folder of credentials of this step, here or on another node. */
static bool is_delivered(const char *value)
{
	const char *folder = getenv("ROTA_CREDENTIALS"), *end = folder ? strstr(folder, "/spool/") : NULL;
	if (!folder || !value)
		return false;
	return strstr(value, folder) || strstr(value, end ? end : "/dev/shm/rota-cred.");
}

/* Returns the index in credential_names of a variable that this node has from a credential, or -1. */
static int find_credential(const char *variable)
{
	size_t length = strcspn(variable, "=");
	for (int i = 0; i < CREDENTIAL_COUNT; i++)
		if (strncmp(credential_names[i], variable, length) == 0 && credential_names[i][length] == '\0')
			return is_delivered(getenv(credential_names[i])) ? i : -1;
	return -1;
}

static bool is_own(const char *variable)
{
	size_t length = strcspn(variable, "=");
	for (int i = 0; i < OWN_COUNT; i++)
		if (strncmp(own_names[i], variable, length) == 0 && own_names[i][length] == '\0')
			return true;
	for (size_t i = 0; i < NODE_COUNT; i++)
		if (strncmp(node_names[i], variable, length) == 0 && node_names[i][length] == '\0')
			return true;
	return false;
}

static bool is_of_job(const char *variable)
{
	static const char *const prefixes[] = {"ROTA_", "SLURM_", "SLURMD_", "PBS_"};
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* Variables of burst_buffer.lua, "NAME=value", with the values that they have in the environment of the step. */
static struct {
	char **list;
	size_t count;
} staged;

static bool is_staged(const char *variable)
{
	size_t length = strcspn(variable, "=");
	for (size_t i = 0; i < staged.count; i++)
		if (strncmp(staged.list[i], variable, length) == 0 && staged.list[i][length] == '=')
			return true;
	return false;
}

void substep_environment_use_variables(const char *given)
{
	struct fields *f = given ? arguments_parse(given) : NULL;
	for (int i = 0; f && i < fields_count(f); i++) {
		char *name = xstrndup(fields_value(f, i), strcspn(fields_value(f, i), "="));
		const char *value = getenv(name);
		if (value && !is_own(name) && !is_of_job(name) && !is_staged(name) && find_credential(name) < 0) {
			staged.list = xrealloc(staged.list, (staged.count + 1) * sizeof *staged.list);
			staged.list[staged.count++] = xasprintf("%s=%s", name, value);
		}
		free(name);
	}
	fields_free(f);
}

static void add_text(char **environment, int *count, const char *name, const char *value)
{
	if (value && *value)
		environment[(*count)++] = xasprintf("%s=%s", name, value);
}

static void add_number(char **environment, int *count, const char *name, int64_t value)
{
	environment[(*count)++] = xasprintf("%s=%" PRId64, name, value);
}

/* Variables that tasks inherit from the environment of the latest request. Requests of one client have the same environment. */
static struct {
	json_t *env;
	char **kept; /* strings of `env` */
	size_t count;
	/* the environment is that of a program of the job; a program outside has no variables of the job */
	bool is_inside;
	bool replaced[CREDENTIAL_COUNT]; /* by index in credential_names: the tasks get this node's value of the variable */
} inherited;

static bool is_from_inside(const json_t *env)
{
	static const char inside[] = "ROTA_JOB_ID=";
	size_t i;
	json_t *value;
	json_array_foreach (env, i, value)
		if (strncmp(json_string_value(value), inside, strlen(inside)) == 0)
			return true;
	return false;
}

/* Is this variable of a credential left out of the request's environment, since tasks get this node's value? Not if a program of
 * the job has set it to something other than a file of a credential. */
static bool is_replaced(const char *variable)
{
	int index = find_credential(variable);
	if (index >= 0 && inherited.is_inside)
		inherited.replaced[index] = is_delivered(variable);
	return index >= 0 && inherited.replaced[index];
}

static void environment_inherit(json_t *env)
{
	size_t i;
	json_t *value;
	if (inherited.env == env)
		return;
	json_decref(inherited.env);
	inherited.env = json_incref(env);
	inherited.kept = xrealloc(inherited.kept, (json_array_size(env) + 1) * sizeof *inherited.kept);
	inherited.count = 0;
	inherited.is_inside = is_from_inside(env);
	for (int c = 0; c < CREDENTIAL_COUNT; c++)
		inherited.replaced[c] = !inherited.is_inside;
	json_array_foreach (env, i, value) {
		const char *variable = json_string_value(value);
		if (!is_own(variable) && !is_replaced(variable) && (inherited.is_inside || !is_staged(variable)))
			inherited.kept[inherited.count++] = (char *)variable;
	}
}

extern char **environ;

/* Add the variables of the job, for a request of a program outside the job, which lacks them. Returns the new number of
 * variables. */
static int add_job(const struct substep *s, char **environment, int count)
{
	for (char **at = environ; !inherited.is_inside && *at; at++) {
		char *variable = is_of_job(*at) && !is_own(*at) ? substep_nodelist_variable(s->spec, *at) : NULL;
		if (variable)
			environment[count++] = variable;
	}
	for (size_t i = 0; !inherited.is_inside && i < staged.count; i++)
		environment[count++] = xstrdup(staged.list[i]);
	return count;
}

/* Add the variables that differ between nodes. Returns the new number of variables. */
static int add_node(const struct substep *s, char **environment, int count)
{
	int index = substep_nodelist_index(s->spec, getenv("ROTA_NODE"));
	for (size_t i = 0; i < NODE_COUNT; i++) {
		if (index >= 0 && i < INDEX_COUNT && getenv(node_names[i]))
			add_number(environment, &count, node_names[i], index);
		else
			add_text(environment, &count, node_names[i], getenv(node_names[i]));
	}
	for (int i = 0; i < CREDENTIAL_COUNT; i++)
		if (inherited.replaced[i] && is_delivered(getenv(credential_names[i])))
			add_text(environment, &count, credential_names[i], getenv(credential_names[i]));
	return count;
}

/* Returns the number of environment variables of this process. */
static size_t own_count(void)
{
	size_t count = 0;
	while (environ[count])
		count++;
	return count;
}

char **substep_environment(const struct substep *s, const struct substep_pool *pool, int rank, size_t *borrowed)
{
	environment_inherit(s->spec->env);
	char **environment =
		xcalloc(inherited.count + own_count() + OWN_COUNT + NODE_COUNT + CREDENTIAL_COUNT + 1, sizeof *environment);
	char *devices = substep_pool_devices(pool, &s->share);
	int count = (int)inherited.count;
	memcpy(environment, inherited.kept, inherited.count * sizeof *environment);
	*borrowed = inherited.count;
	count = add_job(s, environment, count);
	add_text(environment, &count, "ROTA_MARK", getenv("ROTA_MARK"));
	add_text(environment, &count, "ROTA_STEP_SOCKET", getenv("ROTA_STEP_SOCKET"));
	bool is_part = s->spec->part.number > 0;
	int global = substep_environment_global_rank(s, rank), total = is_part ? s->spec->part.total : s->ntasks;
	count = add_node(s, environment, count);
	add_number(environment, &count, "ROTA_SUBSTEP", is_part ? s->spec->part.number : s->number);
	add_text(environment, &count, "ROTA_SUBSTEP_NAME", s->name);
	add_number(environment, &count, "ROTA_TASK_ID", global);
	add_number(environment, &count, "SLURM_PROCID", global);
	add_number(environment, &count, "SLURM_LOCALID", substep_environment_local_rank(s, rank));
	add_number(environment, &count, "ROTA_NTASKS", total);
	add_number(environment, &count, "SLURM_NTASKS", total);
	add_number(environment, &count, "SLURM_NPROCS", total);
	add_number(environment, &count, "ROTA_CPUS_PER_TASK", s->spec->cpus_per_task);
	add_number(environment, &count, "SLURM_CPUS_PER_TASK", s->spec->cpus_per_task);
	if (s->share.cpus > 0)
		add_number(environment, &count, "ROTA_CPUS", s->share.cpus);
	else
		add_text(environment, &count, "ROTA_CPUS", getenv("ROTA_CPUS"));
	add_text(environment, &count, "ROTA_GRES", devices);
	add_text(environment, &count, "PWD", s->spec->cwd);
	free(devices);
	return environment;
}

void substep_environment_free(char **words, size_t borrowed)
{
	for (char **at = words + borrowed; *at; at++)
		free(*at);
	free(words);
}

static int64_t variable_number(const char *name)
{
	const char *text = getenv(name);
	return text ? strtoll(text, NULL, 10) : -1;
}

static const char *variable_text(const char *name)
{
	const char *text = getenv(name);
	return text ? text : "";
}

/* Returns the values of the symbols in the pattern of a file name. %s is the number of the sub-step, as in srun. */
static struct pattern_facts facts_of(const struct substep *s, int rank)
{
	return (struct pattern_facts){
		.job_id = variable_number("ROTA_JOB_ID"),
		.step_id = s->spec->part.number > 0 ? s->spec->part.number : s->number,
		.step_name = s->name,
		.job_name = variable_text("ROTA_JOB_NAME"),
		.user = variable_text("ROTA_USER"),
		.array = getenv("ROTA_ARRAY_INDEX") != NULL,
		.array_index = (int)variable_number("ROTA_ARRAY_INDEX"),
		.attempt = (int)variable_number("ROTA_ATTEMPT"),
		.node = getenv("ROTA_NODE"),
		.node_index = (int)variable_number("ROTA_NODE_INDEX"),
		.task = substep_environment_global_rank(s, rank),
	};
}

static char *expand_path(const struct substep *s, const char *pattern, int rank)
{
	struct pattern_facts facts = facts_of(s, rank);
	return pattern_path(pattern, &facts, s->spec->cwd);
}

/* Of all tasks on all nodes, is this task the first one that opens the file? */
static bool opens_first(const struct substep *s, const char *pattern, const char *path, int rank)
{
	if (substep_environment_global_rank(s, rank) == 0)
		return true;
	struct pattern_facts facts = facts_of(s, 0);
	facts.task = 0;
	char *first = pattern_path(pattern, &facts, s->spec->cwd);
	bool same = strcmp(first, path) == 0;
	free(first);
	return !same;
}

int substep_environment_file(const struct substep *s, const char *pattern, int rank, bool output, struct err *e)
{
	char *path = expand_path(s, pattern, rank);
	int flags = O_RDONLY;
	if (output)
		flags = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | (opens_first(s, pattern, path, rank) ? O_TRUNC : 0);
	int fd = open(path, flags | O_NOCTTY | O_CLOEXEC, 0666);
	/* Opened without blocking: an output FIFO without a reader is an error, and the step manager waits for nobody. */
	if (fd < 0)
		err_sys(e, "could not open %s file \"%s\"", output ? "output" : "input", path);
	else if (output)
		fcntl(fd, F_SETFL, O_APPEND);
	free(path);
	return fd;
}
