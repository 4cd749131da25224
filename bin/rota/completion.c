/* completion.c - `rota completion`: the bash completion, made from the verbs' tables, and the words that it asks for while one types. */
#include <stdio.h>
#include <string.h>

#include "bin/rota/admin.h"
#include "bin/rota/call.h"
#include "bin/rota/format.h"
#include "bin/rota/verb.h"

const struct verb_option completion_options[] = {
	{0, NULL, NULL, NULL},
};

/* Words of a table of options: --name, with = behind it where it takes a value, and -x. */
static void options_print(const struct verb_option *options)
{
	for (; options && options->id; options++) {
		if (options->name)
			printf(" --%s%s", options->name, options->value && options->value[0] != '[' ? "=" : "");
		if (options->id < 256)
			printf(" -%c", options->id);
	}
}

/* One case of the script: what operands a verb takes and which options. */
static void verb_print(const struct verb *v)
{
	printf("\t%s) operands='%s' options='", v->name, v->completes);
	options_print(v->options);
	options_print(VERB_COMMON);
	puts("' ;;");
}

/* One case more: what can be done with an object of `rota admin`. */
static void object_print(const struct admin_object *o)
{
	printf("\t\t3:%s) operands='", o->name);
	for (const char *const *action = o->actions; *action; action++)
		printf("%s%s", action == o->actions ? "" : " ", *action);
	puts("' ;;");
}

static void bash_print(void)
{
	puts("# bash completion for rota; made by `rota completion bash`.\n"
	     "_rota() {\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} operands= options= words=\n"
	     "\tCOMPREPLY=()\n"
	     "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	     "\t\toperands=verb\n"
	     "\telse\n"
	     "\t\tcase ${COMP_WORDS[1]} in");
	for (const struct verb *v = VERBS; v->name; v++)
		verb_print(v);
	puts("\t\tesac\n"
	     "\tfi\n"
	     "\tif [[ ${COMP_WORDS[1]} == admin && $COMP_CWORD -gt 2 ]]; then\n"
	     "\t\tcase $COMP_CWORD:${COMP_WORDS[2]} in");
	for (const struct admin_object *o = ADMIN_OBJECTS; o->name; o++)
		object_print(o);
	puts("\t\t4:node) operands=node ;;\n"
	     "\t\t*) operands= ;;\n"
	     "\t\tesac\n"
	     "\tfi\n"
	     "\tcase $word in\n"
	     "\t-*)\n"
	     "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
	     "\t\t[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
	     "\t\treturn ;;\n"
	     "\tesac\n"
	     "\tcase $operands in\n"
	     "\tverb | object | job | node) words=$(\"${COMP_WORDS[0]}\" completion \"$operands\" 2>/dev/null) ;;\n"
	     "\tfile)\n"
	     "\t\tcompopt -o filenames\n"
	     "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
	     "\t\treturn ;;\n"
	     "\t*) words=$operands ;;\n"
	     "\tesac\n"
	     "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
	     "}\n"
	     "complete -F _rota rota");
}

/* A member of each row of a list that the gate gives, one a line; quiet where it does not answer. */
static int rows_print(const char *verb, const char *list, const char *key)
{
	struct err e = {0};
	json_t *answer = NULL;
	const json_t *row;
	size_t i;

	if (!call_try(call_conf(), verb, NULL, &answer, &e))
		return call_status();
	json_array_foreach (json_object_get(answer, list), i, row)
		puts(json_is_string(json_object_get(row, key)) ? format_text(row, key)
							       : format_count(json_object_get(row, key)).s);
	json_decref(answer);
	return EXIT_OK;
}

int verb_completion(int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb_find("completion"), argc, argv);
	const char *what;

	while (verb_next(&scan))
		;
	verb_operands(&scan, 1, 1);
	what = argv[scan.at];
	if (!strcmp(what, "job"))
		return rows_print("queue", "jobs", "job_id");
	if (!strcmp(what, "node"))
		return rows_print("nodes", "nodes", "name");
	if (!strcmp(what, "bash"))
		bash_print();
	else if (!strcmp(what, "verb"))
		for (const struct verb *v = VERBS; v->name; v++)
			puts(v->name);
	else if (!strcmp(what, "object"))
		for (const struct admin_object *o = ADMIN_OBJECTS; o->name; o++)
			puts(o->name);
	else
		verb_misuse(scan.verb, "there is no completion for \"%s\"; there is one for bash", what);
	return EXIT_OK;
}
