/* submit_options.c - separates options of a submission from operands, and writes each option in its long form.
 *
 * jobmgrd checks the values of the options, together with the script. rota and jobmgrd read the same table
 * (jobmgr/translate/options.def). */
#include "bin/rota/submit/submit_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bin/rota/call/call.h"
#include "jobmgr/translate/option.h"
#include "lib/err.h"
#include "lib/nearest.h"

/* Add an option to the list as "--name=value" or "--name". */
static void option_add(const struct verb *verb, json_t *options, const char *name, const char *value)
{
	char *text = value ? xasprintf("--%s=%s", name, value) : xasprintf("--%s", name);

	if (json_array_append_new(options, json_string(text)))
		verb_misuse(verb, "option \"%s\" is not UTF-8", text);
	free(text);
}

/* Report an unknown option, and end the process. */
static void option_misuse(const struct verb *verb, const char *word)
{
	bool is_long = word[1] == '-';
	char name[64];

	snprintf(name, sizeof(name), "%.*s", is_long ? (int)strcspn(word + 2, "=") : 1, word + (is_long ? 2 : 1));
	if (option_advice(name))
		verb_misuse(verb, "there is no option \"%s%s\"; %s", is_long ? "--" : "-", name, option_advice(name));
	if (!is_long)
		verb_misuse(verb, "there is no option \"-%s\"", name);
	struct nearest nearest = NEAREST(name);
	const char *option = option_nearest(name, OPTION_ROTA);
	if (option)
		nearest_try(&nearest, option);
	for (const struct verb_option *own = verb->options; own->id; own++)
		if (own->name)
			nearest_try(&nearest, own->name);
	if (nearest.best)
		verb_misuse(verb, "there is no option \"--%s\"; did you mean \"--%s\"?", name, nearest.best);
	verb_misuse(verb, "there is no option \"--%s\"", name);
}

int submit_options_take(const struct verb *verb, json_t *options, int left, char **argv)
{
	const char *word = argv[0], *value = NULL;
	const struct option_row *row;
	int took;

	if (word[0] != '-' || !word[1])
		return 0;
	took = option_span((const char *const *)argv, left);
	if (!took)
		option_misuse(verb, word);
	if (word[1] == '-') {
		char *name = xstrndup(word + 2, strcspn(word + 2, "="));

		value = strchr(word, '=');
		option_add(verb, options, name, value ? value + 1 : took > 1 ? argv[1] : NULL);
		free(name);
		return took;
	}
	row = option_find_letter(word[1], OPTION_ROTA);
	value = word[2] ? word + 2 + (word[2] == '=') : took > 1 ? argv[1] : NULL;
	if (!value && option_takes_value(row))
		verb_misuse(verb, "option \"-%c\" needs a value", word[1]);
	option_add(verb, options, row->name, value);
	return took;
}

int submit_options_common(const struct verb *verb, int left, char **argv, bool *json)
{
	if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
		verb_help_print(verb);
		exit(EXIT_OK);
	}
	if (!strcmp(argv[0], "--version")) {
		printf("rota %s\n", ROTA_VERSION);
		exit(EXIT_OK);
	}
	if (!strcmp(argv[0], "--json")) {
		call_use_json();
		*json = true;
		return 1;
	}
	if (!strncmp(argv[0], "--config=", 9)) {
		call_use_config(argv[0] + 9);
		return 1;
	}
	if (!strcmp(argv[0], "--config")) {
		if (left < 2)
			verb_misuse(verb, "option \"--config\" needs a value");
		call_use_config(argv[1]);
		return 2;
	}
	return 0;
}

/* Warn about an argument of the script that is also an option of this verb. */
static void hint_argument(const struct verb *verb, const char *word)
{
	char *name = strncmp(word, "--", 2) ? NULL : xstrndup(word + 2, strcspn(word + 2, "="));
	const struct option_row *row = name	      ? option_find(name, OPTION_ROTA)
				       : *word == '-' ? option_find_letter(word[1], OPTION_ROTA)
						      : NULL;
	bool known = row && (name || row->kind != OPTION_IGNORED);

	for (const struct verb_option *own = verb->options; name && !known && own->id; own++)
		known = own->name && !strcmp(own->name, name);
	if (known)
		fprintf(stderr,
			"rota: warning: \"%s\" is an argument of the script; put options of rota %s before the script, or -- "
			"there to suppress this message\n",
			word, verb->name);
	free(name);
}

const char **submit_options_operands(const struct verb *verb, json_t *options, int argc, char **argv,
				     int (*own)(const struct verb *verb, void *arg, int left, char **argv), void *arg,
				     const bool *several)
{
	const char **words = xcalloc((unsigned long)argc, sizeof *words);
	bool operands = false, said = false;
	int count = 0;

	for (int i = 1; i < argc;) {
		int took = 0;

		if (!operands && !strcmp(argv[i], "--"))
			took = operands = said = true;
		else if (!operands)
			took = own(verb, arg, argc - i, argv + i);
		if (!took && !operands)
			took = submit_options_take(verb, options, argc - i, argv + i);
		if (!took) {
			if (count == 1 && operands && !said)
				hint_argument(verb, argv[i]);
			words[count++] = argv[i];
			took = 1;
			operands = operands || !several || !*several;
		}
		i += took;
	}
	return words;
}

