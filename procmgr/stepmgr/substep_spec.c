/* substep_spec.c - checks requests `run` of the step protocol.
 *
 * Called by: substep_client.c for each request, substep_engine.c for requests of the journal.
 * Invariants: a member that is unknown, or of another type than in docs/step-protocol.md, refuses the request. */
#include "procmgr/stepmgr/substep_spec.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hosts.h"
#include "lib/text.h"

enum member_kind { MEMBER_TEXT, MEMBER_INT, MEMBER_INT64, MEMBER_BOOL, MEMBER_LIST, MEMBER_OTHER };

/* One member of a request: its kind, where its value goes, and the range of a number. */
struct member {
	const char *name;
	enum member_kind kind;
	size_t offset;
	int64_t lowest, highest;
};

#define TEXT(member)                                                                                                             \
	{                                                                                                                        \
#member, MEMBER_TEXT, offsetof(struct substep_spec, member), 0, 0                                                \
	}
#define NUMBER(member, lowest, highest)                                                                                          \
	{                                                                                                                        \
#member, MEMBER_INT, offsetof(struct substep_spec, member), lowest, highest                                      \
	}
#define LONG(member, lowest, highest)                                                                                            \
	{                                                                                                                        \
#member, MEMBER_INT64, offsetof(struct substep_spec, member), lowest, highest                                    \
	}
#define FLAG(member)                                                                                                             \
	{                                                                                                                        \
#member, MEMBER_BOOL, offsetof(struct substep_spec, member), 0, 0                                                \
	}

static const struct member members[] = {
	{"op", MEMBER_OTHER, 0, 0, 0},
	{"id", MEMBER_OTHER, 0, 0, 0},
	{"env", MEMBER_LIST, 0, 0, 0},
	{"argv", MEMBER_LIST, 0, 0, 0},
	{"multi", MEMBER_OTHER, 0, 0, 0},
	{"pty", MEMBER_OTHER, 0, 0, 0},
	{"client", MEMBER_OTHER, 0, 0, 0},
	{"part", MEMBER_OTHER, 0, 0, 0},
	TEXT(nodelist),
	TEXT(exclude),
	TEXT(distribution),
	NUMBER(nodes, 1, SUBSTEP_TASKS_MOST),
	NUMBER(ntasks_per_node, 1, SUBSTEP_TASKS_MOST),
	TEXT(cwd),
	TEXT(name),
	TEXT(key),
	TEXT(gres),
	TEXT(cpu_bind),
	TEXT(after),
	TEXT(output),
	TEXT(error),
	TEXT(input),
	TEXT(session),
	NUMBER(ntasks, 1, SUBSTEP_TASKS_MOST),
	NUMBER(cpus_per_task, 1, SUBSTEP_TASKS_MOST),
	NUMBER(input_task, 0, SUBSTEP_TASKS_MOST - 1),
	NUMBER(notify, 0, NSIG - 1),
	NUMBER(priority, -1000000, 1000000),
	NUMBER(retry, 0, 1000000),
	LONG(mem_mb, 0, INT64_MAX / 1048576),
	LONG(time_s, 0, INT_MAX),
	LONG(wait_s, 0, INT_MAX),
	LONG(idle_timeout_s, 0, INT_MAX),
	FLAG(exclusive),
	FLAG(overlap),
	FLAG(kill_on_bad_exit),
	FLAG(detach),
};

static bool is_text_list(const json_t *list)
{
	size_t i;
	json_t *value;
	json_array_foreach (list, i, value)
		if (!json_is_string(value))
			return false;
	return json_is_array(list);
}

static bool read_member(struct substep_spec *spec, const struct member *m, const json_t *value, struct err *e)
{
	char *at = (char *)spec + m->offset;
	json_int_t number = json_integer_value(value);
	switch (m->kind) {
	case MEMBER_TEXT:
		if (!json_is_string(value) || json_string_length(value) != strlen(json_string_value(value)))
			return err_set(e, "\"%s\" must be a string", m->name);
		*(const char **)at = json_string_value(value);
		return true;
	case MEMBER_INT:
	case MEMBER_INT64:
		if (!json_is_integer(value) || number < m->lowest || number > m->highest)
			return err_set(e, "\"%s\" must be an integer from %lld to %lld", m->name, (long long)m->lowest,
				       (long long)m->highest);
		if (m->kind == MEMBER_INT)
			*(int *)at = (int)number;
		else
			*(int64_t *)at = number;
		return true;
	case MEMBER_BOOL:
		*(bool *)at = json_is_true(value);
		return json_is_boolean(value) || err_set(e, "\"%s\" must be true or false", m->name);
	case MEMBER_LIST:
		return is_text_list(value) || err_set(e, "\"%s\" must be a list of strings", m->name);
	case MEMBER_OTHER:
		break;
	}
	return true;
}

