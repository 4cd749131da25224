/* allocation.c - gets an allocation for `rota run` outside a job (allocation.h).
 *
 * Called by: verb/run.c.
 * Invariants:
 * - The job of the allocation is a job like any other. Its script is `rota run --hold`, which ends when no program uses the
 *   allocation any more. Its exit status is that of the sub-steps.
 * - If this process dies before it connects to the step manager, the script ends, and so frees the allocation, after a minute. */
#include "bin/rota/steps/allocation.h"

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "bin/rota/steps/holder.h"
#include "bin/rota/steps/route.h"
#include "bin/rota/steps/session.h"
#include "bin/rota/submit/submit_options.h"
#include "lib/clock.h"
#include "lib/hosts.h"

enum { LOOK_MS = 10, LOOK_MOST_MS = 1000, SAY_WAITING_AFTER_MS = 1000 };

/* Last message that was printed while the job waits: none, that it waits, or that it is on hold. */
enum said { SAID_NOTHING, SAID_WAITING, SAID_HELD };

static void add_option(json_t *options, const char *name, const char *value)
{
	if (value && *value)
		json_array_append_new(options, json_sprintf("--%s=%s", name, value));
}

static void add_number(json_t *options, const char *name, long value)
{
	if (value > 0)
		json_array_append_new(options, json_sprintf("--%s=%ld", name, value));
}

/* Returns the options of the job: one node with the resources that the sub-step asks for. */
static json_t *allocation_options(const struct run_options *o, const char *name)
{
	const struct rota_run *run = &o->run;
	json_t *options = json_array();

	add_option(options, "job-name", name);
	add_option(options, "output", "/dev/null");
	add_number(options, "nodes", run->nodes > 0 || run->ntasks_per_node > 0 || run->nodelist ? run->nodes : 1);
	add_number(options, "ntasks", run->ntasks > 0 ? run->ntasks : run->nodes > 0 || run->ntasks_per_node > 0 ? 0 : 1);
	add_number(options, "ntasks-per-node", run->ntasks_per_node);
	add_option(options, "nodelist", run->nodelist);
	add_option(options, "exclude", run->exclude);
	add_number(options, "cpus-per-task", run->cpus_per_task);
	add_number(options, "mem", run->mem_mb);
	add_option(options, "gres", run->gres);
	if (run->time_s > 0)
		json_array_append_new(options, json_sprintf("--time=%ld:%02ld:%02ld", run->time_s / 3600, run->time_s / 60 % 60,
							    run->time_s % 60));
	add_option(options, "partition", o->partition);
	add_option(options, "account", o->account);
	add_option(options, "qos", o->qos);
	add_option(options, "bb", o->bb);
	return options;
}

static void cancel_job(const char *job)
{
	json_decref(call_gate("cancel", json_pack("{s:[s]}", "jobs", job)));
}

/* Set ROTA_STEP_SOCKET to the socket of the running step's step manager, or to its path by TLS if the first node is another
 * machine. Without a verb, print nothing, and use TLS only if ROTA_STEP_ROUTE asks for it: the caller then reads the database
 * instead. */
static bool use_socket(const char *verb, const json_t *step, const char *id, int *status)
{
	char node[HOSTS_NAME_SIZE] = "";
	hosts_at(format_text(step, "nodes"), 0, node);
	char *path = xasprintf("%s/%s/spool/%s.%lld.%lld/steps", call_conf()->node_state, node, id,
			       (long long)json_integer_value(json_object_get(step, "step_id")),
			       (long long)json_integer_value(json_object_get(step, "attempt")));
	enum route route = route_asked();
	bool is_asked = route == ROUTE_TLS || route == ROUTE_RELAY, is_local = !is_asked && access(path, F_OK) == 0,
	     is_remote = !is_local && (is_asked || (route == ROUTE_ANY && verb));

	if (is_remote) {
		free(path);
		path = route_use(format_text(step, "label"), (long long)json_integer_value(json_object_get(step, "attempt")));
	}
	if (is_local || is_remote) {
		setenv("ROTA_STEP_SOCKET", path, 1);
		setenv("ROTA_STEP_LABEL", format_text(step, "label"), 1);
	} else if (verb) {
		fprintf(stderr, "rota %s: job %s runs on node %s, which cannot be reached from here\n", verb, id, node);
		fprintf(stderr, "hint: Run the command on that node%s.\n",
			strcmp(verb, "run") ? "" : ", or submit it: rota submit --wrap='rota run COMMAND'");
		*status = EXIT_NO_GATE;
	}
	free(path);
	return is_local || is_remote;
}

const json_t *allocation_running_step(const json_t *job, const char *label)
{
	const json_t *step;
	size_t i;

	json_array_foreach (json_object_get(job, "steps"), i, step) {
		if ((!label || !strcmp(format_text(step, "label"), label)) && !strcmp(format_text(step, "state"), "running"))
			return step;
	}
	return NULL;
}