json_t *submit_options_arguments(const char *const *words, struct err *e)
{
	json_t *list = json_array();

	for (int i = 0; words[i]; i++) {
		if (json_array_append_new(list, json_string(words[i]))) {
			err_set(e, "argument %d of the script is not UTF-8", i + 1);
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

void submit_options_warn(const json_t *warnings)
{
	static json_t *said;
	const json_t *warning;
	size_t i;

	json_array_foreach (warnings, i, warning) {
		const json_t *file = json_object_get(warning, "file"), *line = json_object_get(warning, "line");
		const char *option = json_string_value(json_object_get(warning, "option"));
		const char *message = json_string_value(json_object_get(warning, "message"));
		const char *colon = option && *option ? ": " : "";
		char *text = json_integer_value(line) > 0 && json_is_string(file)
				     ? xasprintf("%s:%lld: %s%s%s", json_string_value(file), (long long)json_integer_value(line),
						 option, colon, message)
				     : xasprintf("%s%s%s", option, colon, message);

		said = said ? said : json_object();
		if (!json_object_get(said, text))
			fprintf(stderr, "rota: warning: %s\n", text);
		json_object_set_new(said, text, json_true());
		free(text);
	}
}

char *submit_options_read(const char *path, size_t most, size_t *size, struct err *e)
{
	FILE *in = strcmp(path, "-") ? fopen(path, "re") : stdin;
	struct stat st;
	char *text = NULL;
	size_t room = 0;

	*size = 0;
	if (!in || fstat(fileno(in), &st) || S_ISDIR(st.st_mode)) {
		errno = in && S_ISDIR(st.st_mode) ? EISDIR : errno;
		err_sys(e, "could not read \"%s\"", path);
		goto out;
	}
	do {
		if (room - *size < 65536)
			text = xrealloc(text, room = room ? room * 2 : 131072);
		*size += fread(text + *size, 1, room - *size - 1, in);
	} while (!feof(in) && !ferror(in) && *size < most);
	text[*size] = '\0';
	if (ferror(in)) {
		err_sys(e, "could not read \"%s\"", path);
		free(text);
		text = NULL;
	}
out:
	if (in && in != stdin)
		fclose(in);
	return text;
}

char *submit_options_directives(const char *path, struct err *e)
{
	enum { MOST = 65536 };
	struct err cause = {0};
	struct stat st;
	size_t size;
	json_t *valid;
	char *text;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		err_set(e, "--bbf: \"%s\" is no regular file", path);
		return NULL;
	}
	text = submit_options_read(path, MOST, &size, &cause);
	valid = text && strlen(text) == size ? json_string(text) : NULL;
	if (!text)
		err_set(e, "--bbf: %s", cause.message);
	else if (!valid)
		err_set(e, "--bbf: \"%s\" %s", path, strlen(text) != size ? "has a NUL byte" : "is not UTF-8 text");
	if (text && !valid) {
		free(text);
		text = NULL;
	}
	json_decref(valid);
	return text;
}

int submit_options_valued(const struct verb *verb, const char *name, const char **value, int left, char **argv)
{
	size_t length = strlen(name);

	if (strncmp(argv[0], name, length) || (argv[0][length] && argv[0][length] != '='))
		return 0;
	*value = argv[0][length] ? argv[0] + length + 1 : left > 1 ? argv[1] : NULL;
	if (!*value)
		verb_misuse(verb, "option \"%s\" needs a value", name);
	return argv[0][length] ? 1 : 2;
}

int submit_options_bbf(const struct verb *verb, json_t *options, int left, char **argv)
{
	const char *path;
	int took = submit_options_valued(verb, "--bbf", &path, left, argv);
	struct err e = {0};
	char *text;

	if (!took)
		return 0;
	text = submit_options_directives(path, &e);
	if (!text)
		verb_misuse(verb, "%s", e.message);
	json_array_append_new(options, json_sprintf("--bb=%s", text));
	free(text);
	return took;
}

json_t *submit_options_script(const char *name, const char *text, size_t size, struct err *e)
{
	json_t *script = memchr(text, '\0', size) ? NULL : json_stringn(text, size);
	size_t at = 0;

	if (!script && size > 4 && memcmp(text, "\177ELF", 4) == 0) {
		err_set(e, "\"%s\" is a program, not a script", name);
		err_hint(e, "Submit it as a command: rota submit --wrap='%s'", name);
		return NULL;
	}
	for (int line = 1; !script && at < size; line++) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t length = (end ? (size_t)(end - text) : size) - at;
		bool nul = memchr(text + at, '\0', length) != NULL;
		json_t *one = nul ? NULL : json_stringn(text + at, length);

		if (!one) {
			err_set(e, "%s:%d: %s", name, line, nul ? "the script has a NUL byte" : "the script is not UTF-8 text");
			return NULL;
		}
		json_decref(one);
		at += length + 1;
	}
	return script;
}
