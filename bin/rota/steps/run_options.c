/* run_options.c - the options of `rota run` (run_options.h).
 *
 * Called by: verb/run.c.
 * Invariants:
 * - A value has the same form as for the option of this name of `rota submit`. */
#include "bin/rota/steps/run_options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option.h"
#include "jobmgr/translate/option_value.h"
#include "lib/hosts.h"
#include "lib/text.h"

enum { PRIORITY_MOST = 1000000, TASK_MOST = 1 << 20, SESSION_MOST = 64 };

static bool text_is_number(const char *text, long lowest, long highest, long *number)
{
	char *end;

	errno = 0;
	*number = strtol(text, &end, 10);
	return !errno && end != text && !*end && *number >= lowest && *number <= highest;
}

/* Parse a number. The error names the option. */
static bool options_number(const char *option, const char *value, long lowest, long highest, int *number, struct err *e)
{
	long n;

	if (!text_is_number(value, lowest, highest, &n))
		return err_set(e, "--%s: \"%s\" is not a number from %ld to %ld", option, value, lowest, highest);
	*number = (int)n;
	return true;
}

/* Parse a value as the option `id` of `rota submit`. Returns it as JSON; NULL with an error. */
static json_t *options_value(enum option_id id, const char *value, struct err *e)
{
	struct option_context context = {.items_left = 1000};
	const struct option_row *row = option_row(id);
	struct err cause = {0};
	json_t *parsed = option_value(row, value, &context, &cause);

	if (!parsed)
		err_set(e, "--%s: %s", row->name, cause.message);
	return parsed;
}

static bool options_amount(enum option_id id, const char *value, long *amount, struct err *e)
{
	json_t *parsed = options_value(id, value, e);

	*amount = (long)json_integer_value(parsed);
	json_decref(parsed);
	return parsed != NULL;
}

static bool options_signal(const char *value, int *signal, struct err *e)
{
	json_t *parsed = options_value(OPTION_ID_NOTIFY, value, e);

	*signal = (int)json_integer_value(parsed);
	json_decref(parsed);
	return parsed != NULL;
}

/* Set *text to the value if the option `id` of `rota submit` accepts it. Returns false with an error if not. */
static bool options_text(enum option_id id, const char *value, const char **text, struct err *e)
{
	json_t *parsed = options_value(id, value, e);

	json_decref(parsed);
	*text = value;
	return parsed != NULL;
}

/* Parse the value of --output or --error: "all", "none", the number of a task, or a path. */
static bool options_stream(const char *option, const char *value, const char **path, int *task, struct err *e)
{
	long number;

	*task = RUN_ALL_TASKS;
	*path = NULL;
	if (!*value)
		return err_set(e, "--%s: name a file, a task, all or none", option);
	if (!strcmp(value, "all"))
		return true;
	if (text_is_number(value, 0, TASK_MOST, &number))
		*task = (int)number;
	else
		*path = value;
	return true;
}

bool run_options_session_is_valid(const char *name)
{
	static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t length = strlen(name);

	return length > 0 && length <= SESSION_MOST && strspn(name, known) == length && strchr(known, *name) - known < 52;
}

static bool options_idle_timeout(const char *value, long *seconds, struct err *e)
{
	json_t *parsed = options_value(OPTION_ID_TIME, value, e);

	if (!parsed) {
		struct err cause = *e;
		return err_set(e, "--idle-timeout: %s", cause.message + strlen("--time: "));
	}
	*seconds = (long)json_integer_value(parsed);
	json_decref(parsed);
	return *seconds > 0 || err_set(e, "--idle-timeout: the time must be longer than 0");
}

static bool options_input(struct run_options *o, const char *value, struct err *e)
{
	long number;

	bool is_task = text_is_number(value, 0, TASK_MOST, &number);

	if (!*value)
		return err_set(e, "--input: name a file, a task, all or none");
	o->has_input = true;
	o->run.input_task = is_task ? (int)number + 1 : 0;
	o->run.input = is_task || !strcmp(value, "all") ? "client" : value;
	return true;
}

static bool options_distribution(const char *value, struct err *e)
{
	long plane;

	return !strcmp(value, "block") || !strcmp(value, "cyclic") ||
	       (!strncmp(value, "plane=", 6) && value[6] >= '1' && value[6] <= '9' &&
		text_is_number(value + 6, 1, TASK_MOST, &plane)) ||
	       err_set(e, "--distribution: \"%s\" is neither block, cyclic nor plane=N, such as plane=2", value);
}

static bool options_cpu_bind(struct run_options *o, const char *value, struct err *e)
{
	static const char *const words[] = {"none", "threads", "cores", "sockets"};

	o->run.cpu_bind = value;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(value, words[i]))
			return true;
	if (!strncmp(value, "map_cpu:", 8))
		o->run.cpu_bind = xasprintf("map:%s", value + 8);
	if (!strncmp(o->run.cpu_bind, "map:", 4) && o->run.cpu_bind[4] &&
	    !o->run.cpu_bind[4 + strspn(o->run.cpu_bind + 4, "0123456789,-")])
		return true;
	return err_set(e, "--cpu-bind: \"%s\" is not none, threads, cores, sockets or map:LIST", value);
}

