/* run_file.c - `rota run --file` (run_file.h).
 *
 * Called by: verb/run.c.
 * Invariants:
 * - A sub-step is sent to the step manager only when its conditions on other steps are met. So the step manager needs to support
 *   neither conditions on arrays, nor limits of arrays, nor steps that an earlier call completed. */
#include "bin/rota/steps/run_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bin/rota/line/verb.h"
#include "bin/rota/steps/dag.h"
#include "bin/rota/steps/dag_request.h"
#include "bin/rota/steps/dag_script.h"
#include "bin/rota/steps/many.h"

/* A unit of the plan whose sub-step has not ended. */
struct file_unit {
	struct many_run run;
	int unit;
};

struct file {
	struct many many;
	struct dag_script script;
	struct dag dag;
	struct dag_common common;
	uint64_t *hashes; /* hashes of the steps, for the log */
};

static struct file *file_of(struct many *m)
{
	return (struct file *)m;
}

static int unit_of(const struct many_run *r)
{
	return ((const struct file_unit *)r)->unit;
}

static char *unit_name(const struct many_run *r)
{
	return dag_request_name(&file_of(r->many)->dag, unit_of(r));
}

static char *failure_text(const struct file *f, int unit, const char *words)
{
	char *name = dag_request_name(&f->dag, unit);
	const json_t *plan = f->dag.steps[f->dag.units[unit].step].plan;
	char *text =
		xasprintf("step %s (line %lld): %s", name, (long long)json_integer_value(json_object_get(plan, "line")), words);

	free(name);
	return text;
}

static char *unit_failure(const struct many_run *r, const char *words)
{
	return failure_text(file_of(r->many), unit_of(r), words);
}

static void unit_started(struct many_run *r)
{
	dag_note(&file_of(r->many)->dag, unit_of(r), DAG_STARTED);
}

static void unit_ended(struct many_run *r, bool good)
{
	struct file *f = file_of(r->many);

	dag_note(&f->dag, unit_of(r), good ? DAG_COMPLETED : DAG_FAILED);
	dag_script_release(&f->script, &f->dag, f->dag.units[unit_of(r)].step);
	free(r);
}

static uint64_t unit_hash(const struct file *f, int unit)
{
	const struct dag_unit *u = &f->dag.units[unit];

	return f->hashes ? dag_script_unit_hash(f->hashes[u->step], u->index) : 0;
}

static void start_unit(struct file *f, int unit)
{
	struct file_unit *u;
	struct dag_request request;
	struct err e = {0};
	char *path = dag_script_take(&f->script, &f->dag, f->dag.units[unit].step, &e);

	if (!path) {
		many_fail(&f->many, e.message);
		return;
	}
	u = xcalloc(1, sizeof(*u));
	*u = (struct file_unit){.run = {.number = unit + 1, .hash = unit_hash(f, unit)}, .unit = unit};
	dag_request_make(&request, &f->dag, unit, &f->common, path);
	many_start(&f->many, &u->run, &request.run);
	dag_request_free(&request);
	free(path);
}

/* Record as a failure that a unit never runs, because of a step that it waits for. */
static void note_dependency(struct file *f, int unit, int peer)
{
	const char *name = json_string_value(json_object_get(f->dag.steps[peer].plan, "name"));
	char *words = xasprintf("dependency_failed (%s)", name);

	many_note_failure(&f->many, failure_text(f, unit, words));
	free(words);
}

/* Start the units that may start, until enough sub-steps are under way. */
static bool units_fill(struct many *m, int *fd)
{
	struct file *f = file_of(m);
	enum dag_turn turn;
	int unit, peer;

	(void)fd;
	while (many_has_room(m) && (turn = dag_next(&f->dag, &unit, &peer)) != DAG_WAIT) {
		if (turn == DAG_START) {
			start_unit(f, unit);
			continue;
		}
		m->progress.ended++;
		if (turn == DAG_CANNOT)
			note_dependency(f, unit, peer);
	}
	return false;
}

static const struct many_kind steps_of_file = {"step", units_fill, NULL, unit_name, unit_failure, unit_started, unit_ended};

/* Open the log of completed sub-steps, and mark the units that an earlier call completed. */
static bool file_resume(struct file *f, struct err *e)
{
	if (!many_open_log(&f->many, e))
		return false;
	if (!f->many.log)
		return true;
	f->hashes = dag_script_hashes(&f->script, &f->dag);
	for (int i = 0; i < f->dag.unit_count; i++) {
		if (!many_has_completed(&f->many, unit_hash(f, i)))
			continue;
		dag_note(&f->dag, i, DAG_COMPLETED);
		f->many.progress.earlier++;
	}
	return true;
}

static int run_all(struct file *f)
{
	const struct run_options *o = f->many.options;
	const json_t *job = json_object_get(f->script.plan, "job");
	const char *export = o->export ? o->export : json_string_value(json_object_get(job, "export"));
	struct err e = {0};

	if (!file_resume(f, &e)) {
		fprintf(stderr, "rota run: %s\n", e.message);
		return EXIT_REFUSED;
	}
	f->common = (struct dag_common){.arguments = f->script.arguments,
					.env = run_options_environment(export, environ),
					.priority = (int)json_integer_value(json_object_get(job, "priority"))};
	f->many.progress.total = f->dag.unit_count;
	return many_run_all(&f->many, (const char *const *)f->common.env, o->run.cwd);
}

int run_file(struct rota_steps *steps, const struct run_options *options, char *const *arguments)
{
	struct file f = {.many = {.steps = steps, .options = options, .kind = &steps_of_file}};
	int status = EXIT_REFUSED;

	if (dag_script_open(&f.script, options->file, arguments, options->run.cwd)) {
		dag_make(&f.dag, f.script.plan);
		status = run_all(&f);
		dag_free(&f.dag);
	}
	free(f.hashes);
	free((void *)f.common.env);
	dag_script_close(&f.script);
	return status;
}
