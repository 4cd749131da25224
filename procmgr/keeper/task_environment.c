/* task_environment.c - makes the environment of tasks and hooks.
 *
 * Called by: the keeper before each start.
 * Invariants:
 * - Each variable occurs once. Rota's values replace those that the user exported.
 * - No variable of the user's environment reaches a site hook.
 * - Rota's variables are in the table task_variable.def, from which the manual's list is made too. */
#include "procmgr/keeper/task_environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arguments.h"
#include "lib/err.h"
#include "lib/hosts.h"
#include "lib/pattern.h"
#include "procmgr/keeper/devices.h"

char *task_scratch(const struct order *order)
{
	struct fields *f = arguments_parse(order->spec.transfers);
	struct pattern_facts facts = {.job_id = order->job_id,
				      .user = order->user,
				      .node = order->node,
				      .array_index = -1,
				      .node_index = -1,
				      .task = -1};
	char *path = f && *fields_value(f, 0) ? pattern_expand(fields_value(f, 0), &facts) : NULL;
	fields_free(f);
	return path;
}

static const char path_otherwise[] = "PATH=/usr/local/bin:/usr/bin:/bin";
static const char site_path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct list {
	char **items;
	int count, capacity;
	int sorted; /* number of items, from the first, that are sorted by name */
};

static char *text_or_none(const char *text)
{
	return *text ? xstrdup(text) : NULL;
}

static char *number_text(int64_t n)
{
	return xasprintf("%" PRId64, n);
}

#define VALUE_NUMBER(name, expression)                                                                                           \
	static char *value_##name(const struct task_facts *f)                                                                    \
	{                                                                                                                        \
		return number_text(expression);                                                                                  \
	}
#define VALUE_NUMBER_IF(name, condition, expression)                                                                             \
	static char *value_##name(const struct task_facts *f)                                                                    \
	{                                                                                                                        \
		return (condition) ? number_text(expression) : NULL;                                                             \
	}
#define VALUE_TEXT(name, expression)                                                                                             \
	static char *value_##name(const struct task_facts *f)                                                                    \
	{                                                                                                                        \
		return text_or_none(expression);                                                                                 \
	}

/* Is the step an element of an array whose range of indices is known? Launch requests of an earlier version do not have the
 * range. */
static bool is_range(const struct order *order)
{
	return order->array_index >= 0 && order->spec.array_step > 0;
}

VALUE_NUMBER(job_id, f->order->job_id)
VALUE_NUMBER(step_id, f->order->step_id)
VALUE_NUMBER_IF(task_step_id, f->order->spec.per_task, f->order->step_id)
VALUE_NUMBER(attempt, f->order->attempt)
VALUE_NUMBER_IF(restarts, f->order->attempt > 1, f->order->attempt - 1)
VALUE_NUMBER(node_count, f->order->node_count)
VALUE_NUMBER(node_index, f->order->node_index)
VALUE_NUMBER(task_count, f->order->task_count)
VALUE_NUMBER(tasks_here, f->order->tasks)
VALUE_NUMBER_IF(rank, f->rank >= 0, f->rank)
VALUE_NUMBER_IF(local_rank, f->rank >= 0, f->rank - f->order->first_task)
VALUE_NUMBER_IF(array_index, f->order->array_index >= 0, f->order->array_index)
VALUE_NUMBER_IF(array_size, f->order->array_index >= 0, f->order->array_size)
VALUE_NUMBER_IF(array_min, is_range(f->order), f->order->spec.array_min)
VALUE_NUMBER_IF(array_max, is_range(f->order), f->order->spec.array_max)
VALUE_NUMBER_IF(array_step, is_range(f->order), f->order->spec.array_step)
VALUE_NUMBER_IF(array_job_id, f->order->array_index >= 0, f->order->job_id)
VALUE_NUMBER(cpus, f->order->cpus)
VALUE_NUMBER(cpus_per_task, f->order->spec.cpus_per_task)
VALUE_NUMBER_IF(mem_mb, f->order->mem_mb > 0, f->order->mem_mb)
VALUE_NUMBER(uid, f->order->uid)
VALUE_NUMBER(gid, f->order->gid)
VALUE_NUMBER_IF(time_limit, f->order->time_limit_s > 0, f->order->time_limit_s)
VALUE_TEXT(job_name, f->order->spec.job_name)
VALUE_TEXT(step_name, f->order->spec.step_name)
VALUE_TEXT(step_label, f->order->step_label)
VALUE_TEXT(node, f->order->node)

