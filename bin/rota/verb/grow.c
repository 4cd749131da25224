/* grow.c - `rota grow`: requests more nodes or tasks for a running step, and lists these requests.
 *
 * Called by: main.c and everyday.c, through verbs.def.
 * Invariants:
 * - A request is a job of its own (bin/rota/steps/growth.h). Its script is `rota grow --hold`, which runs nothing. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"
#include "bin/rota/steps/growth.h"

enum { GROW_WITHIN = 256, GROW_MEM, GROW_GRES, GROW_KEY, GROW_LIST, GROW_PARSABLE, GROW_HOLD, GROW_MOST = 100000 };

const struct verb_option grow_options[] = {
	{'N', "nodes", "+N", "N more nodes, each like those of the step; each is used as soon as it is free"},
	{'n', "ntasks", "+N", "N more tasks, on as few nodes as have room; they come all at once"},
	{GROW_WITHIN, "within", "TIME", "give the request up if it has not started within this time: minutes, h:m:s or d-h:m:s"},
	{'t', "time", "TIME", "how long the nodes are needed (default: what is left of the step's time limit); 0 = no limit"},
	{'c', "cpus-per-task", "N", "CPUs of each node with --nodes, of each task with --ntasks (default: as the step has)"},
	{GROW_MEM, "mem", "SIZE", "memory on each node: MiB, or with K, M, G, T (default: as the step has)"},
	{GROW_GRES, "gres", "LIST", "generic resources on each node, as in gpu:2 (default: with --nodes, as the step has)"},
	{'w', "nodelist", "LIST", "only these nodes: n1,n2 or n[1-4]"},
	{'x', "exclude", "LIST", "none of these nodes"},
	{'C', "constraint", "EXPR", "features of the nodes (default: as the step has)"},
	{GROW_KEY, "client-key", "KEY", "name of this request; another request with the same key returns the first one"},
	{GROW_LIST, "list", NULL, "list the requests of the step: state, nodes, expected start, reason"},
	{GROW_PARSABLE, "parsable", NULL, "print only the id of the request, which is the id of a job"},
	{GROW_HOLD, "hold", NULL, "run nothing until SIGTERM: the script of a growth"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

struct grow_command {
	struct growth_request request;
	bool list, parsable, hold, json;
};

/* Returns the number in a value such as "+2"; the sign may be left out. */
static long grow_count(const struct verb_scan *scan)
{
	struct verb_scan own = *scan;

	own.value += *own.value == '+';
	return verb_number(&own, 1, GROW_MOST);
}

static void grow_take(struct grow_command *c, const struct verb_scan *scan, int id)
{
	struct growth_request *r = &c->request;

	switch (id) {
	case 'N':
		r->nodes = grow_count(scan);
		break;
	case 'n':
		r->ntasks = grow_count(scan);
		break;
	case 'c':
		r->cpus_per_task = verb_number(scan, 1, GROW_MOST);
		break;
	case 't':
		r->time = scan->value;
		break;
	case 'w':
		r->nodelist = scan->value;
		break;
	case 'x':
		r->exclude = scan->value;
		break;
	case 'C':
		r->constraint = scan->value;
		break;
	case GROW_WITHIN:
		r->within = scan->value;
		break;
	case GROW_MEM:
		r->mem = scan->value;
		break;
	case GROW_GRES:
		r->gres = scan->value;
		break;
	case GROW_KEY:
		r->key = scan->value;
		break;
	default:
		c->list |= id == GROW_LIST;
		c->parsable |= id == GROW_PARSABLE;
		c->hold |= id == GROW_HOLD;
		c->json |= id == VERB_JSON;
	}
}

/* Hold the nodes of a growth until SIGTERM comes, which ends the growth. */
static int grow_hold(void)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (sigwait(&set, &number) != 0)
		continue;
	return EXIT_OK;
}

static void list_add_row(struct table *t, const json_t *row)
{
	const char *state = format_text(row, "state"), *nodes = format_text(row, "nodes");

	table_cell(t, format_text(row, "label"));
	table_cell_coloured(t, state, format_state_colour(state));
	table_cell(t, format_count(json_object_get(row, "priority")).s);
	table_cell(t, format_count(json_object_get(row, "nodes_wanted")).s);
	table_cell(t, format_count(json_object_get(row, "ntasks")).s);
	table_cell(t, *nodes ? nodes : "-");
	table_cell(t, format_when(json_object_get(row, "expected_at")).s);
	table_cell(t, format_text(row, "reason"));
}

static int grow_list(const char *word, bool json)
{
	static const struct table_column columns[] = {{"ID", false, 0},	     {"STATE", false, 0}, {"PRIORITY", true, 0},
						      {"WANTED", true, 0},   {"TASKS", true, 0},  {"NODES", false, 8},
						      {"EXPECTED", true, 0}, {"REASON", false, 8}};
	json_t *answer = call_gate("growths", json_pack("{s:[s]}", "jobs", word)), *row;
	size_t i;

	if (!answer)
		return call_status();
	if (json) {
		call_print_json();
	} else {
		struct table *t = table_new(columns, sizeof columns / sizeof *columns);

		json_array_foreach (json_object_get(answer, "growths"), i, row)
			list_add_row(t, row);
		table_print(t, stdout, false);
		table_free(t);
	}
	json_decref(answer);
	return EXIT_OK;
}

static void grow_check(const struct verb *verb, const struct grow_command *c)
{
	bool asks = c->request.nodes > 0 || c->request.ntasks > 0;

	if (c->request.nodes > 0 && c->request.ntasks > 0)
		verb_misuse(verb, "--nodes cannot be combined with --ntasks; ask for them one after the other");
	if (asks && (c->list || c->hold))
		verb_misuse(verb, "--%s asks for nothing", c->list ? "list" : "hold");
	if (!asks && !c->list && !c->hold)
		verb_misuse(verb, "say how much more: --nodes=+2 or --ntasks=+8");
}

int verb_grow(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct grow_command c = {.json = false};
	const char *word = getenv("ROTA_STEP_LABEL");
	json_t *answer;
	int status;

	for (int id; (id = verb_next(&scan));)
		grow_take(&c, &scan, id);
	verb_operands(&scan, 0, 1);
	grow_check(verb, &c);
	if (c.hold)
		return grow_hold();
	if (scan.operands)
		word = argv[scan.at];
	if (!word)
		verb_misuse(verb, "outside a job, name one that runs: rota grow --nodes=+1 JOB");
	if (c.list)
		return grow_list(word, c.json);
	answer = growth_submit(word, &c.request, &status);
	if (!answer)
		return status;
	if (c.json)
		call_print_json();
	else if (c.parsable)
		printf("%lld\n", (long long)json_integer_value(json_object_get(answer, "job_id")));
	else
		printf("job %lld grows %s\n", (long long)json_integer_value(json_object_get(answer, "job_id")), word);
	json_decref(answer);
	return EXIT_OK;
}
