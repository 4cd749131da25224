/* runner_power.c - runs the programs hooks.power_off, hooks.power_on and hooks.reboot for nodes, and reports how they ended.
 *
 * Called by: runner.c on notifications, on each beat, when a process ended and at the end of a term.
 * Invariants:
 * - Programs run within a term only, so no two of them run for one node. One that is not reported is run again by the next term.
 * - A program is one of rota.conf. The database only names the node, and the name is checked before it becomes an argument.
 * - They have a limit of processes of their own, so hooks and mail do not wait for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/crash.h"
#include "lib/err.h"
#include "lib/log.h"
#include "runner/hook_environment.h"
#include "runner/runner_parts.h"

enum { POWER_NAME_MOST = 63 }; /* as in the checks of rota.node.name and rota.node_image.image */

struct runner_power {
	struct hook_set programs;
	bool asking;	 /* a call of the database is under way */
	bool may_be_due; /* the database may have programs to run */
	int64_t term;	 /* term in which the database was asked */
};

struct runner_power *runner_power_new(void)
{
	return xcalloc(1, sizeof(struct runner_power));
}

void runner_power_free(struct runner_power *p)
{
	hook_set_free(&p->programs);
	free(p);
}

void runner_power_end(struct runner *r)
{
	hook_set_end(&r->power->programs, &r->dying);
	r->power->may_be_due = false;
}

bool runner_power_busy(const struct runner *r)
{
	return hook_set_is_busy(&r->power->programs);
}

static void power_exchange(struct runner *r);

static void power_report_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct runner_power *p = r->power;

	(void)db;
	p->asking = false;
	hook_set_reported(&p->programs, result != NULL);
	if (result) {
		p->may_be_due = true; /* a node may be needed again at once */
		power_exchange(r);
	} else { /* the next beat reports these again */
		runner_term_failed(r, "could not report programs that power nodes to the database; trying again", e);
	}
}

static void power_report(struct runner *r)
{
	enum { IDS, CODES, FAILURES, OUTPUTS, COLUMNS };
	struct runner_power *p = r->power;
	struct db_array *columns[COLUMNS];
	struct db_param params[COLUMNS + 1] = {{r->term_text, -1}};

	for (int i = 0; i < COLUMNS; i++)
		columns[i] = db_array_new();
	for (const struct hook *h = p->programs.ended; h; h = h->next) {
		char code[16];

		snprintf(code, sizeof code, "%d", WEXITSTATUS(h->status));
		db_array_int(columns[IDS], h->id);
		db_array_text(columns[CODES], h->ran_us >= 0 && WIFEXITED(h->status) ? code : NULL);
		db_array_text(columns[FAILURES], *h->message ? h->message : NULL);
		db_array_text(columns[OUTPUTS], h->tail);
	}
	for (int i = 0; i < COLUMNS; i++)
		params[i + 1] = (struct db_param){db_array_literal(columns[i]), -1};
	hook_set_report(&p->programs);
	p->asking = true;
	db_call(r->db, API_power_report, params, COLUMNS + 1, power_report_answered, r);
	for (int i = 0; i < COLUMNS; i++)
		db_array_free(columns[i]);
}

/* Is it the name of a node or an image, which no program takes for an option? */
static bool power_name_is_valid(const char *name)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	static const char others[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

	return *name && strchr(first, *name) && strspn(name, others) == strlen(name) && strlen(name) <= POWER_NAME_MOST;
}

/* A program that nodes are powered or booted with. */
struct power_program {
	const char *action, *path, *setting, *kind;
};

/* Returns the program for an action of api.power_take. */
static struct power_program power_program_of(const struct conf *conf, const char *action)
{
	const struct power_program programs[] = {
		{"on", conf->hooks_power_on, "power_on", "power-on program"},
		{"off", conf->hooks_power_off, "power_off", "power-off program"},
		{"reboot", conf->hooks_reboot, "reboot", "reboot program"},
	};

	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (strcmp(programs[i].action, action) == 0)
			return programs[i];
	return (struct power_program){action, "", action, "program"};
}

/* Start the program for a row of api.power_take. One that does not start has ended. */
static void power_start(struct runner *r, const PGresult *result, int row)
{
	struct runner_power *p = r->power;
	const char *name = db_text(result, row, "node");
	struct power_program program = power_program_of(r->conf, db_text(result, row, "action"));
	struct hook *h = hook_new(strtoll(db_text(result, row, "run_id"), NULL, 10), db_text(result, row, "label"), program.path,
				  program.kind);
	bool started = false;
	const char *image = db_text(result, row, "image");
	char *arguments[] = {(char *)name, *image ? (char *)image : NULL, NULL};
	char **environment = hook_environment(NULL, 0, r->conf->instance_name);

	if (!*program.path)
		snprintf(h->message, sizeof h->message, "no program hooks.%.40s is configured", program.setting);
	else if (!power_name_is_valid(name))
		snprintf(h->message, sizeof h->message, "\"%.100s\" is not the name of a node", name);
	else if (*image && !power_name_is_valid(image))
		snprintf(h->message, sizeof h->message, "\"%.100s\" is not the name of an image", image);
	else
		started = hook_start(h, r->base,
				     &(struct hook_start){.arguments = arguments,
							  .environment = environment,
							  .input = -1,
							  .timeout_s = r->conf->hooks_power_timeout});
	hook_environment_free(environment);
	hook_set_add(&p->programs, h);
	if (!started)
		return;
	log_info("%s began", h->label);
	crash_point(CRASH_power_started);
}

static void power_take_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct runner_power *p = r->power;

	(void)db;
	p->asking = false;
	if (!result) {
		runner_term_failed(r, "could not read programs that power nodes from the database; trying again", e);
		return;
	}
	if (!r->ready || p->term != r->term)
		return; /* the next call of this or another runnerd has them again */
	for (int i = 0; i < PQntuples(result); i++)
		power_start(r, result, i);
	power_exchange(r);
}

static void power_take(struct runner *r)
{
	struct runner_power *p = r->power;
	struct db_array *have = hook_set_ids(&p->programs);
	char slots[16];

	snprintf(slots, sizeof slots, "%d", r->conf->hooks_power_calls - p->programs.running_count);
	p->asking = true;
	p->may_be_due = false;
	p->term = r->term;
	db_call(r->db, API_power_take, (struct db_param[]){{r->term_text, -1}, {db_array_literal(have), -1}, {slots, -1}}, 3,
		power_take_answered, r);
	db_array_free(have);
}

/* Report ended programs, or else take new ones, unless the database is being asked. */
static void power_exchange(struct runner *r)
{
	struct runner_power *p = r->power;

	if (!r->ready || p->asking || !db_is_up(r->db))
		return;
	if (p->programs.ended)
		power_report(r);
	else if (p->may_be_due && p->programs.running_count < r->conf->hooks_power_calls)
		power_take(r);
}

void runner_power_poll(struct runner *r)
{
	r->power->may_be_due = true;
	power_exchange(r);
}

bool runner_power_reap(struct runner *r, pid_t pid)
{
	if (!hook_set_reap(&r->power->programs, pid))
		return false;
	crash_point(CRASH_power_reaped);
	power_exchange(r);
	return true;
}
