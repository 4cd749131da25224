/* reboot_admin.c - `rota admin node reboot`, `cancel-reboot` and `reboots`: nodes rebooted by the program of the site.
 *
 * Called by: `rota admin`. */
#include "bin/rota/admin/reboot_admin.h"

#include <stdio.h>
#include <string.h>

#include "bin/rota/admin/node_request.h"
#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "lib/err.h"

/* Returns, in words, the outcome of a request to reboot a node, from its row in the answer. */
static const char *node_outcome(const json_t *node)
{
	const char *reboot = format_text(node, "reboot");

	if (!strcmp(reboot, "waiting"))
		return "to be rebooted when it is idle";
	return *reboot ? "being rebooted" : "not to be rebooted";
}

static void reboots_print(const json_t *reboots)
{
	const json_t *reboot;
	size_t i;

	json_array_foreach (reboots, i, reboot) {
		const char *message = format_text(reboot, "message");

		printf("%s  %-12s %-9s by %s: %s%s%s%s\n", format_time(json_object_get(reboot, "made_at")).s,
		       format_text(reboot, "node"), format_text(reboot, "state"), format_text(reboot, "made_by"),
		       format_text(reboot, "reason"), *message ? " (" : "", message, *message ? ")" : "");
	}
}

bool reboot_admin_is_possible(struct err *e)
{
	if (*call_conf()->hooks_reboot)
		return true;
	err_set(e, "this instance has no program that reboots nodes");
	err_hint(e, "Set hooks.reboot in rota.conf to the program, alike on all machines.");
	return false;
}

int reboot_admin_run(const char *action, const char *nodes, json_t *values, bool json)
{
	static const struct node_request request = {"reboot", "reboots", node_outcome, reboots_print};
	struct err e = {0};

	if (!strcmp(action, "reboot") && !reboot_admin_is_possible(&e))
		return call_refuse(&e);
	return node_request_send(&request, action, nodes, values, json);
}