static bool read_members(struct substep_spec *spec, struct err *e)
{
	const char *name;
	json_t *value;
	json_object_foreach (spec->request, name, value) {
		size_t i = 0, count = sizeof members / sizeof *members;
		while (i < count && strcmp(members[i].name, name) != 0)
			i++;
		if (i == count)
			return err_set(e, "unknown member \"%.64s\"", name);
		if (!read_member(spec, &members[i], value, e))
			return false;
	}
	return true;
}

/* Is `text` a list of ranks like "0-3,7" that has `rank`? Returns -1 if it is no such list. */
static int ranks_have(const char *text, int rank)
{
	int found = 0;
	do {
		char *end;
		long from = strtol(text, &end, 10), to = from;
		if (end == text || from < 0)
			return -1;
		if (*end == '-') {
			text = end + 1;
			to = strtol(text, &end, 10);
			if (end == text || to < from)
				return -1;
		}
		found = found || (rank >= from && rank <= to);
		text = end;
	} while (*text++ == ',');
	return text[-1] == '\0' ? found : -1;
}

static bool check_multi(const struct substep_spec *spec, struct err *e)
{
	size_t i;
	json_t *part;
	if (!json_is_array(spec->multi) || json_array_size(spec->multi) == 0)
		return err_set(e, "\"multi\" must be a list of objects");
	json_array_foreach (spec->multi, i, part) {
		const char *ranks = json_string_value(json_object_get(part, "ranks"));
		const json_t *argv = json_object_get(part, "argv");
		if (!ranks || ranks_have(ranks, 0) < 0 || !is_text_list(argv) || json_array_size(argv) == 0)
			return err_set(e, "part %zu of \"multi\" needs \"ranks\" such as \"0-3\", and \"argv\"", i + 1);
	}
	for (int rank = 0; rank < spec->ntasks && spec->part.number == 0; rank++)
		if (!substep_spec_argv(spec, rank))
			return err_set(e, "\"multi\" has no program for rank %d of %d tasks", rank, spec->ntasks);
	return true;
}

/* Is `map` a list of CPU numbers like "0-3,8"? A longer text than MAP_MOST is refused, so that the number of CPUs fits into an
 * int. */
static bool check_map(const char *map, struct err *e)
{
	enum { MAP_MOST = 65536 };
	if (strlen(map) > MAP_MOST || ranks_have(map, 0) < 0)
		return err_set(e, "\"cpu_bind\" must be map: and CPU numbers such as 0-3,8, not \"map:%.64s\"", map);
	for (const char *at = map + strcspn(map, "0123456789"); *at; at += strcspn(at, "0123456789")) {
		char *end;
		long cpu = strtol(at, &end, 10);
		if (cpu >= CPU_SETSIZE)
			return err_set(e, "\"cpu_bind\" names CPU %ld; the highest number is %d", cpu, CPU_SETSIZE - 1);
		at = end;
	}
	return true;
}

static bool check_bind(const char *bind, struct err *e)
{
	static const char *const words[] = {"none", "threads", "cores", "sockets"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(bind, words[i]) == 0)
			return true;
	if (strncmp(bind, "map:", 4) == 0)
		return check_map(bind + 4, e);
	return err_set(e, "\"cpu_bind\" must be none, threads, cores, sockets or map:0,2,…, not \"%.64s\"", bind);
}

/* Returns the last component of the path of the program in `argv`. */
static const char *name_of(const json_t *argv)
{
	const char *program = json_string_value(json_array_get(argv, 0)), *slash = program ? strrchr(program, '/') : NULL;
	return slash && slash[1] ? slash + 1 : program;
}

/* Check the name of a session. It begins with a letter, so `rota attach`, which takes jobs too, does not mistake it for a job
 * number. */
