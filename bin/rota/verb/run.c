/* run.c - `rota run` and `rota shell`: runs a sub-step inside the allocation of a step, or a sub-step for each line of a file or
 * each step of a script. Outside a job, it first submits a job that holds an allocation. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/steps/allocation.h"
#include "bin/rota/steps/programs.h"
#include "bin/rota/steps/run_each.h"
#include "bin/rota/steps/run_file.h"
#include "bin/rota/steps/run_one.h"
#include "bin/rota/steps/session.h"
#include "bin/rota/steps/session_name.h"
#include "bin/rota/submit/submit_options.h"

enum { PROGRAMS_MOST = 1 << 20 };

const struct verb_option run_options[] = {
	{'n', "ntasks", "N", "number of tasks (default: 1)"},
	{'c', "cpus-per-task", "N", "CPUs of each task (default: 1)"},
	{'N', "nodes", "N", "number of nodes, with the tasks shared out evenly (default: as few as have room)"},
	{RUN_NTASKS_PER_NODE, "ntasks-per-node", "N", "number of tasks on each node"},
	{'w', "nodelist", "LIST", "nodes to use: n1,n2 or n[1-4]"},
	{'x', "exclude", "LIST", "nodes not to use"},
	{'m', "distribution", "KIND",
	 "block: consecutive tasks on a node; cyclic: in turns over the nodes; plane=N: blocks of N tasks in turns"},
	{RUN_MEM, "mem", "SIZE", "memory to set aside: MiB, or with K, M, G, T"},
	{RUN_GRES, "gres", "LIST", "generic resources, as in gpu:2"},
	{RUN_EXCLUSIVE, "exclusive", NULL, "use all CPUs of the allocation"},
	{RUN_OVERLAP, "overlap", NULL, "use no CPUs of its own: start at once, beside other sub-steps"},
	{RUN_CPU_BIND, "cpu-bind", "KIND",
	 "bind tasks to none, threads, cores, sockets or map:LIST, CPU numbers such as 0-3,8, one for each task in turns"},
	{'l', "label", NULL, "begin each line of output with the number of its task; of --each, of its line"},
	{'o', "output", "PATH",
	 "file for standard output, with %t for the task; or all, none, or the number of the task to print"},
	{'e', "error", "PATH", "file or task for standard error, as for --output (default: as --output)"},
	{'i', "input", "PATH", "file for standard input; all: that of rota run, a number: for this task alone, none: /dev/null"},
	{'u', "unbuffered", NULL, "with --label or --each, print output before the line or the sub-step has ended"},
	{'K', "kill-on-bad-exit", NULL, "end the other tasks when one fails"},
	{RUN_MULTI_PROG, "multi-prog", NULL, "the operand is a file of tasks and programs: 0-3 ./a %t"},
	{RUN_DETACH, "detach", NULL, "print the name of the sub-step and return; it goes on. With --pty, rota attach joins it"},
	{RUN_AFTER, "after", "LIST", "sub-steps to wait for: 3, prepare:ok, 4:any; , = all, ? = any"},
	{RUN_PRIORITY, "priority", "N", "sub-steps with a higher priority start first (default: 0)"},
	{'J', "name", "NAME", "name of the sub-step (default: that of the program)"},
	{RUN_RETRY, "retry", "N", "how often to run the sub-step again when it fails"},
	{RUN_NOTIFY, "notify", "SIG", "signal its processes when a node of the step is lost, drained or reserved, or is back"},
	{'t', "time", "TIME", "time limit: minutes, h:m:s or d-h:m:s (default: that of the step)"},
	{RUN_EXPORT, "export", "LIST", "environment: ALL, NONE, names and NAME=value, separated by commas"},
	{'D', "workdir", "DIR", "folder of the tasks (default: this one)"},
	{'W', "wait", "SECONDS", "once a task has ended, end the others after this time (default: 0, never)"},
	{'p', "partition", "NAME", "outside a job: partition of the allocation"},
	{'A', "account", "NAME", "outside a job: account that the allocation is charged to"},
	{RUN_QOS, "qos", "NAME", "outside a job: quality of service of the allocation"},
	{RUN_BB, "bb", "TEXT", "outside a job: directives for the site's burst_buffer.lua"},
	{RUN_BBF, "bbf", "FILE", "outside a job: read these directives from a file"},
	{RUN_HOLD, "hold", NULL, "keep the allocation of this job until no program uses it, then exit as the sub-steps did"},
	{RUN_PTY, "pty", NULL,
	 "give the command a terminal; ~. at the beginning of a line leaves it, and rota attach finds it again"},
	{RUN_KILL_ON_HANGUP, "kill-on-hangup", NULL, "with --pty: cancel the sub-step when this terminal is closed"},
	{RUN_SESSION, "session", "NAME",
	 "with --pty: name of the session: rota attach NAME finds it; one that runs already is joined"},
	{RUN_IDLE_TIMEOUT, "idle-timeout", "TIME",
	 "with --pty: end the terminal after this time without keys and output: minutes, h:m:s or d-h:m:s"},
	{RUN_EACH, "each", NULL, "run a sub-step for each line"},
	{'a', "arg-file", "FILE", "file of the lines of --each (default: standard input)"},
	{RUN_FILE, "file", "SCRIPT", "run the steps of this script, each as a sub-step, in the order of their --after"},
	{RUN_RESUME, "resume", "[FILE]",
	 "skip lines or steps that have completed by the log FILE (default: rota-STEP.done in the folder of the job)"},
	{0, NULL, NULL, NULL},
};

static int run_misuse(const struct err *e)
{
	call_error(e);
	return EXIT_USAGE;
}

/* Returns the malloc'ed absolute path of the folder of the tasks, NULL with an error. */
static char *run_folder(const char *workdir, struct err *e)
{
	char *here = workdir && *workdir == '/' ? NULL : getcwd(NULL, 0), *path;

	if (workdir && *workdir == '/')
		return xstrdup(workdir);
	if (!here) {
		err_sys(e, "could not find the path of the working directory");
		return NULL;
	}
	path = workdir ? xasprintf("%s/%s", here, workdir) : xstrdup(here);
	free(here);
	return path;
}

