/* agent_substep_line.c - turns lines of a step manager's journal into rows for api.node_substep_report.
 *
 * Called by: agent_substep.c for each line of a file in substeps/.
 * Invariants:
 * - The lines are checked as if they came from an attacker. A line with a member of the wrong type or a number that is no 64-bit
 *   integer is bad as a whole. Texts are cut to TEXT_MOST characters and have no control characters.
 * - Job, step and attempt of a row are those of the file's name. A line cannot name them.
 * - A sub-step has one row in a report. After its end, further lines of it change nothing. */
#include "procmgr/agent/agent_substep_line.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/err.h"
#include "lib/text.h"

enum { ROWS_MOST = 2000, SLOTS = 4096, TEXT_MOST = 256, ATTACHED_MOST = 16 };

struct agent_substep_rows {
	json_t *rows, *calls;
	int most;
	struct record_key key;
	int numbers[ROWS_MOST]; /* number of the sub-step of each row in `rows` */
	/* index in `calls` of the row with the call of the present attempt's step manager, or a node's wish for one; -1: none */
	int call_at;
	/* index in `calls` of the row that says where the present attempt's step manager listens; -1: none */
	int listen_at;
	short slots[SLOTS]; /* hash table of the rows of the present attempt: index in `rows`, or -1 */
};

struct agent_substep_rows *agent_substep_rows_new(int most)
{
	struct agent_substep_rows *r = xcalloc(1, sizeof *r);
	r->rows = json_array();
	r->calls = json_array();
	r->most = most < ROWS_MOST ? most : ROWS_MOST;
	return r;
}

void agent_substep_rows_free(struct agent_substep_rows *r)
{
	json_decref(r->rows);
	json_decref(r->calls);
	free(r);
}

int agent_substep_rows_count(const struct agent_substep_rows *r)
{
	return (int)(json_array_size(r->rows) + json_array_size(r->calls));
}

bool agent_substep_rows_is_full(const struct agent_substep_rows *r)
{
	return agent_substep_rows_count(r) >= r->most;
}

json_t *agent_substep_rows_json(const struct agent_substep_rows *r)
{
	return r->rows;
}

json_t *agent_substep_rows_calls(const struct agent_substep_rows *r)
{
	return r->calls;
}

void agent_substep_rows_begin(struct agent_substep_rows *r, const struct record_key *key)
{
	r->key = *key;
	r->call_at = r->listen_at = -1;
	for (int i = 0; i < SLOTS; i++)
		r->slots[i] = -1;
}

/* Returns an object that names the present attempt. */
static json_t *attempt_json(const struct agent_substep_rows *r)
{
	return json_pack("{s:I, s:i, s:i}", "job", (json_int_t)r->key.job_id, "step", r->key.step_id, "attempt", r->key.attempt);
}

/* Find the row of a sub-step of the present attempt, or add it. Returns NULL if there are too many rows. */
static json_t *rows_find(struct agent_substep_rows *r, int substep)
{
	unsigned slot = (unsigned)substep % SLOTS;
	for (; r->slots[slot] >= 0; slot = (slot + 1) % SLOTS)
		if (r->numbers[r->slots[slot]] == substep)
			return json_array_get(r->rows, (size_t)r->slots[slot]);
	if (agent_substep_rows_is_full(r))
		return NULL;
	json_t *row = attempt_json(r);
	json_object_set_new(row, "substep", json_integer(substep));
	r->slots[slot] = (short)json_array_size(r->rows);
	r->numbers[r->slots[slot]] = substep;
	json_array_append_new(r->rows, row);
	return row;
}

/* A member of a journal line that becomes a column of its sub-step's row. */
struct member {
	const char *name, *column;
	bool is_text;
};

static const struct member queue_members[] = {
	{"at", "queued_us", false},	 {"name", "name", true},      {"command", "command", true}, {"gres", "gres", true},
	{"after", "after", true},	 {"ntasks", "ntasks", false}, {"cpus", "cpus", false},	    {"mem_mb", "mem_mb", false},
	{"priority", "priority", false}, {"retry", "retry", false},   {NULL, NULL, false},
};
static const struct member start_members[] = {
	{"at", "started_us", false}, {"run", "run", false}, {"node", "node", true}, {NULL, NULL, false}};
