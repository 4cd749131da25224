/* keeper_task.c - starts and reaps the tasks of a step on this node.
 *
 * Called by: keeper.c and, through the handlers, the loop.
 * Invariants:
 * - The record `run` is in the journal before any record `task`.
 * - A task whose program never started has the cause `launch`, and ends the other tasks. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/arguments.h"
#include "lib/clock.h"
#include "lib/hosts.h"
#include "lib/log.h"
#include "lib/pattern.h"
#include "procmgr/keeper/keeper_parts.h"

struct streams {
	char *input, *output, *error; /* paths of a task's files; `input` and `error` may be NULL */
};

struct pattern_facts keeper_task_facts(const struct keeper *k, int rank)
{
	const struct order *o = k->order;
	return (struct pattern_facts){
		.job_id = o->job_id,
		.step_id = o->step_id,
		.step_name = o->spec.step_name,
		.job_name = o->spec.job_name,
		.user = o->user,
		.array = o->array_index >= 0,
		.array_index = o->array_index,
		.attempt = o->attempt,
		.append = o->spec.append,
		.node = o->node,
		.node_index = o->node_index,
		.task = rank,
	};
}

static struct streams streams_for(const struct keeper *k, const struct pattern_facts *facts)
{
	const struct order_spec *spec = &k->order->spec;
	return (struct streams){
		.input = *spec->input ? pattern_path(spec->input, facts, spec->workdir) : NULL,
		.output = pattern_output(spec->output, facts, spec->workdir),
		.error = *spec->error ? pattern_path(spec->error, facts, spec->workdir) : NULL,
	};
}

static void streams_free(struct streams *s)
{
	free(s->input);
	free(s->output);
	free(s->error);
}

/* Is this task the first of the step, on any node, to open the output file `path`? */
static bool opens_first(const struct keeper *k, int rank, const char *path, char *(*path_of)(const struct keeper *, int, bool))
{
	bool first = true;
	char *other;
	for (int i = k->order->first_task; first && i < rank; i++) {
		other = path_of(k, i, false);
		first = strcmp(other, path) != 0;
		free(other);
	}
	if (first && k->order->node_index > 0) {
		other = path_of(k, 0, true);
		first = strcmp(other, path) != 0;
		free(other);
	}
	return first;
}

/* Returns the values for patterns in file paths (keeper_task_facts) of another task on this node, or of the step's first task if
 * `head`. */
static struct pattern_facts facts_of_other(const struct keeper *k, int rank, bool head, char node[HOSTS_NAME_SIZE])
{
	struct pattern_facts facts = keeper_task_facts(k, rank);
	if (head) {
		facts.node = hosts_at(k->order->nodes, 0, node) ? node : k->order->node;
		facts.node_index = 0;
	}
	return facts;
}

static char *output_of(const struct keeper *k, int rank, bool head)
{
	char node[HOSTS_NAME_SIZE];
	struct pattern_facts facts = facts_of_other(k, rank, head, node);
	return pattern_output(k->order->spec.output, &facts, k->order->spec.workdir);
}

static char *error_of(const struct keeper *k, int rank, bool head)
{
	char node[HOSTS_NAME_SIZE];
	struct pattern_facts facts = facts_of_other(k, rank, head, node);
	return pattern_path(k->order->spec.error, &facts, k->order->spec.workdir);
}

static void fill_start(const struct keeper *k, struct task_start *start, const struct streams *streams, int rank)
{
	bool fresh = !k->order->spec.append && !(k->cleared && rank == k->order->first_task);
	keeper_place_process(k, start);
	start->input = streams->input;
	start->output = streams->output;
	start->error = streams->error;
	start->truncate_output = fresh && opens_first(k, rank, streams->output, output_of);
	start->truncate_error = fresh && streams->error && opens_first(k, rank, streams->error, error_of);
}

/* Arguments, streams and environment of a task. The task's process shares the keeper's memory and reads them until it executes the
 * program, so they stay unchanged until then. */
