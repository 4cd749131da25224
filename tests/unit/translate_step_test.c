/* translate_step_test.c - steps and the edges between them. */
#include "tests/unit/translate_case.h"

/* All edges of a plan: "b after a ok, c with b". */
static void edges_text(const json_t *plan, char *text, size_t size)
{
	size_t i, used = 0;
	const json_t *edge, *steps = json_object_get(plan, "steps");
	text[0] = '\0';
	json_array_foreach (json_object_get(plan, "edges"), i, edge) {
		const char *step = NULL, *peer = NULL;
		char other[100] = "";
		size_t j;
		const json_t *s, *job = json_object_get(edge, "peer_job"), *name = json_object_get(edge, "peer_name");
		json_array_foreach (steps, j, s) {
			if (json_equal(json_object_get(s, "step_id"), json_object_get(edge, "step_id")))
				step = json_string_value(json_object_get(s, "name"));
			if (json_equal(json_object_get(s, "step_id"), json_object_get(edge, "peer_step")))
				peer = json_string_value(json_object_get(s, "name"));
		}
		if (!peer)
			snprintf(other, sizeof other, "%lld%s%s", (long long)json_integer_value(job),
				 json_is_null(name) ? "" : ".", json_is_null(name) ? "" : json_string_value(name));
		bool after = strcmp(json_string_value(json_object_get(edge, "kind")), "after") == 0;
		used += (size_t)snprintf(text + used, size - used, "%s%s %s %s%s%s", used ? ", " : "", step,
					 json_string_value(json_object_get(edge, "kind")), peer ? peer : other, after ? " " : "",
					 after ? json_string_value(json_object_get(edge, "condition")) : "");
		assert_true(used < size);
	}
}