/* rota-checkpoint sets the variables of checkpoints. They are removed here, so that none is inherited from another job. */
static char *value_checkpoint(const struct task_facts *f)
{
	(void)f;
	return NULL;
}

static char *value_nodes(const struct task_facts *f)
{
	return *f->order->nodes ? hosts_expand(f->order->nodes) : text_or_none(f->order->node);
}

static char *value_nodes_folded(const struct task_facts *f)
{
	char *names = value_nodes(f), *folded = names ? hosts_fold(names) : NULL;
	free(names);
	return folded;
}

static char *value_task_nodes_folded(const struct task_facts *f)
{
	return f->order->spec.per_task ? value_nodes_folded(f) : NULL;
}

VALUE_TEXT(failing, f->order->failing)
VALUE_NUMBER_IF(no_kill, f->order->spec.no_kill, 1)
VALUE_NUMBER_IF(replace_failed, f->order->spec.replace_failed, 1)

static char *value_gres(const struct task_facts *f)
{
	char *held = f->without_gpus ? devices_without(f->order->gres, "gpu") : NULL,
	     *value = text_or_none(held ? held : f->order->gres);
	free(held);
	return value;
}

VALUE_TEXT(workdir, f->order->spec.workdir)
VALUE_TEXT(user, f->order->user)
VALUE_TEXT(account, f->order->spec.account)
VALUE_TEXT(partition, f->order->partition ? f->order->partition : f->order->spec.partition)
VALUE_TEXT(submit_dir, f->order->spec.submit_dir ? f->order->spec.submit_dir : f->order->spec.workdir)
VALUE_TEXT(submit_host, f->submit_host ? f->submit_host : "")
VALUE_TEXT(group, f->order->spec.group)
VALUE_TEXT(cluster, f->cluster)
VALUE_TEXT(tag, f->tag)
VALUE_TEXT(home, f->owner->home)
VALUE_TEXT(node_file, f->node_file ? f->node_file : "")
VALUE_TEXT(step_socket, f->step_socket ? f->step_socket : "")

VALUE_TEXT(tmpdir, f->tmpdir ? f->tmpdir : "")
VALUE_TEXT(credentials, f->credentials ? f->credentials->folder : "")

static char *value_scratch(const struct task_facts *f)
{
	return f->order->spec.transfers ? task_scratch(f->order) : NULL;
}

static char *value_pbs_environment(const struct task_facts *f)
{
	(void)f;
	return xstrdup("PBS_BATCH");
}

static char *value_pbs_job_id(const struct task_facts *f)
{
	return f->order->array_index < 0 ? number_text(f->order->job_id)
					 : xasprintf("%" PRId64 "[%d]", f->order->job_id, f->order->array_index);
}

/* burst_buffer.lua may stage the data of each element of an array under a number of its own. That number is then the first of the
 * job's variables. */
static char *value_slurm_job_id(const struct task_facts *f)
{
	static const char name[] = "SLURM_JOB_ID=";
	bool may = f->order->array_index >= 0 && f->order->variables;
	struct fields *given = may ? arguments_parse(f->order->variables) : NULL;
	const char *first = given && fields_count(given) > 0 ? fields_value(given, 0) : "";
	bool own = strncmp(first, name, sizeof name - 1) == 0;
	char *value = own ? xstrdup(first + sizeof name - 1) : number_text(f->order->job_id);
	fields_free(given);
	return value;
}

static char *value_gpus(const struct task_facts *f)
{
	return f->without_gpus ? NULL : devices_of_gres(f->order->gres, "gpu");
}