/* Take an option about the resources of the sub-step. Sets *known to false if `id` is no such option. */
static bool options_take_need(struct run_options *o, int id, const char *value, bool *known, struct err *e)
{
	struct rota_run *run = &o->run;

	switch (id) {
	case 'n':
		o->has_ntasks = true;
		return options_number("ntasks", value, 1, TASK_MOST, &run->ntasks, e);
	case 'c':
		return options_number("cpus-per-task", value, 1, TASK_MOST, &run->cpus_per_task, e);
	case 'N':
		return options_number("nodes", value, 1, TASK_MOST, &run->nodes, e);
	case RUN_NTASKS_PER_NODE:
		return options_number("ntasks-per-node", value, 1, TASK_MOST, &run->ntasks_per_node, e);
	case 'w':
		run->nodelist = value;
		return hosts_count(value) > 0 ||
		       err_set(e, "--nodelist: \"%s\" is not a list of nodes such as n1,n2 or n[1-4]", value);
	case 'x':
		run->exclude = value;
		return hosts_count(value) > 0 ||
		       err_set(e, "--exclude: \"%s\" is not a list of nodes such as n1,n2 or n[1-4]", value);
	case 'm':
		run->distribution = value;
		return options_distribution(value, e);
	case RUN_MEM:
		return options_amount(OPTION_ID_MEM, value, &run->mem_mb, e);
	case RUN_GRES:
		return options_text(OPTION_ID_GRES, value, &run->gres, e);
	case RUN_EXCLUSIVE:
		return run->exclusive = true;
	case RUN_OVERLAP:
		return run->overlap = true;
	case RUN_CPU_BIND:
		return options_cpu_bind(o, value, e);
	case 't':
		return options_amount(OPTION_ID_TIME, value, &run->time_s, e);
	default:
		*known = false;
		return true;
	}
}

/* Take an option about input, output or the command line. Sets *known to false if `id` is no such option. */
static bool options_take_file(struct run_options *o, int id, const char *value, bool *known, struct err *e)
{
	switch (id) {
	case 'o':
		o->has_output = true;
		return options_stream("output", value, &o->run.output, &o->output_task, e);
	case 'e':
		o->has_error = true;
		return options_stream("error", value, &o->run.error, &o->error_task, e);
	case 'i':
		return options_input(o, value, e);
	case 'l':
		return o->label = true;
	case 'u':
		return o->unbuffered = true;
	case 'D':
		return options_text(OPTION_ID_WORKDIR, value, &o->run.cwd, e);
	case RUN_EXPORT:
		return options_text(OPTION_ID_EXPORT, value, &o->export, e);
	case RUN_MULTI_PROG:
		return o->multi_prog = true;
	case 'p':
		return options_text(OPTION_ID_PARTITION, value, &o->partition, e);
	case 'A':
		return options_text(OPTION_ID_ACCOUNT, value, &o->account, e);
	case RUN_QOS:
		return options_text(OPTION_ID_QOS, value, &o->qos, e);
	case RUN_BB:
		return options_text(OPTION_ID_BB, value, &o->bb, e);
	case RUN_BBF:
		o->bbf = value;
		return true;
	case RUN_HOLD:
		return o->hold = true;
	case RUN_PTY:
		return o->pty = true;
	case RUN_SESSION:
		o->run.session = value;
		return run_options_session_is_valid(value) ||
		       err_set(e, "--session: \"%s\" must begin with a letter and have at most 64 letters, digits, _, . and -",
			       value);
	case RUN_IDLE_TIMEOUT:
		return options_idle_timeout(value, &o->run.idle_timeout_s, e);
	case RUN_KILL_ON_HANGUP:
		return o->kill_on_hangup = true;
	case RUN_EACH:
		return o->each = true;
	case 'a':
		o->arg_file = value;
		return true;
	case RUN_FILE:
		o->file = value;
		return true;
	case RUN_RESUME:
		o->resume_log = value;
		return o->resume = true;
	default:
		*known = false;
		return true;
	}
}

bool run_options_take(struct run_options *o, int id, const char *value, struct err *e)
{
	struct rota_run *run = &o->run;
	bool known = true, good = options_take_need(o, id, value, &known, e);

	if (known)
		return good;
	known = true;
	good = options_take_file(o, id, value, &known, e);
	if (known)
		return good;
	switch (id) {
	case 'J':
		run->name = value;
		return *value || err_set(e, "--name: the name is empty");
	case 'K':
		return run->kill_on_bad_exit = true;
	case RUN_DETACH:
		return run->detach = true;
	case RUN_AFTER:
		run->after = value;
		return true;
	case RUN_PRIORITY:
		return options_number("priority", value, -PRIORITY_MOST, PRIORITY_MOST, &run->priority, e);
	case 'W':
		return options_number("wait", value, 0, INT_MAX, &o->wait_s, e);
	case RUN_RETRY:
		return options_number("retry", value, 0, PRIORITY_MOST, &run->retry, e);
	case RUN_NOTIFY:
		return options_signal(value, &run->notify, e);
	default:
		return true;
	}
}