static const struct member end_members[] = {
	{"at", "ended_us", false},
	{"state", "state", true},
	{"exit", "exit", false},
	{"signal", "signal", false},
	{"cause", "cause", true},
	{"run", "run", false},
	{"tasks_failed", "tasks_failed", false},
	{"user_usec", "user_usec", false},
	{"system_usec", "system_usec", false},
	{"max_rss_kb", "max_rss_kb", false},
	{"minflt", "minflt", false},
	{"majflt", "majflt", false},
	{"rchar", "rchar", false},
	{"wchar", "wchar", false},
	{"read_bytes", "read_bytes", false},
	{"write_bytes", "write_bytes", false},
	{"nvcsw", "nvcsw", false},
	{"nivcsw", "nivcsw", false},
	{NULL, NULL, false},
};

static const struct member session_members[] = {{"at", "session_us", false},
						{"name", "session", true},
						{"key_at", "key_us", false},
						{"output_at", "output_us", false},
						{"idle_timeout_s", "idle_timeout_s", false},
						{"idle_timeout_of", "idle_timeout_of", true},
						{NULL, NULL, false}};

/* A kind of journal lines that is reported. */
struct kind {
	const char *name;
	const struct member *members;
	const char *state; /* state of the sub-step in its row; NULL: the line names it; "": the row has none */
};

static const struct kind kinds[] = {{"queue", queue_members, "waiting"},
				    {"start", start_members, "running"},
				    {"session", session_members, ""},
				    {"end", end_members, NULL}};

static const struct kind *find_kind(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i].name) == length && memcmp(kinds[i].name, name, length) == 0)
			return &kinds[i];
	return NULL;
}

/* Is the line of a kind that is not reported, as far as its first bytes show? It is then not parsed. */
static bool is_other_kind(const char *line, size_t size)
{
	static const char head[] = "{\"kind\":\"";
	size_t begin = sizeof head - 1;
	if (size <= begin || memcmp(line, head, begin) != 0)
		return false;
	const char *end = memchr(line + begin, '"', size - begin);
	return end && !find_kind(line + begin, (size_t)(end - line) - begin) && strncmp(line + begin, "call\"", 5) != 0 &&
	       strncmp(line + begin, "join\"", 5) != 0 && strncmp(line + begin, "grow\"", 5) != 0 &&
	       strncmp(line + begin, "shrink\"", 7) != 0 && strncmp(line + begin, "listen\"", 7) != 0;
}

static bool is_final_state(const char *state)
{
	static const char *const states[] = {"completed", "failed", "timeout", "cancelled", "skipped", "dependency_failed"};
	for (size_t i = 0; state && i < sizeof states / sizeof *states; i++)
		if (strcmp(states[i], state) == 0)
			return true;
	return false;
}

/* Is the JSON value a list of the people who are attached to a session, or absent? */
static bool attached_is_valid(const json_t *list)
{
	size_t i;
	json_t *person;
	json_array_foreach (list, i, person) {
		const json_t *since = json_object_get(person, "since");
		if (!json_is_string(json_object_get(person, "user")) || !json_is_string(json_object_get(person, "host")) ||
		    !json_is_integer(since))
			return false;
	}
	return !list || json_is_array(list);
}

static bool members_are_valid(const json_t *line, const struct kind *kind)
{
	for (const struct member *m = kind->members; m->name; m++) {
		const json_t *value = json_object_get(line, m->name);
		if (value && (m->is_text ? !json_is_string(value) : !json_is_integer(value)))
			return false;
	}
	if (kind->members == session_members && !attached_is_valid(json_object_get(line, "attached")))
		return false;
	return json_is_integer(json_object_get(line, "at")) &&
	       (kind->state || is_final_state(json_string_value(json_object_get(line, "state"))));
}