struct command {
	char **argv, first[PATH_MAX];
	struct fields *arguments;   /* NULL if the script has no arguments */
	struct keeper_mover *mover; /* transfer of data that the step makes; NULL: none */
	char **checkpoint;	    /* rota-checkpoint and its arguments; NULL: it does not start the program */
	struct streams streams;
	char **environment;
};

static void command_free(struct command *c)
{
	task_environment_free(c->environment);
	streams_free(&c->streams);
	fields_free(c->arguments);
	keeper_mover_free(c->mover);
	free(c->checkpoint);
	free(c->argv);
	free(c);
}

/* Choose a task's program and its arguments. A '-' before the name of the owner's shell makes it a login shell. */
static const char *choose_program(const struct keeper *k, struct command *c)
{
	const char *shell = k->order->spec.shell, *path = *shell ? shell : k->script_path, *slash;
	c->arguments = k->order->spec.arguments ? arguments_parse(k->order->spec.arguments) : NULL;
	int count = 0, arguments = c->arguments ? fields_count(c->arguments) : 0;
	c->argv = xcalloc(3 + (unsigned long)arguments, sizeof *c->argv);
	c->argv[count++] = (char *)path;
	if (*shell)
		c->argv[count++] = k->script_path;
	for (int i = 0; i < arguments; i++)
		c->argv[count++] = (char *)fields_value(c->arguments, i);
	if (strcmp(shell, "login") == 0) {
		path = k->owner.shell;
		slash = strrchr(path, '/');
		snprintf(c->first, sizeof c->first, "-%s", slash ? slash + 1 : path);
		c->argv[0] = c->first;
	}
	return path;
}

/* Choose what a task starts: a program of the user, or rota-mover if the step is a transfer. */
static bool choose_start(struct keeper *k, struct command *c, struct task_start *start, struct err *e)
{
	bool is_transfer = strcmp(k->order->spec.shell, "mover") == 0;
	c->argv = NULL;
	c->arguments = NULL;
	c->checkpoint = NULL;
	c->mover = is_transfer ? keeper_mover_new(k, "task", e) : NULL;
	if (is_transfer && !c->mover)
		return false;
	start->path = is_transfer ? keeper_mover_argv(c->mover)[0] : choose_program(k, c);
	start->argv = is_transfer ? keeper_mover_argv(c->mover) : c->argv;
	start->environment = c->environment;
	start->by_env = k->by_env && start->path == k->script_path;
	if (k->checkpoint) {
		start->may_restore = keeper_checkpoint_may_restore(k, start->path, c->argv);
		start->argv = c->checkpoint = keeper_checkpoint_argv(k, start->path, c->argv);
		start->path = c->checkpoint[0];
	}
	return true;
}

static bool start_task(struct keeper *k, struct keeper_task *t, struct err *e)
{
	struct pattern_facts pattern = keeper_task_facts(k, t->rank);
	struct task_facts facts = keeper_place_facts(k, t->rank);
	facts.credentials = k->delivered;
	facts.tmpdir = k->tmpdir;
	facts.step_socket = k->step_path;
	struct command *c = xmalloc(sizeof *c);
	c->streams = streams_for(k, &pattern);
	c->environment = task_environment(k->environment->bytes, k->environment->size, &facts);
	struct task_start start = {0};
	bool in_use;
	if (!choose_start(k, c, &start, e)) {
		command_free(c);
		return false;
	}
	fill_start(k, &start, &c->streams, t->rank);
	t->may_restore = start.may_restore;
	t->started_at = clock_boot_us();
	keeper_sweep_expect(k);
	t->pid = task_start(&start, &t->report, &in_use, e);
	t->counts = t->pid > 0 ? stats_open(t->pid) : -1;
	if (in_use)
		k->has_slow_start = true;
	else
		command_free(c);
	return t->pid > 0;
}