bool run_options_is_for_file(int id)
{
	return id == RUN_FILE || id == RUN_RESUME || id == RUN_EXPORT || id == 'l' || id == 'u' || id == 'D';
}

bool run_options_finish(struct run_options *o, struct err *e)
{
	if (o->arg_file && !o->each)
		return err_set(e, "--arg-file needs --each");
	if (o->resume && !o->each && !o->file)
		return err_set(e, "--resume needs --each or --file");
	if (o->each && (o->multi_prog || o->run.detach))
		return err_set(e, "--each cannot be combined with --%s", o->multi_prog ? "multi-prog" : "detach");
	o->run.wait_s = o->wait_s;
	if (o->each && o->run.input && !strcmp(o->run.input, "client"))
		return err_set(e, "--each cannot be combined with --input=%s; use --input=FILE",
			       o->run.input_task ? "TASK" : "all");
	/* Without --ntasks, the number of tasks may follow from the number of nodes, and is then not known here. */
	bool knows_tasks = o->run.ntasks > 0 || (o->run.nodes == 0 && !o->run.nodelist && o->run.ntasks_per_node == 0);
	if (!o->multi_prog && knows_tasks && o->run.input_task > (o->run.ntasks > 0 ? o->run.ntasks : 1))
		return err_set(e, "--input: there is no task %d; name one from 0 to %d", o->run.input_task - 1,
			       (o->run.ntasks > 0 ? o->run.ntasks : 1) - 1);
	if (o->pty && (o->each || o->multi_prog || o->run.ntasks > 1 || o->label || o->run.output || o->run.error))
		return err_set(e, "--pty is for one task whose output comes here");
	if (o->kill_on_hangup && (!o->pty || o->run.detach))
		return err_set(e, o->pty ? "--kill-on-hangup cannot be combined with --detach" : "--kill-on-hangup needs --pty");
	if ((o->run.session || o->run.idle_timeout_s) && !o->pty)
		return err_set(e, "--%s needs --pty", o->run.session ? "session" : "idle-timeout");
	if (o->bb && o->bbf)
		return err_set(e, "--bb cannot be combined with --bbf; give all directives in one of them");
	if (o->run.exclusive && o->run.overlap)
		return err_set(e, "--exclusive cannot be combined with --overlap");
	/* As in srun, standard error goes where the output goes, unless --error says otherwise. */
	if (o->has_output && !o->has_error) {
		o->error_task = o->output_task;
		if (o->run.output)
			o->run.error = !strcmp(o->run.output, "none") ? "none" : "output";
	}
	return true;
}

static bool text_is_utf8(const char *text)
{
	for (size_t size; *text; text += size)
		if (!(size = text_character_size(text)))
			return false;
	return true;
}

static bool variable_is_of_job(const char *variable)
{
	return !strncmp(variable, "ROTA_", 5) || !strncmp(variable, "SLURM_", 6) || !strncmp(variable, "PBS_", 4);
}

static const char *variable_find(char *const *environment, const char *name, size_t length)
{
	for (; *environment; environment++)
		if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
			return *environment;
	return NULL;
}

/* Add a variable to the list, or replace the one of the same name. */
static void list_put(char **list, size_t *count, const char *variable)
{
	size_t length = strcspn(variable, "="), i = 0;

	if (!text_is_utf8(variable) || !variable[length] || !length)
		return;
	while (i < *count && (strncmp(list[i], variable, length) || list[i][length] != '='))
		i++;
	list[i] = (char *)variable;
	*count += i == *count;
}

char **run_options_environment(const char *export, char *const *environment)
{
	bool all = !export;
	size_t room = 0, count = 0, items = 1;
	struct option_export_item item;
	struct err e = {0};
	char **list;

	while (environment[room])
		room++;
	for (const char *c = export ? export : ""; *c; c++)
		items += *c == ',';
	list = xcalloc(room + items + 1, sizeof(*list));
	for (const char *rest = export; rest && option_export_next(&rest, &item, &e);)
		all |= !item.value && !strcmp(item.name, "ALL");
	for (size_t i = 0; i < room; i++)
		if ((all || variable_is_of_job(environment[i])) && text_is_utf8(environment[i]) && strchr(environment[i], '='))
			list[count++] = environment[i];
	for (const char *rest = export; rest && option_export_next(&rest, &item, &e);) {
		const char *known = variable_find(environment, item.name, strlen(item.name));

		if (item.value)
			list_put(list, &count, xasprintf("%s=%s", item.name, item.value));
		else if (known)
			list_put(list, &count, known);
	}
	return list;
}
