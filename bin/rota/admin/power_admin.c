/* power_admin.c - `rota admin power`: nodes powered on and off by the programs of the site.
 *
 * Called by: `rota admin`. */
#include "bin/rota/admin/power_admin.h"

#include <stdio.h>
#include <string.h>

#include "bin/rota/admin/node_request.h"
#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "lib/err.h"

static const char *node_outcome(const json_t *node)
{
	return format_text(node, "state");
}

/* Returns how a run of a power program ended, or that the program still runs. */
static const char *run_outcome(const json_t *run)
{
	const char *status = format_text(run, "status");

	if (*status)
		return status;
	return json_is_string(json_object_get(run, "began_at")) ? "runs" : "is due";
}

static void output_print(const char *output)
{
	for (size_t size; *output; output += size + (output[size] == '\n')) {
		size = strcspn(output, "\n");
		printf("  %.*s\n", (int)size, output);
	}
}

static void runs_print(const json_t *runs)
{
	const json_t *run;
	size_t i;

	json_array_foreach (runs, i, run) {
		const char *message = format_text(run, "message"), *output = format_text(run, "output");

		printf("%s  %-12s %-4s %-8s by %s%s%s\n", format_time(json_object_get(run, "made_at")).s,
		       format_text(run, "node"), format_text(run, "action"), run_outcome(run), format_text(run, "made_by"),
		       *message ? ": " : "", message);
		output_print(output);
	}
}

/* Returns true if the instance has a program for the action. Without a program, the node would wait for ever. */
static bool program_is_there(const char *action, struct err *e)
{
	const struct conf *conf = call_conf();
	const char *program = strcmp(action, "on") == 0 ? conf->hooks_power_on : conf->hooks_power_off;

	if (strcmp(action, "list") == 0 || *program)
		return true;
	err_set(e, "this instance has no program that powers nodes %s", action);
	return err_hint(e, "Set hooks.power_%s in rota.conf to the program, alike on all machines.", action);
}

int power_admin_run(const char *action, const char *nodes, bool json)
{
	static const struct node_request request = {"power", "runs", node_outcome, runs_print};
	struct err e = {0};

	if (!program_is_there(action, &e))
		return call_refuse(&e);
	return node_request_send(&request, action, nodes, NULL, json);
}