static bool check_session(const struct substep_spec *spec, struct err *e)
{
	static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t length = strlen(spec->session);
	if (length == 0)
		return true;
	return (length < SUBSTEP_SESSION_SIZE && strspn(spec->session, known) == length &&
		strchr(known, *spec->session) - known < 52) ||
	       err_set(e, "\"session\" must begin with a letter and have at most %d letters, digits, \"_\", \".\" and \"-\"",
		       SUBSTEP_SESSION_SIZE - 1);
}

static bool check_terminal(struct substep_spec *spec, struct err *e)
{
	const json_t *pty = json_object_get(spec->request, "pty");
	json_int_t rows = json_integer_value(json_object_get(pty, "rows")),
		   cols = json_integer_value(json_object_get(pty, "cols"));
	if (!pty)
		return (!*spec->session && spec->idle_timeout_s == 0) ||
		       err_set(e, "\"session\" and \"idle_timeout_s\" need \"pty\"");
	if (rows < 1 || rows > SUBSTEP_WINDOW_MOST || cols < 1 || cols > SUBSTEP_WINDOW_MOST)
		return err_set(e, "\"pty\" needs \"rows\" and \"cols\" from 1 to %d", SUBSTEP_WINDOW_MOST);
	spec->rows = (int)rows;
	spec->cols = (int)cols;
	if (spec->ntasks != 1 || spec->multi)
		return err_set(e, "\"pty\" is for one task");
	if (!check_session(spec, e))
		return false;
	if (!*spec->session)
		spec->session = spec->name;
	return true;
}

static bool check_input(const struct substep_spec *spec, struct err *e)
{
	if (spec->input_task >= spec->ntasks)
		return err_set(e, "\"input_task\": there is no task %d; the last one is %d", spec->input_task, spec->ntasks - 1);
	return spec->input_task < 0 || strcmp(spec->input, "client") == 0 ||
	       err_set(e, "\"input_task\" needs \"input\": \"client\"");
}

static bool read_part(struct substep_spec *spec, struct err *e)
{
	const json_t *part = json_object_get(spec->request, "part");
	if (!part)
		return true;
	struct substep_ranks *r = &spec->part.ranks;
	return json_unpack((json_t *)part, "{s:i, s:i, s:i, s?i, s:i}", "number", &spec->part.number, "first", &r->first,
			   "stride", &r->stride, "block", &r->block, "total", &spec->part.total) == 0 ||
	       err_set(e, "\"part\", the tasks that an agent runs, needs \"number\", \"first\", \"stride\" and \"total\"");
}

/* Check the ranks of a part against its number of tasks. */
static bool check_part(struct substep_spec *spec, struct err *e)
{
	spec->part.ranks.count = spec->ntasks;
	return spec->part.number == 0 || substep_ranks_are_valid(&spec->part.ranks, spec->part.total) ||
	       err_set(e, "\"part\" has ranks of tasks that are not below \"total\"");
}

/* Read from the request how tasks are distributed over nodes. */
static bool read_distribution(struct substep_spec *spec, struct err *e)
{
	const char *text = spec->distribution;
	char *end;
	spec->plane = strcmp(text, "cyclic") == 0;
	if (!*text || strcmp(text, "block") == 0 || strcmp(text, "cyclic") == 0)
		return true;
	long plane = strncmp(text, "plane=", 6) == 0 && text[6] >= '1' && text[6] <= '9' ? strtol(text + 6, &end, 10) : 0;
	if (plane < 1 || *end || plane > SUBSTEP_TASKS_MOST)
		return err_set(e, "\"distribution\" must be block, cyclic or plane=N with N from 1 to %d, not \"%.64s\"",
			       SUBSTEP_TASKS_MOST, text);
	spec->plane = (int)plane;
	return true;
}

/* Does each requested node get at least one task, and no node more than the request allows? */
static bool check_nodes(const struct substep_spec *spec, struct err *e)
{
	int nodes = spec->nodes, most = nodes ? substep_ranks_of_node(spec->ntasks, nodes, 0, spec->plane).count : 0;
	if (nodes == 0)
		return true;
	if (nodes > spec->ntasks)
		return err_set(e, "%d task%s too few for %d nodes", spec->ntasks, spec->ntasks == 1 ? " is" : "s are", nodes);
	if (substep_ranks_of_node(spec->ntasks, nodes, nodes - 1, spec->plane).count == 0)
		return err_set(e, "%d tasks in blocks of %d leave nothing for %d nodes", spec->ntasks, spec->plane, nodes);
	return spec->ntasks_per_node == 0 || most <= spec->ntasks_per_node ||
	       err_set(e, "%d tasks are more than %d on each of %d nodes", spec->ntasks, spec->ntasks_per_node, nodes);
}