/* Set the programs of --multi-prog. */
static bool run_programs(struct run_options *o, const char *path, struct err *e)
{
	struct programs programs;
	size_t size;
	char *text = submit_options_read(path, PROGRAMS_MOST, &size, e);
	bool good = text && programs_parse(text, path, o->run.ntasks, &programs, e);

	free(text);
	if (!good)
		return false;
	o->run.programs = programs.list;
	o->run.program_count = programs.count;
	o->run.ntasks = programs.ntasks;
	return true;
}

/* Returns the long name of an option. */
static const char *run_option_name(const struct verb *verb, int id)
{
	const struct verb_option *option = verb->options;

	while (option->id != id)
		option++;
	return option->name;
}

/* Read the options of the command line. A wrong one is misuse. */
static void run_scan_options(struct verb_scan *scan, struct run_options *o)
{
	struct err e = {0};
	int other = 0; /* an option that is not for --file */

	scan->stop_at_operand = true;
	for (int id; (id = verb_next(scan));) {
		if (!run_options_take(o, id, scan->value, &e))
			verb_misuse(scan->verb, "%s", e.message);
		other = run_options_is_for_file(id) ? other : id;
	}
	if (o->file && other)
		verb_misuse(scan->verb, "--file cannot be combined with --%s; options of steps stand in the file",
			    run_option_name(scan->verb, other));
	if (!run_options_finish(o, &e))
		verb_misuse(scan->verb, "%s", e.message);
}

static void run_scan(struct verb_scan *scan, struct run_options *o)
{
	run_scan_options(scan, o);
	if (!o->each && !o->hold && !o->file && !scan->operands)
		verb_misuse(scan->verb, "name a command: rota run COMMAND");
	if (o->multi_prog)
		verb_operands(scan, 1, 1);
}