static char *value_tasks_per_node(const struct task_facts *f)
{
	return f->order->tasks_per_node ? xstrdup(f->order->tasks_per_node) : number_text(f->order->tasks);
}

static char *value_cpus_per_node(const struct task_facts *f)
{
	return f->order->cpus_per_node ? xstrdup(f->order->cpus_per_node) : number_text(f->order->cpus);
}

static const struct {
	const char *name;
	char *(*value)(const struct task_facts *f);
} variables[] = {
#define TASK_VARIABLE(name, value, help) {#name, value_##value},
#include "procmgr/keeper/task_variable.def"
#undef TASK_VARIABLE
};

enum { VARIABLE_COUNT = sizeof variables / sizeof *variables };

static void list_add(struct list *l, char *item)
{
	if (l->count + 1 >= l->capacity) {
		l->capacity = l->capacity ? 2 * l->capacity : 128;
		l->items = xrealloc(l->items, (unsigned long)l->capacity * sizeof *l->items);
	}
	l->items[l->count++] = item;
	l->items[l->count] = NULL;
}

/* Compare the name of an item "NAME=value" with `name`. */
static int compare_name(const char *item, const char *name)
{
	while (*item == *name && *item != '=')
		item++, name++;
	return (*item == '=' ? 0 : *item) - (*name == '=' ? 0 : *name);
}

/* Search the sorted items for a variable. Returns its index, or -1 if there is none. */
static int list_find_sorted(const struct list *l, const char *name)
{
	int low = 0, high = l->sorted;
	while (low < high) {
		int middle = (low + high) / 2, order = compare_name(l->items[middle], name);
		if (order == 0)
			return middle;
		*(order < 0 ? &low : &high) = middle + (order < 0);
	}
	return -1;
}

static int list_find(const struct list *l, const char *name)
{
	int found = list_find_sorted(l, name), at = l->sorted;
	if (found >= 0)
		return found;
	while (at < l->count && compare_name(l->items[at], name) != 0)
		at++;
	return at < l->count ? at : -1;
}

static char *join_variable(const char *name, const char *value)
{
	size_t length = strlen(name), size = strlen(value) + 1;
	char *both = xmalloc(length + 1 + size), *end = mempcpy(both, name, length);
	*end++ = '=';
	memcpy(end, value, size);
	return both;
}

/* Set the variable at index `at`, or add it if `at` is -1. If `value` is NULL, remove the variable. Frees `value`. */
static void list_put(struct list *l, int at, const char *name, char *value)
{
	if (at >= 0)
		free(l->items[at]);
	if (at >= 0 && value) {
		l->items[at] = join_variable(name, value);
	} else if (at >= 0) {
		l->count--;
		l->sorted -= at < l->sorted;
		memmove(&l->items[at], &l->items[at + 1], (size_t)(l->count + 1 - at) * sizeof *l->items);
	} else if (value) {
		list_add(l, join_variable(name, value));
	}
	free(value);
}

static void list_set(struct list *l, const char *name, char *value)
{
	list_put(l, list_find(l, name), name, value);
}

/* Add Rota's variables to the list. The table has each name once, so only variables of the user can be replaced. */
static void add_variables(struct list *l, const struct task_facts *facts)
{
	for (int i = 0; i < VARIABLE_COUNT; i++)
		list_put(l, list_find_sorted(l, variables[i].name), variables[i].name, variables[i].value(facts));
}

static int compare_names(const void *a, const void *b)
{
	return compare_name(*(char *const *)a, *(char *const *)b);
}

/* Sort the variables by name, and keep one of each name. */
static void list_unique(struct list *l)
{
	int kept = 0;
	if (l->count > 0)
		qsort(l->items, (size_t)l->count, sizeof *l->items, compare_names);
	for (int i = 0; i < l->count; i++) {
		if (kept > 0 && compare_names(&l->items[kept - 1], &l->items[i]) == 0)
			free(l->items[i]);
		else
			l->items[kept++] = l->items[i];
	}
	l->count = l->sorted = kept;
	if (l->items)
		l->items[kept] = NULL;
}