/* If no number of tasks is given, set it by the number of nodes. */
static bool count_tasks(struct substep_spec *spec, struct err *e)
{
	if (!read_distribution(spec, e))
		return false;
	if (*spec->nodelist && hosts_count(spec->nodelist) < 1)
		return err_set(e, "\"nodelist\" must be a list of nodes such as n1,n2 or n[1-4], not \"%.64s\"", spec->nodelist);
	if (*spec->exclude && hosts_count(spec->exclude) < 1)
		return err_set(e, "\"exclude\" must be a list of nodes such as n1,n2 or n[1-4], not \"%.64s\"", spec->exclude);
	if (*spec->nodelist && spec->nodes == 0)
		spec->nodes = hosts_count(spec->nodelist);
	if (spec->ntasks == 0)
		spec->ntasks = (spec->nodes ? spec->nodes : 1) * (spec->ntasks_per_node ? spec->ntasks_per_node : 1);
	if (spec->nodes == 0 && spec->ntasks_per_node > 0)
		spec->nodes = (spec->ntasks + spec->ntasks_per_node - 1) / spec->ntasks_per_node;
	return check_nodes(spec, e);
}

static bool check_spec(struct substep_spec *spec, struct err *e)
{
	if (!read_part(spec, e) || !count_tasks(spec, e) || !check_part(spec, e))
		return false;
	if (!spec->multi == !spec->argv)
		return err_set(e, "give either \"argv\" or \"multi\"");
	if (spec->multi ? !check_multi(spec, e) : json_array_size(spec->argv) == 0 && !err_set(e, "\"argv\" has no program"))
		return false;
	if (!*spec->name)
		spec->name = name_of(substep_spec_argv(spec, 0));
	if (strlen(spec->key) >= SUBSTEP_KEY_SIZE)
		return err_set(e, "\"key\" has more than %d bytes", SUBSTEP_KEY_SIZE - 1);
	if (*spec->cwd != '/')
		return err_set(e, "\"cwd\" must be an absolute path");
	if (spec->exclusive && spec->overlap)
		return err_set(e, "\"exclusive\" and \"overlap\" exclude each other");
	return check_input(spec, e) && check_terminal(spec, e) && check_bind(spec->cpu_bind, e);
}

struct substep_spec *substep_spec_parse(json_t *request, json_t *env, const char *cwd, struct err *e)
{
	json_t *own = json_object_get(request, "env");
	struct substep_spec *spec = xcalloc(1, sizeof *spec);
	spec->request = json_incref(request);
	spec->env = json_incref(json_is_array(own) ? own : env);
	spec->argv = json_object_get(request, "argv");
	spec->multi = json_object_get(request, "multi");
	spec->cwd = cwd;
	spec->name = spec->key = spec->gres = spec->after = spec->output = spec->error = spec->session = "";
	spec->cpu_bind = spec->input = "none";
	spec->nodelist = spec->exclude = spec->distribution = "";
	spec->cpus_per_task = 1;
	spec->input_task = -1;
	if (read_members(spec, e) && check_spec(spec, e))
		return spec;
	substep_spec_free(spec);
	return NULL;
}

void substep_spec_free(struct substep_spec *spec)
{
	if (!spec)
		return;
	json_decref(spec->request);
	json_decref(spec->env);
	free(spec);
}

const json_t *substep_spec_argv(const struct substep_spec *spec, int rank)
{
	size_t i;
	json_t *part;
	if (spec->argv)
		return spec->argv;
	json_array_foreach (spec->multi, i, part)
		if (ranks_have(json_string_value(json_object_get(part, "ranks")), rank) > 0)
			return json_object_get(part, "argv");
	return NULL;
}

void substep_spec_command(const struct substep_spec *spec, char *text, size_t size)
{
	const json_t *argv = substep_spec_argv(spec, 0);
	size_t i, length = 0;
	json_t *word;
	*text = '\0';
	json_array_foreach (argv, i, word) {
		if (length + 1 < size)
			length += (size_t)snprintf(text + length, size - length, "%s%s", i ? " " : "", json_string_value(word));
	}
}