/* Returns a text of a line, cut and without control characters, line ends and tabs. */
static json_t *clean_text(const json_t *value)
{
	char text[TEXT_MOST * 4 + 1]; /* a UTF-8 character has up to 4 bytes */
	const char *from = json_string_value(value);
	size_t size = 0;
	for (int i = 0; i < TEXT_MOST && from[size]; i++) {
		size_t one = text_character_size(from + size);
		size += one ? one : 1;
	}
	size = size < sizeof text - 1 ? size : sizeof text - 1;
	memcpy(text, from, size);
	text[size] = '\0';
	text_clean(text);
	for (char *c = text; (c = strpbrk(c, "\t\n"));)
		*c = ' ';
	return json_string(text);
}

static void copy_members(json_t *row, const json_t *line, const struct kind *kind)
{
	for (const struct member *m = kind->members; m->name; m++) {
		json_t *value = json_object_get(line, m->name);
		if (value)
			json_object_set_new(row, m->column, m->is_text ? clean_text(value) : json_incref(value));
	}
}

/* Copy the first people of a valid list. */
static void copy_attached(json_t *row, const json_t *list)
{
	json_t *people = json_array(), *person;
	size_t i;
	json_array_foreach (list, i, person) {
		if (i == ATTACHED_MOST)
			break;
		json_array_append_new(people, json_pack("{s:o, s:o, s:O}", "user", clean_text(json_object_get(person, "user")),
							"host", clean_text(json_object_get(person, "host")), "since",
							json_object_get(person, "since")));
	}
	json_object_set_new(row, "attached", people);
}

/* Add the facts of a valid line to the row of its sub-step. */
static void row_add(json_t *row, const json_t *line, const struct kind *kind)
{
	const char *state = json_string_value(json_object_get(row, "state"));
	json_int_t run = json_integer_value(json_object_get(row, "run"));
	if (is_final_state(state))
		return;
	copy_members(row, line, kind);
	if (kind->members == session_members)
		copy_attached(row, json_object_get(line, "attached"));
	if (run > json_integer_value(json_object_get(row, "run")))
		json_object_set_new(row, "run", json_integer(run));
	if (kind->state && *kind->state && (!state || strcmp(kind->state, "running") == 0))
		json_object_set_new(row, "state", json_string(kind->state));
}

static bool are_keys(const json_t *keys)
{
	const char *node;
	json_t *key;
	json_object_foreach ((json_t *)keys, node, key)
		if (!json_is_string(key))
			return false;
	return json_is_object(keys);
}

/* Add the wish of a node that the step manager calls it, unless the list has a wish or call of the attempt: one is enough. */
static enum agent_substep_taken add_join(struct agent_substep_rows *r)
{
	if (r->call_at >= 0)
		return AGENT_SUBSTEP_SKIPPED;
	if (agent_substep_rows_is_full(r))
		return AGENT_SUBSTEP_FULL;
	json_t *call = attempt_json(r);
	json_object_set_new(call, "join", json_true());
	r->call_at = (int)json_array_size(r->calls);
	json_array_append_new(r->calls, call);
	return AGENT_SUBSTEP_TAKEN;
}

/* Add a call, or replace that of an earlier line of the attempt. */
static void put_call(struct agent_substep_rows *r, int *at, json_t *call)
{
	if (*at >= 0) {
		json_array_set_new(r->calls, (size_t)*at, call);
		return;
	}
	*at = (int)json_array_size(r->calls);
	json_array_append_new(r->calls, call);
}

/* Add the call of a step manager to the other nodes of its attempt. The database checks the nodes that it names. */
static enum agent_substep_taken add_call(struct agent_substep_rows *r, const json_t *line)
{
	json_t *port = json_object_get(line, "port"), *keys = json_object_get(line, "keys");
	if (!json_is_integer(port) || json_integer_value(port) < 1 || json_integer_value(port) > UINT16_MAX || !are_keys(keys))
		return AGENT_SUBSTEP_BAD;
	if (r->call_at < 0 && agent_substep_rows_is_full(r))
		return AGENT_SUBSTEP_FULL;
	json_t *call = attempt_json(r);
	json_object_set(call, "port", port);
	json_object_set(call, "keys", keys);
	put_call(r, &r->call_at, call);
	return AGENT_SUBSTEP_TAKEN;
}