/* Split 812.solve.3 into step and sub-step. Returns the number of the sub-step; 0 if there is none. */
static int split_word(char *word)
{
	char *first = strchr(word, '.'), *last = strrchr(word, '.'), *end;
	long number = last && last != first ? strtol(last + 1, &end, 10) : 0;

	if (number <= 0 || *end)
		return 0;
	*last = '\0';
	return (int)number;
}

bool allocation_find(const char *verb, const char *word, int *substep, int *status)
{
	char *step_word = xstrdup(word), *id = xstrndup(word, strcspn(word, "."));
	const char *own = getenv("ROTA_STEP_LABEL");
	bool found = session_is_inside() && own && *word == '.';

	*substep = found ? atoi(word + 1) : split_word(step_word);
	if (!found) {
		json_t *answer = call_gate("show", json_pack("{s:[s]}", "jobs", id));
		const json_t *job = json_array_get(json_object_get(answer, "jobs"), 0),
			     *step = allocation_running_step(job, strchr(step_word, '.') ? step_word : NULL);

		*status = !answer ? call_status() : step || !verb ? EXIT_OK : EXIT_REFUSED;
		found = step && use_socket(verb, step, id, status);
		if (answer && !step && verb) {
			fprintf(stderr, "rota %s: no step of %s runs\n", verb, word);
			fprintf(stderr, "hint: `rota acct --substeps %s` lists what has ended.\n", id);
		}
		json_decref(answer);
	}
	free(id);
	free(step_word);
	return found;
}

/* Cancel the job whose allocation cannot be used. Returns false. */
static bool give_back(const char *id)
{
	cancel_job(id);
	return false;
}

/* Print once why the job waits, and once that it is on hold: then somebody must release it. */
static void say_waiting(const char *id, const json_t *step, enum said *said)
{
	const char *reason = format_text(step, "reason"), *held = format_text(step, "held_reason");

	if (*held && *said < SAID_HELD)
		fprintf(stderr, "rota run: job %s is held: %s\nhint: \"rota release %s\" lets it go on.\n", id, held, id);
	else if (*said < SAID_WAITING)
		fprintf(stderr, "rota run: job %s waits%s%s\n", id, *reason ? ": " : "", reason);
	*said = *held ? SAID_HELD : *said ? *said : SAID_WAITING;
}

/* Wait until the job that holds the allocation runs. A signal cancels the job. */
static bool wait_for_start(const char *id, int signals, int *status)
{
	int64_t began = clock_ms();
	enum said said = SAID_NOTHING;

	for (int pause = LOOK_MS;; pause = pause * 2 < LOOK_MOST_MS ? pause * 2 : LOOK_MOST_MS) {
		json_t *answer = call_gate_patiently("show", json_pack("{s:[s]}", "jobs", id));
		const json_t *job = json_array_get(json_object_get(answer, "jobs"), 0),
			     *step = json_array_get(json_object_get(job, "steps"), 0);
		const char *state = format_text(step, "state");
		bool runs = answer && !strcmp(state, "running"), decided = !answer || runs || format_state_final(state);

		if (!answer)
			*status = call_status();
		else if (decided && !runs)
			fprintf(stderr, "rota run: job %s: %s%s%s\n", id, state, *format_text(step, "message") ? ": " : "",
				format_text(step, "message"));
		else if (!decided && clock_ms() - began > SAY_WAITING_AFTER_MS)
			say_waiting(id, step, &said);
		if (runs)
			runs = use_socket("run", step, id, status) || give_back(id);
		else if (decided && answer)
			*status = EXIT_REFUSED;
		json_decref(answer);
		if (decided)
			return runs;
		struct pollfd ready = {.fd = signals, .events = POLLIN};
		if (poll(&ready, 1, pause) > 0) {
			fprintf(stderr, "rota run: cancelling job %s\n", id);
			cancel_job(id);
			*status = 128 + session_signal(signals);
			return false;
		}
	}
}

bool allocation_get(const struct run_options *options, const char *command, int *status)
{
	const char *slash = command ? strrchr(command, '/') : NULL, *file = slash ? slash + 1 : command,
		   *name = options->run.name ? options->run.name
			   : file	     ? file
					     : "run";
	struct err e = {0};
	json_t *request = holder_request("run", name, allocation_options(options, name), NULL, &e), *answer;
	int signals;
	char id[24];
	bool runs;

	*status = EXIT_REFUSED;
	if (!request) {
		call_error(&e);
		return false;
	}
	answer = call_gate_patiently("submit", request);
	if (!answer) {
		*status = call_status();
		return false;
	}
	submit_options_warn(json_object_get(answer, "warnings"));
	snprintf(id, sizeof(id), "%lld", (long long)json_integer_value(json_object_get(answer, "job_id")));
	json_decref(answer);
	signals = session_signals();
	runs = wait_for_start(id, signals, status);
	close(signals);
	return runs;
}