/* Check the options of Slurm's burst buffer: --bb (directives) and --bbf (file of directives). Read the file of --bbf. */
static void run_directives(const struct verb *verb, struct run_options *o)
{
	struct err e = {0};

	if ((o->bb || o->bbf) && session_is_inside())
		verb_misuse(verb, "--%s is for a new job, and this job runs already; give the directives to rota submit",
			    o->bb ? "bb" : "bbf");
	if (o->bbf) {
		o->bb = submit_options_directives(o->bbf, &e);
		if (!o->bb)
			verb_misuse(verb, "%s", e.message);
	}
}

/* Run as the script of an allocation (--hold): wait until no program uses the allocation any more. Returns the exit status for
 * all of its sub-steps. */
static int run_hold(struct rota_steps *steps)
{
	struct rota_end end;

	return rota_steps_hold(steps, &end) ? session_status(&end) : session_failed("run", steps);
}

/* Run the sub-steps that options and command ask for, in the allocation of this step or in a new one. Returns the exit status. */
static int run_do(const struct verb *verb, struct run_options *o, char **command)
{
	struct rota_steps *steps;
	struct err e = {0};
	int status = EXIT_OK;

	run_directives(verb, o);
	o->run.cwd = run_folder(o->run.cwd, &e);
	if (!o->run.cwd)
		return run_misuse(&e);
	o->run.env = (const char *const *)run_options_environment(o->export, environ);
	o->run.argv = (const char *const *)command;
	if (o->multi_prog && !run_programs(o, command[0], &e))
		return run_misuse(&e);
	if (o->run.session && session_name_join(verb->name, o->run.session, o->run.detach, &status))
		return status;
	if (!session_is_inside() && !o->hold && !o->file && !allocation_get(o, command[0], &status))
		return status;
	steps = session_open(verb->name, &status);
	if (!steps)
		return status;
	status = o->hold   ? run_hold(steps)
		 : o->file ? run_file(steps, o, command)
		 : o->each ? run_each(steps, o, command)
			   : run_one(steps, o);
	rota_steps_disconnect(steps);
	return status;
}

int verb_run(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct run_options o = RUN_OPTIONS;

	run_scan(&scan, &o);
	return run_do(verb, &o, argv + scan.at);
}

const struct verb_option shell_options[] = {
	{'c', "cpus-per-task", "N", "CPUs of the shell (default: 1)"},
	{RUN_MEM, "mem", "SIZE", "memory: MiB, or with K, M, G, T"},
	{RUN_GRES, "gres", "LIST", "generic resources, as in gpu:2"},
	{RUN_OVERLAP, "overlap", NULL, "inside a job: use no CPUs of its own"},
	{'t', "time", "TIME", "time limit: minutes, h:m:s or d-h:m:s"},
	{'p', "partition", "NAME", "partition of the allocation"},
	{'A', "account", "NAME", "account that the allocation is charged to"},
	{RUN_QOS, "qos", "NAME", "quality of service of the allocation"},
	{RUN_BB, "bb", "TEXT", "outside a job: directives for the site's burst_buffer.lua"},
	{RUN_BBF, "bbf", "FILE", "outside a job: read these directives from a file"},
	{'J', "name", "NAME", "name of the job and of its sub-step (default: shell)"},
	{'D', "workdir", "DIR", "folder of the shell (default: this one)"},
	{RUN_EXPORT, "export", "LIST", "environment: ALL, NONE, names and NAME=value, separated by commas"},
	{RUN_SESSION, "session", "NAME", "name of the session: rota attach NAME finds it; one that runs already is joined"},
	{RUN_IDLE_TIMEOUT, "idle-timeout", "TIME",
	 "end the shell after this time without keys and output: minutes, h:m:s or d-h:m:s"},
	{RUN_KILL_ON_HANGUP, "kill-on-hangup", NULL, "end the shell when this terminal is closed"},
	{0, NULL, NULL, NULL},
};

int verb_shell(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct run_options o = RUN_OPTIONS;
	const char *shell = getenv("SHELL");
	char *command[] = {xstrdup(shell && *shell ? shell : "/bin/sh"), (char *)"-l", NULL};

	o.pty = true;
	o.run.name = "shell";
	run_scan_options(&scan, &o);
	verb_operands(&scan, 0, 0);
	return run_do(verb, &o, command);
}