/* Take the record of a step manager that calls the agent on a node of a growth ("grow"), or gives a node back ("shrink"): one of the step
 * itself, without a growth, or of a growth. The database checks what it names. */
static enum agent_substep_taken add_growth(struct agent_substep_rows *r, const json_t *line, bool calls)
{
	json_t *port = json_object_get(line, "port"), *key = json_object_get(line, "key");
	const json_t *growth = json_object_get(line, "growth"), *node = json_object_get(line, "node");
	if (!(growth ? json_is_string(growth) : !calls) || !json_is_string(node) ||
	    (calls && (!json_is_integer(port) || json_integer_value(port) < 1 || json_integer_value(port) > UINT16_MAX ||
		       !json_is_string(key))))
		return AGENT_SUBSTEP_BAD;
	if (agent_substep_rows_is_full(r))
		return AGENT_SUBSTEP_FULL;
	json_t *call = attempt_json(r);
	if (growth)
		json_object_set_new(call, "growth", clean_text(growth));
	json_object_set_new(call, "on", clean_text(node));
	if (calls) {
		json_object_set(call, "port", port);
		json_object_set_new(call, "key", clean_text(key));
	}
	json_array_append_new(r->calls, call);
	return AGENT_SUBSTEP_TAKEN;
}

/* Take where a step manager listens for clients. The database checks the values. */
static enum agent_substep_taken add_listen(struct agent_substep_rows *r, const json_t *line)
{
	json_t *port = json_object_get(line, "port"), *fingerprint = json_object_get(line, "fingerprint");
	if (!json_is_integer(port) || json_integer_value(port) < 1 || json_integer_value(port) > UINT16_MAX ||
	    !json_is_string(fingerprint) || json_string_length(fingerprint) > TEXT_MOST)
		return AGENT_SUBSTEP_BAD;
	if (r->listen_at < 0 && agent_substep_rows_is_full(r))
		return AGENT_SUBSTEP_FULL;
	json_t *call = attempt_json(r);
	json_object_set(call, "port", port);
	json_object_set_new(call, "fingerprint", clean_text(fingerprint));
	put_call(r, &r->listen_at, call);
	return AGENT_SUBSTEP_TAKEN;
}

enum agent_substep_taken agent_substep_rows_add(struct agent_substep_rows *r, const char *text, size_t size)
{
	json_error_t error;
	enum agent_substep_taken taken = AGENT_SUBSTEP_BAD;
	if (is_other_kind(text, size))
		return AGENT_SUBSTEP_SKIPPED;
	json_t *line = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	const char *name = json_string_value(json_object_get(line, "kind"));
	const struct kind *kind = name ? find_kind(name, strlen(name)) : NULL;
	json_int_t substep = json_integer_value(json_object_get(line, "substep"));
	if (name && strcmp(name, "call") == 0) {
		taken = add_call(r, line);
	} else if (name && strcmp(name, "join") == 0) {
		taken = add_join(r);
	} else if (name && (strcmp(name, "grow") == 0 || strcmp(name, "shrink") == 0)) {
		taken = add_growth(r, line, *name == 'g');
	} else if (name && strcmp(name, "listen") == 0) {
		taken = add_listen(r, line);
	} else if (name && !kind) {
		taken = AGENT_SUBSTEP_SKIPPED;
	} else if (kind && substep >= 1 && substep <= INT_MAX && members_are_valid(line, kind)) {
		json_t *row = rows_find(r, (int)substep);
		taken = row ? AGENT_SUBSTEP_TAKEN : AGENT_SUBSTEP_FULL;
		if (row)
			row_add(row, line, kind);
	}
	json_decref(line);
	return taken;
}
