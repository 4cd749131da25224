/* substep_task.c - starts one task of a sub-step.
 *
 * Called by: substep_engine.c.
 * Invariants: a task has either all of its streams or does not start. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "procmgr/stepmgr/substep_drain.h"
#include "procmgr/stepmgr/substep_environment.h"
#include "procmgr/stepmgr/substep_parts.h"
#include "procmgr/stepmgr/substep_process.h"

void substep_task_make(struct substep *s)
{
	s->tasks = xcalloc((unsigned long)s->ntasks, sizeof *s->tasks);
	for (int i = 0; i < s->ntasks; i++)
		s->tasks[i] = (struct substep_task){.substep = s,
						    .counts = -1,
						    .in = -1,
						    .spools = {{.fd = -1}, {.fd = -1}},
						    .drains = {{.pipe = -1}, {.pipe = -1}}};
}

/* Open the descriptor for a stream of a task: a file, /dev/null, or a pipe. Returns -1 on an error. */
static int stream_open(struct substep_engine *m, const struct substep *s, struct substep_task *t, int rank, int stream,
		       struct err *e)
{
	const char *pattern = stream == SUBSTEP_OUT ? s->spec->output : s->spec->error;
	if (strcmp(pattern, "none") == 0)
		return fcntl(m->null, F_DUPFD_CLOEXEC, 3);
	if (*pattern)
		return substep_environment_file(s, pattern, rank, true, e);
	return substep_drain_open(m, t, stream, e);
}

/* Open the standard streams of a task. */
static bool streams_open(struct substep_engine *m, struct substep *s, struct substep_task *t, int rank,
			 struct substep_start *start, struct err *e)
{
	const char *input = s->spec->input;
	bool other = s->spec->input_task >= 0 && s->spec->input_task != rank; /* only another task gets the input */
	start->in = strcmp(input, "none") == 0 || other ? fcntl(m->null, F_DUPFD_CLOEXEC, 3)
		    : strcmp(input, "client") == 0	? substep_input_open(t, e)
							: substep_environment_file(s, input, rank, false, e);
	start->out = start->in < 0 ? -1 : stream_open(m, s, t, rank, SUBSTEP_OUT, e);
	bool joined = strcmp(s->spec->error, "output") == 0;
	start->err = start->out < 0 ? -1
		     : joined	    ? fcntl(start->out, F_DUPFD_CLOEXEC, 3)
				    : stream_open(m, s, t, rank, SUBSTEP_ERR, e);
	return start->err >= 0;
}

struct beginning {
	struct substep_engine *m;
	struct substep_task *t;
	int rank;
	int64_t before; /* a time before the process was started, by clock_boot_ns() */
};

/* Runs in the new process: stores the task's pid and start time, and writes its record `begin`. */
static bool begin_task(void *arg)
{
	struct beginning *b = arg;
	b->t->pid = getpid();
	b->t->started = stats_start_time_between(b->t->pid, b->before, clock_boot_ns());
	return substep_record_begin(b->m, b->t->substep, b->rank);
}

bool substep_task_start(struct substep_engine *m, struct substep *s, int rank, struct err *e)
{
	struct substep_task *t = &s->tasks[rank];
	struct beginning beginning = {m, t, rank, 0};
	struct substep_start start = {
		.in = -1, .out = -1, .err = -1, .cwd = s->spec->cwd, .begin = begin_task, .arg = &beginning};
	cpu_set_t cores;
	if (substep_pool_bind(m->pool, s->spec, &s->share, substep_environment_local_rank(s, rank), &cores))
		start.cores = &cores;
	size_t borrowed;
	char **argv = substep_environment_argv(s, rank), **environment = substep_environment(s, m->pool, rank, &borrowed);
	start.argv = argv;
	start.environment = environment;
	bool opened = streams_open(m, s, t, rank, &start, e);
	if (opened)
		substep_drain_store(t);
	beginning.before = clock_boot_ns();
	if (opened && substep_process_start(&start, e) > 0) {
		t->counts = stats_open(t->pid);
		s->live++;
		crash_point(CRASH_substep_begun);
	} else {
		t->pid = 0;
		t->started = 0;
		substep_input_close(t);
		substep_drain_finish(t);
	}
	int ends[] = {start.in, start.out, start.err};
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (ends[i] >= 0)
			close(ends[i]);
	substep_environment_free(environment, borrowed);
	substep_environment_free(argv, 0);
	return t->pid > 0;
}
