/* gate_route.c - the table of verbs (route.def).
 *
 * Called by: gate_dispatch.c for each request. */
#include "jobmgr/gate/gate_route.h"

#include <string.h>

#include "jobmgr/gate/gate_answer.h"
#include "lib/nearest.h"

static const char route_prefix[] = "/v1/";

static const struct gate_route routes[] = {
#define ROUTE(verb, function, flags, members, help) {#verb, API_##function, flags, members, help},
#include "jobmgr/gate/route.def"
#undef ROUTE
};

enum { ROUTE_COUNT = sizeof routes / sizeof *routes };

const struct gate_route *gate_route_find(const char *path, struct err *e)
{
	const char *verb = path + strlen(route_prefix);
	struct nearest nearest;

	if (strncmp(path, route_prefix, strlen(route_prefix)) != 0) {
		gate_refuse(e, "RT404", "there is nothing at \"%.100s\"", path);
		err_hint(e, "Verbs are below \"%s\"; GET %s lists them.", route_prefix, route_prefix);
		return NULL;
	}
	for (int i = 0; i < ROUTE_COUNT; i++) {
		if (strcmp(verb, routes[i].verb) == 0)
			return &routes[i];
	}
	gate_refuse(e, "RT404", "unknown verb \"%.100s\"", verb);
	nearest = (struct nearest)NEAREST(verb);
	for (int i = 0; i < ROUTE_COUNT; i++)
		nearest_try(&nearest, routes[i].verb);
	if (nearest.best)
		err_hint(e, "Perhaps you mean \"%s\".", nearest.best);
	else
		err_hint(e, "GET %s lists the verbs.", route_prefix);
	return NULL;
}

json_t *gate_route_list(void)
{
	json_t *verbs = json_array();

	for (int i = 0; i < ROUTE_COUNT; i++)
		json_array_append_new(verbs, json_pack("{s:s, s:s, s:s, s:s}", "verb", routes[i].verb, "methods",
						       routes[i].flags & GATE_READ ? "GET, POST" : "POST", "members",
						       routes[i].members, "help", routes[i].help));
	return json_pack("{s:o}", "verbs", verbs);
}