void keeper_task_clear(struct keeper *k)
{
	if (!k->order->spec.per_task || k->order->task_count == 1)
		return;
	struct pattern_facts pattern = keeper_task_facts(k, k->order->first_task);
	struct streams streams = streams_for(k, &pattern);
	char *argv[] = {(char *)"true", NULL}, *environment[] = {NULL};
	struct task_start start = {.path = "/bin/true", .argv = argv, .environment = environment};
	fill_start(k, &start, &streams, k->order->first_task);
	if (start.truncate_output || start.truncate_error)
		k->cleared = keeper_hook_unrecorded(k, &start, k->job->conf->node_hook_timeout);
	streams_free(&streams);
}

static void fail_start(struct keeper *k, bool node, const char *message)
{
	if (k->failure == KEEPER_FAILURE_NONE)
		snprintf(k->message, sizeof k->message, "%s", message);
	if (k->failure != KEEPER_FAILURE_NODE)
		k->failure = node ? KEEPER_FAILURE_NODE : KEEPER_FAILURE_LAUNCH;
	if (k->live > 0)
		keeper_sweep_kill(k);
}

void keeper_task_report(struct keeper *k, struct keeper_task *t)
{
	ssize_t size = read(t->report, t->error, sizeof t->error - 1);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	t->error[size > 0 ? size : 0] = '\0';
	close(t->report);
	t->report = -1;
	if (!*t->error && k->phase == KEEPER_PREPARING)
		keeper_record_run(k, t->pid, k->tasks[0].started_at);
}

void keeper_task_start(struct keeper *k)
{
	struct err e;
	int count = k->order->spec.per_task ? k->order->tasks : k->order->node_index == 0;
	k->tasks = xcalloc((unsigned long)count + 1, sizeof *k->tasks);
	for (int i = 0; i < count && k->failure == KEEPER_FAILURE_NONE; i++) {
		struct keeper_task *t = &k->tasks[i];
		t->rank = k->order->first_task + i;
		t->report = -1;
		k->task_count = i + 1;
		if (start_task(k, t, &e)) {
			k->live++;
			keeper_task_report(k, t); /* usually the program runs already, so read the report at once */
		} else {
			fail_start(k, true, e.message);
		}
	}
	keeper_control_start(k);
	keeper_checkpoint_begin(k);
	keeper_memory_begin(k);
	if (k->live > 0 && k->failure == KEEPER_FAILURE_NONE)
		keeper_record_delay(k);
}

/* Returns the cause for which the task ended, such as "exit", "signal" or "out_of_memory". */
static const char *task_cause(struct keeper *k, const struct keeper_task *t, int status)
{
	int64_t kills = k->figures.oom_kills;
	bool killed = WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 128 + SIGKILL;
	/* Read the count now, so that a later task does not get the cause of this task. */
	if (k->cgroups && (killed || k->live > 0))
		cgroups_read(k->cgroups, k->name, &k->figures);
	bool bad = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
	if (*t->error)
		return "launch";
	if (killed && k->figures.oom_kills > kills)
		return "out_of_memory";
	if (bad && *k->cause)
		return k->cause;
	return WIFSIGNALED(status) ? "signal" : "exit";
}

bool keeper_task_reap(struct keeper *k, pid_t pid)
{
	int i = 0;
	while (i < k->task_count && k->tasks[i].pid != pid)
		i++;
	if (i == k->task_count)
		return false;
	struct keeper_task *t = &k->tasks[i];
	if (t->report >= 0)
		keeper_task_report(k, t);
	int status = 0, ended_by = keeper_program_end(t);
	struct stats stats;
	if (!stats_reap(pid, t->counts, &status, &stats))
		die("could not reap task %ld of attempt %s", (long)pid, k->name);
	if (ended_by && WIFEXITED(status))
		status = W_EXITCODE(0, ended_by);
	stats_add(&k->used, &stats);
	t->pid = 0;
	k->live--;
	keeper_record_task(k, t, pid, status, task_cause(k, t, status), &stats);
	if (WIFSIGNALED(status) && k->signal == 0)
		k->signal = WTERMSIG(status);
	if (WIFEXITED(status) && WEXITSTATUS(status) > k->exit_code)
		k->exit_code = WEXITSTATUS(status);
	if (*t->error)
		fail_start(k, false, t->error);
	return true;
}
