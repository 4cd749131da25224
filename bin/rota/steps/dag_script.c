/* dag_script.c - translates the file of `rota run --file`, and writes the scripts of its steps (dag_script.h).
 *
 * Called by: run_file.c.
 * Invariants:
 * - The scripts of steps are files in one folder of mode 0700 in the working directory of the job, which all of its nodes see.
 *   The file of a step exists while sub-steps of the step are under way. */
#include "bin/rota/steps/dag_script.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/steps/each_line.h"
#include "bin/rota/steps/sink.h"
#include "bin/rota/submit/problems.h"
#include "bin/rota/submit/submit_options.h"
#include "jobmgr/translate/translate.h"
#include "lib/order.h"
#include "lib/script_cut.h"

/* Translate the script. Prints problems and warnings. */
static bool script_translate(struct dag_script *s, const char *folder)
{
	const char *home = getenv("HOME"), **arguments = xcalloc(json_array_size(s->arguments) + 1, sizeof(*arguments));
	struct translate_problems problems = {0};
	struct translate_request request = {.script = s->text,
					    .size = s->size,
					    .script_name = s->name,
					    .arguments = arguments,
					    .argument_count = (int)json_array_size(s->arguments),
					    .workdir = folder,
					    .home = home && *home == '/' ? home : NULL,
					    .now = translate_now(),
					    .inside = true};

	for (size_t i = 0; i < json_array_size(s->arguments); i++)
		arguments[i] = json_string_value(json_array_get(s->arguments, i));
	s->plan = translate_script(&request, &translate_limits_default, &problems);
	free(arguments);
	if (!s->plan) {
		problems_print("run", s->name, &problems);
		translate_problems_free(&problems);
		return false;
	}
	submit_options_warn(json_object_get(s->plan, "warnings"));
	translate_plan_whole(s->plan);
	return true;
}

bool dag_script_open(struct dag_script *s, const char *path, char *const *arguments, const char *folder)
{
	struct err e = {0};

	*s = (struct dag_script){.name = strcmp(path, "-") ? path : "stdin"};
	s->arguments = submit_options_arguments((const char *const *)arguments, &e);
	if (s->arguments)
		s->text = submit_options_read(path, translate_limits_default.script_bytes + 1, &s->size, &e);
	if (!s->text) {
		call_error(&e);
		return false;
	}
	if (!script_translate(s, folder))
		return false;
	s->users = xcalloc(json_array_size(json_object_get(s->plan, "steps")), sizeof(*s->users));
	return true;
}

/* Returns the script of a step, malloc'ed and NUL-terminated. */
static char *script_text(const struct dag_script *s, const struct dag_step *step, size_t *length)
{
	const char *text = json_string_value(json_object_get(step->plan, "spec"));
	struct order_spec spec;
	struct fields *owner;
	struct err e = {0};
	char *cut;

	if (!order_spec_parse(text, strlen(text), &spec, &owner, &e))
		die("a spec of the translator is malformed: %s", e.message);
	cut = script_cut(s->text, s->size, &spec, length);
	fields_free(owner);
	return cut;
}

/* -- files */

static char *script_path(const struct dag_script *s, const struct dag *d, int step)
{
	return xasprintf("%s/%s", s->folder, json_string_value(json_object_get(d->steps[step].plan, "name")));
}

static bool script_make_folder(struct dag_script *s, struct err *e)
{
	const char *workdir = getenv("ROTA_WORKDIR"), *label = getenv("ROTA_STEP_LABEL");
	char *folder;

	if (s->folder)
		return true;
	folder = xasprintf("%s/.rota-%s.XXXXXX", workdir && *workdir ? workdir : ".", label && *label ? label : "run");
	if (!mkdtemp(folder)) {
		err_sys(e, "could not make the folder \"%s\" for the scripts of the steps", folder);
		free(folder);
		return false;
	}
	s->folder = folder;
	return true;
}

static bool script_write(const char *path, const char *text, size_t length, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	bool good = fd >= 0 && sink_write_all(fd, text, length);

	if (!good)
		err_sys(e, "could not write \"%s\"", path);
	if (fd >= 0 && close(fd) && good)
		good = err_sys(e, "could not write \"%s\"", path);
	return good;
}

char *dag_script_take(struct dag_script *s, const struct dag *d, int step, struct err *e)
{
	char *path, *text;
	size_t length;
	bool good = true;

	if (!script_make_folder(s, e))
		return NULL;
	path = script_path(s, d, step);
	if (s->users[step] == 0) {
		text = script_text(s, &d->steps[step], &length);
		good = script_write(path, text, length, e);
		free(text);
	}
	if (good) {
		s->users[step]++;
		return path;
	}
	free(path);
	return NULL;
}

void dag_script_release(struct dag_script *s, const struct dag *d, int step)
{
	char *path;

	if (--s->users[step] > 0)
		return;
	path = script_path(s, d, step);
	unlink(path);
	free(path);
}

void dag_script_close(struct dag_script *s)
{
	const json_t *step;
	size_t i;

	if (s->folder) {
		json_array_foreach (json_object_get(s->plan, "steps"), i, step) {
			char *path = xasprintf("%s/%s", s->folder, json_string_value(json_object_get(step, "name")));

			if (s->users[i] > 0)
				unlink(path);
			free(path);
		}
		rmdir(s->folder);
	}
	json_decref(s->arguments);
	json_decref(s->plan);
	free(s->folder);
	free(s->users);
	free(s->text);
}

/* -- hashes */

/* Remove empty lines, so that lines added elsewhere in the file do not change a text. */
static void script_squeeze(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (*from != '\n' || (to > text && to[-1] != '\n'))
			*to++ = *from;
	*to = '\0';
}

uint64_t dag_script_unit_hash(uint64_t step_hash, int index)
{
	char *const none[] = {NULL};
	char text[32];

	snprintf(text, sizeof(text), "%016" PRIx64, step_hash);
	return each_line_hash(none, index, text);
}

static char **script_words(const json_t *arguments)
{
	char **words = xcalloc(json_array_size(arguments) + 1, sizeof(*words));
	json_t *word;
	size_t i;

	json_array_foreach (arguments, i, word)
		words[i] = (char *)json_string_value(word);
	return words;
}

uint64_t *dag_script_hashes(const struct dag_script *s, const struct dag *d)
{
	uint64_t *hashes = xcalloc((size_t)d->step_count, sizeof(*hashes));
	char **words = script_words(s->arguments);

	for (int i = 0; i < d->step_count; i++) {
		int step = d->order[i];
		const struct dag_step *of = &d->steps[step];
		size_t length;
		char *text = script_text(s, of, &length);

		script_squeeze(text);
		hashes[step] = each_line_hash(words, 0, text);
		free(text);
		for (int j = of->first_edge; j < of->first_edge + of->edge_count; j++) {
			char *both = xasprintf("%016" PRIx64 " %016" PRIx64, hashes[step], hashes[d->edges[j].peer]);

			hashes[step] = each_line_hash(words, 0, both);
			free(both);
		}
	}
	free(words);
	return hashes;
}