static void add_blob(struct list *l, const char *blob, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t length = strnlen(blob + at, size - at);
		const char *sign = memchr(blob + at, '=', length);
		if (sign && sign != blob + at)
			list_add(l, xstrndup(blob + at, length));
		at += length + 1;
	}
	list_unique(l);
}

/* Returns the host name that the submitting client has exported, malloc'ed, or NULL if there is none. */
static char *find_submit_host(const struct list *l)
{
	int at = list_find(l, "ROTA_SUBMIT_HOST");
	return at < 0 ? NULL : xstrdup(strchr(l->items[at], '=') + 1);
}

/* Add the variables that the site's burst_buffer.lua has set for the job; they replace those of the user. */
static void add_job_variables(struct list *l, const char *given)
{
	struct fields *f = given ? arguments_parse(given) : NULL;
	for (int i = 0; f && i < fields_count(f); i++) {
		const char *text = fields_value(f, i), *sign = strchr(text, '=');
		char *name = xstrndup(text, (size_t)(sign - text));
		list_set(l, name, xstrdup(sign + 1));
		free(name);
	}
	if (f)
		list_unique(l);
	fields_free(f);
}

/* Set the variable by which programs find a credential. If the step has no such credential (`file` is NULL), the user's exported
 * variable stays. */
static void add_credential(struct list *l, const char *name, const char *before, const char *folder, const char *file)
{
	if (file)
		list_set(l, name, xasprintf("%s%s/%s", before, folder, file));
}

static void add_credentials(struct list *l, const struct task_credentials *c)
{
	add_credential(l, "KRB5CCNAME", "FILE:", c->folder, c->krb5);
	add_credential(l, "X509_USER_PROXY", "", c->folder, c->x509);
	add_credential(l, "BEARER_TOKEN_FILE", "", c->folder, c->token);
	add_credential(l, "SSH_AUTH_SOCK", "", c->folder, c->agent);
}

/* mpirun of MPICH and Intel MPI starts srun if SLURM_JOB_ID is set, and waits for ever if there is no srun. Unless the user has
 * set how mpirun starts processes, have it fork them for a step with one node, and use ssh for one with several. */
static void add_mpi_launcher(struct list *l, const struct order *order)
{
	static const char *const names[] = {"HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP"};
	if (list_find(l, "HYDRA_LAUNCHER") >= 0)
		return;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (list_find(l, names[i]) < 0)
			list_add(l, join_variable(names[i], order->node_count > 1 ? "ssh" : "fork"));
}

char **task_environment(const char *blob, size_t size, const struct task_facts *facts)
{
	struct list l = {NULL, 0, 0, 0};
	add_blob(&l, blob, size);
	struct task_facts all = *facts;
	char *host = find_submit_host(&l);
	all.submit_host = host;
	add_job_variables(&l, facts->order->variables);
	if (list_find(&l, "PATH") < 0)
		list_add(&l, xstrdup(path_otherwise));
	list_set(&l, "HOME", xstrdup(facts->owner->home));
	list_set(&l, "USER", xstrdup(facts->owner->user));
	list_set(&l, "LOGNAME", xstrdup(facts->owner->user));
	list_set(&l, "SHELL", xstrdup(facts->owner->shell));
	add_variables(&l, &all);
	add_mpi_launcher(&l, facts->order);
	free(host);
	if (facts->tmpdir) /* without --tmpdir, the user's exported TMPDIR stays */
		list_set(&l, "TMPDIR", xstrdup(facts->tmpdir));
	if (facts->credentials)
		add_credentials(&l, facts->credentials);
	char *gpus = value_gpus(facts);
	if (gpus)
		list_set(&l, "CUDA_VISIBLE_DEVICES", gpus);
	return l.items;
}

char **task_site_environment(const struct task_facts *facts)
{
	struct list l = {NULL, 0, 0, 0};
	list_add(&l, xstrdup(site_path));
	add_variables(&l, facts);
	return l.items;
}

void task_environment_free(char **environment)
{
	for (char **item = environment; item && *item; item++)
		xfree_wiped(*item, strlen(*item));
	free(environment);
}