static void edges(void **state)
{
	static const struct {
		const char *script, *options[3], *edges;
	} cases[] = {
		{BASH "#ROTA step a\n#ROTA step b\n#ROTA step c\n", {0}, "b after a ok, c after b ok"},
		{BASH "#ROTA step a\n#ROTA step b\n#ROTA step c --after=none\n", {0}, ""},
		{BASH "#ROTA --after=none\n#ROTA step a\n#ROTA step b\n", {0}, ""},
		{BASH "#ROTA step a\n#ROTA step b\n", {"--after=none"}, ""},
		{BASH "#ROTA step a\n#ROTA step b --after=a\n#ROTA step c\n", {0}, "b after a ok"},
		{BASH "#ROTA step a\n#ROTA step b --with=a\n", {0}, "b with a"},
		{BASH "#ROTA step a\n#ROTA step b --same-nodes=a\n", {0}, "b after a ok, b same_nodes a"},
		{BASH "#ROTA step a\n#ROTA step b --other-nodes=a\n", {0}, "b after a ok, b other_nodes a"},
		{BASH "#ROTA step a\n#ROTA step b --after=a:any\n#ROTA step c --after=a:fail,b:start\n",
		 {0},
		 "b after a any, c after a fail, c after b start"},
		{BASH "#ROTA step a\n#ROTA step b\n#ROTA step c --after=a?b:any\n", {0}, "c after a ok, c after b any"},
		{BASH "#ROTA step a --array=0-3\n#ROTA step b --array=0,1,2,3 --after=a:corr\n", {0}, "b after a corr"},
		{BASH "#ROTA step a --after=c\n#ROTA step b\n#ROTA step c\n", {0}, "a after c ok"}, /* an edge to a later step */
		{BASH "#ROTA --after=812\n", {0}, "script after 812 ok"},
		{BASH "true\n", {"--after=812.solve:any"}, "script after 812.solve any"},
		{BASH "true\n", {"--dependency=afterany:812,7.x"}, "script after 812 any, script after 7.x any"},
		{BASH "true\n",
		 {"--dependency=afterburstbuffer:812:7,afterok:7"},
		 "script after 812 teardown, script after 7 teardown, script after 7 ok"},
		{BASH "#ROTA --after=812:teardown?7\n", {0}, "script after 812 teardown, script after 7 ok"},
		{BASH "#ROTA step a\n#ROTA step b\n", {"--after=812"}, "a after 812 ok, b after a ok"},
		{BASH "#ROTA step a --after=none\n#ROTA step b\n#ROTA step c --after=b\n#ROTA step d --after=9\n",
		 {"--after=812"},
		 "b after 812 ok, c after b ok, d after 9 ok"},
		{BASH "#ROTA --same-nodes=812.x\ntrue\n", {0}, "script same_nodes 812.x"},
		{BASH "#ROTA --other-nodes=812\n#ROTA step a\n", {0}, "a other_nodes 812"},
		{BASH "#ROTA step a --with=b,c\n#ROTA step b\n#ROTA step c\n", {0}, "a with b, a with c"},
		{BASH "#ROTA step a --with=b\n#ROTA step b --with=a\n", {0}, "a with b, b with a"},
		{BASH "#ROTA step a --with=b --same-nodes=b\n#ROTA step b --with=a --same-nodes=a\n",
		 {0},
		 "a with b, a same_nodes b, b with a, b same_nodes a"},
		{BASH "#ROTA step a --with=b --other-nodes=b\n#ROTA step b --other-nodes=a\n",
		 {0},
		 "a with b, a other_nodes b, b other_nodes a"},
		{BASH "#ROTA --dependency=afterok:5\n", {"--after=6"}, "script after 6 ok"},
		{BASH "#ROTA step a\n#ROTA step b --after 'a'\n", {0}, "b after a ok"},
		{BASH "#ROTA step a\n#ROTA step b --dependency=afternotok:a\n", {0}, "b after a fail"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[600];
		json_t *plan = plan_of(cases[i].script, cases[i].options);
		edges_text(plan, text, sizeof text);
		if (strcmp(text, cases[i].edges) != 0)
			fail_msg("%s\ngave \"%s\" instead of \"%s\"", cases[i].script, text, cases[i].edges);
		json_decref(plan);
	}
}

static void steps(void **state)
{
#define DESIGN                                                                                                                   \
	BASH "#ROTA --job-name=heat --account=physics --time=2:00:00\nset -e\n\n#ROTA step mesh --ntasks=1 --mem=2G\n./mesh\n\n" \
	     "#ROTA step solve --after=mesh --nodes=2 --ntasks-per-node=4\nmpirun\n\n"                                           \
	     "#ROTA step render --after=solve --same-nodes=solve --array=0-99%10\n./render\n\n#ROTA step tidy "                  \
	     "--after=render:any --retry=2\n./tidy\n"
	static const struct fact facts[] = {
		{DESIGN,
		 {0},
		 {
			 {"steps/0/line", "5"},
			 {"steps/1/ntasks", "8"},
			 {"steps/2/nodes_min", "2"},
			 /* the nodes of solve */ {"steps/2/nodes_max", "2"},
			 {"steps/2/ntasks", "2"},
			 {"steps/2/step_id", "2"},
			 {"steps/3/step_id", "103"},
			 {"steps/3/retry", "2"},
			 {"edges/3/step_id", "103"},
			 {"edges/3/peer_step", "2"},
			 {"edges/3/line", "14"},
			 {"job/sequence", "false"},
		 }},
		{BASH "#ROTA step a\n#ROTA step b\n", {0}, {{"job/sequence", "true"}, {"edges/0/line", "3"}}},
		{BASH "#ROTA step a\n#ROTA step b --with=a\n#ROTA step c --with=b\n#ROTA step d\n",
		 {0},
		 {{"steps/2/with_set", "0"}, {"steps/3/with_set", "null"}}},
		FACT("#ROTA step a --array=0-9\n#ROTA step b\n#ROTA step c --with=b\n", "steps/2/with_set", "11"),
		{BASH "#ROTA step a --after=b\n#ROTA step b --after=c\n#ROTA step c\n",
		 {0},
		 {{"steps/0/topo", "2"}, {"steps/2/topo", "0"}}},
		FACT("#ROTA step a --nodes=2\n#ROTA step b --same-nodes=a\n#ROTA step c --same-nodes=b\n", "steps/2/nodes_min",
		     "2"),
		FACT("#ROTA step a\n#ROTA step b --same-nodes=a --nodes=3\n", "steps/0/nodes_max", "3"),
		FACT("#ROTA step a --ntasks=6 --ntasks-per-node=2\n#ROTA step b --same-nodes=a\n", "steps/1/nodes_min", "3"),
		FACT("#ROTA step a\n#ROTA step b\n", "steps/1/name", "\"b\""), /* steps may be empty */
		FACT("#ROTA step a --workdir=/x\n#ROTA step b\n", "job/workdir", "\"/work\""),
		FACT("#ROTA step a\n#ROTA step b --after=a?812\n", "steps/1/deps_any", "true"),
		FACT("#ROTA step script\n#ROTA step Step-2_x\n", "steps/1/name", "\"Step-2_x\""),
	};
	(void)state;
	FACTS(facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges),
		cmocka_unit_test(steps),
	};
	return cmocka_run_group_tests(tests, utc, NULL);
}
