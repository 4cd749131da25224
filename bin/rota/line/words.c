/* words.c - values and operands of a command line as JSON (words.h).
 *
 * Called by: verbs that build requests. */
#include "bin/rota/line/words.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "jobmgr/translate/option.h"
#include "lib/err.h"
#include "lib/nearest.h"

enum { MOST_NODES = 65536 };

static json_t *word_text(const struct verb_scan *scan, const char *word)
{
	json_t *value = json_string(word);

	if (!value)
		verb_misuse(scan->verb, "\"%s\" is not UTF-8", word);
	return value;
}

json_t *words_text(const struct verb_scan *scan)
{
	return word_text(scan, scan->value);
}

json_t *words_list(const struct verb_scan *scan)
{
	json_t *list = json_array();
	char *copy = xstrdup(scan->value), *rest = copy, *word;

	while ((word = strsep(&rest, ",")))
		if (*word)
			json_array_append_new(list, word_text(scan, word));
	free(copy);
	return list;
}

/* Replace a state by Rota's name for it. The state may be a letter or name of another system, in any case. */
static void state_write(char *word)
{
	static const struct {
		const char *slurm, *state;
	} states[] = {
		{"pd", "pending"},	  {"r", "running"},	    {"s", "suspended"},		 {"cg", "ending"},
		{"completing", "ending"}, {"cf", "starting"},	    {"configuring", "starting"}, {"cd", "completed"},
		{"f", "failed"},	  {"to", "timeout"},	    {"ca", "cancelled"},	 {"nf", "node_fail"},
		{"pr", "preempted"},	  {"oom", "out_of_memory"}, {"dl", "deadline"},
	};

	for (char *c = word; *c; c++)
		*c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(word, states[i].slurm))
			strcpy(word, states[i].state);
}

/* Returns the value of the current option, a list of states. */
static json_t *words_states(const struct verb_scan *scan)
{
	enum { LONGEST = 32 };
	json_t *list = words_list(scan);
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one) {
		char word[LONGEST];

		if (json_string_length(one) >= sizeof(word))
			continue;
		snprintf(word, sizeof(word), "%s", json_string_value(one));
		state_write(word);
		json_array_set_new(list, i, json_string(word));
	}
	return list;
}

bool words_member_set(const struct verb_scan *scan, int id, const struct words_member *table, json_t *request)
{
	while (table->key && table->id != id)
		table++;
	if (!table->key)
		return false;
	json_object_set_new(request, table->key,
			    table->form == WORDS_TEXT	  ? words_text(scan)
			    : table->form == WORDS_LIST	  ? words_list(scan)
			    : table->form == WORDS_STATES ? words_states(scan)
			    : table->form == WORDS_ME	  ? json_string(words_me())
							  : json_true());
	return true;
}

json_t *words_operands(const struct verb_scan *scan)
{
	json_t *list = json_array();

	for (int i = 0; i < scan->operands; i++)
		json_array_append_new(list, word_text(scan, scan->argv[scan->at + i]));
	return list;
}

static json_t *word_hosts(const struct verb_scan *scan, const char *word)
{
	struct option_context context = {.items_left = MOST_NODES};
	struct err e = {0};
	json_t *names = option_value(option_row(OPTION_ID_NODELIST), word, &context, &e);

	if (!names)
		verb_misuse(scan->verb, "%s", e.message);
	return names;
}

json_t *words_hosts(const struct verb_scan *scan)
{
	return word_hosts(scan, scan->value);
}

json_t *words_nodes(const struct verb_scan *scan)
{
	json_t *list = json_array();

	for (int i = 0; i < scan->operands; i++) {
		json_t *names = word_hosts(scan, scan->argv[scan->at + i]);

		json_array_extend(list, names);
		json_decref(names);
	}
	return list;
}

/* Returns the user name nearest to `name`, malloc'ed; NULL if none is similar. */
static char *user_nearest(const char *name)
{
	struct nearest nearest = NEAREST(name);
	const struct passwd *pw;
	char *best = NULL;

	setpwent();
	while ((pw = getpwent())) {
		int distance = nearest.distance;

		nearest_try(&nearest, pw->pw_name);
		if (nearest.distance < distance) { /* getpwent() overwrites the entry */
			free(best);
			best = xstrdup(pw->pw_name);
		}
	}
	endpwent();
	return best;
}

static bool user_known(const char *name)
{
	struct err e = {0};
	char *near;

	if (!*name || getpwnam(name))
		return true;
	near = user_nearest(name);
	err_set(&e, "there is no user \"%s\"", name);
	snprintf(e.code, sizeof(e.code), "RT404");
	if (near)
		err_hint(&e, "Did you mean \"%s\"?", near);
	call_refuse(&e);
	free(near);
	return false;
}

static bool users_known(const json_t *request)
{
	const json_t *users = json_object_get(request, "user"), *user;
	char *copy = xstrdup(json_is_string(users) ? json_string_value(users) : ""), *rest = copy, *name;
	bool known = true;
	size_t i;

	while (known && (name = strsep(&rest, ",")))
		known = user_known(name);
	json_array_foreach (users, i, user)
		known = known && user_known(json_string_value(user));
	free(copy);
	return known;
}

bool words_found(const json_t *request, const json_t *answer)
{
	return json_array_size(json_object_get(answer, "jobs")) || json_array_size(json_object_get(answer, "rows")) ||
	       json_string_length(json_object_get(answer, "lines")) || users_known(request);
}

const char *words_me(void)
{
	const struct passwd *pw = getpwuid(geteuid());

	if (!pw)
		die("user id %d has no account", (int)geteuid());
	return pw->pw_name;
}
