/* translate_read.c - reads the bytes of a script into sets of options, and steps with their lines.
 *
 * Called by: translate.c, as the first stage. Directives stand at the beginning of a line:
 *   #ROTA step NAME [OPTION]...  begins a step, anywhere
 *   #ROTA stage-in, stage-out    transfers data (translate_transfer.c): before the first step for all steps, else for its step
 *   #ROTA OPTION...              before the first step, or anywhere in a script without steps
 *   #SBATCH, #PBS OPTION...      before the first line that is neither empty nor a comment, and before the first step; elsewhere
 *                                they are comments, as for Slurm and PBS, and users are warned
 * In a here-document of a shell script, no line is a directive.
 * Invariants:
 * - After this stage there is at least one step. Lines are numbered from 1. */
#include <stdio.h>
#include <string.h>

#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/translate_parts.h"
#include "lib/pattern.h"

struct reader {
	struct translation *t;
	int line;
	int command;   /* the first line that is neither empty nor a comment; 0: none was seen */
	bool too_many; /* the script has too many steps, which was reported */
	struct translate_shell shell;
};

/* Returns the text of a line after `word`, or NULL if the line does not begin with `word`. *left is set to its size. */
static const char *read_after_word(const char *text, size_t size, const char *word, size_t *left)
{
	size_t length = strlen(word);
	if (size < length || memcmp(text, word, length) != 0)
		return NULL;
	if (size > length && text[length] != ' ' && text[length] != '\t' && text[length] != '\r')
		return NULL;
	*left = size - length;
	return text + length;
}

static bool read_check_step_name(struct reader *r, const char *name)
{
	bool none = strcmp(name, "none") == 0;
	if (option_text_label(name) && !none)
		return true;
	translate_refuse(r->t, r->line, "", "\"%s\" is not a name for a step", OPTION_QUOTE(name));
	translate_hint(r->t, none ? "\"none\" is reserved: --after=none means that there is no peer"
				  : "a name begins with a letter and has at most 64 letters, digits, _ and -");
	return false;
}

static void read_step(struct reader *r, const struct translate_words *words)
{
	struct translation *t = r->t;
	if (words->count < 2 || words->list[1][0] == '-') {
		translate_refuse(t, r->line, "", "the step has no name");
		translate_hint(t, "write #ROTA step NAME [OPTION]...");
		return;
	}
	if (t->step_count >= t->limits->steps) {
		if (!r->too_many)
			translate_refuse(t, r->line, "", "the script has more than %d steps", t->limits->steps);
		r->too_many = true;
		return;
	}
	if (t->step_count > 0)
		t->steps[t->step_count - 1].last_line = r->line - 1;
	else
		t->header_last = r->line - 1;
	t->has_steps = true;
	bool good = read_check_step_name(r, words->list[1]);
	struct translate_step *s = translation_add_step(t, good ? words->list[1] : "?", r->line);
	translate_set_read(t, &s->own, OPTION_ROTA, words->list + 2, words->count - 2, r->line, true);
}

static void read_rota_line(struct reader *r, const char *text, size_t size)
{
	struct translation *t = r->t;
	struct translate_words words;
	struct err e;
	if (!translate_words(text, size, &words, &e)) {
		translate_problem(t, r->line, "", &e);
	} else if (words.count > 0 && strcmp(words.list[0], "step") == 0) {
		read_step(r, &words);
	} else if (words.count > 0 && translate_transfer_read(t, r->line, &words)) {
		; /* the directive was read */
	} else if (words.count > 0 && words.list[0][0] != '-') {
		translate_refuse(t, r->line, "", "\"%s\" is neither step, stage-in, stage-out nor an option",
				 OPTION_QUOTE(words.list[0]));
		translate_hint(t, "write #ROTA step NAME [OPTION]..., #ROTA stage-in SOURCE -> DESTINATION, or #ROTA OPTION...");
	} else if (words.count > 0 && t->has_steps) {
		translate_refuse(t, r->line, "", "a line of options after the first step belongs to no step");
		translate_hint(t, "put options of a step on its #ROTA step line, and options of all steps before the first step");
	} else {
		translate_set_read(t, &t->rota, OPTION_ROTA, words.list, words.count, r->line, false);
	}
	translate_words_free(&words);
}

/* Warn of a #SBATCH or #PBS line that is a comment because of where it stands, unless it is in a quoted text of the script. */
static void read_late_line(struct reader *r, const char *text, size_t size, const char *word)
{
	char what[40], why[160];
	size_t at = 0;
	while (at < size && (text[at] == ' ' || text[at] == '\t'))
		at++;
	if (at == size || text[at] != '-' || translate_shell_is_quoted(&r->shell))
		return;
	if (r->t->has_steps)
		snprintf(why, sizeof why, ": it is below the first step (line %d); write it above, or on a #ROTA step line",
			 r->t->steps[0].line);
	else
		snprintf(why, sizeof why, ": it is below the first command (line %d); move it up", r->command);
	snprintf(what, sizeof what, "this %s line is ignored", word);
	translate_warn(r->t, r->line, "", what, why);
}

static void read_foreign_line(struct reader *r, const char *text, size_t size, enum option_spelling spelling)
{
	struct translate_words words;
	struct err e;
	if (r->command || r->t->has_steps) {
		read_late_line(r, text, size, spelling == OPTION_PBS ? "#PBS" : "#SBATCH");
		return;
	}
	if (translate_words(text, size, &words, &e))
		translate_set_read(r->t, spelling == OPTION_PBS ? &r->t->pbs : &r->t->slurm, spelling, words.list, words.count,
				   r->line, false);
	else
		translate_problem(r->t, r->line, "", &e);
	translate_words_free(&words);
}

static void read_line(struct reader *r, const char *text, size_t size)
{
	size_t left = 0;
	const char *rest;
	if (size == 0 || text[0] != '#') {
		for (size_t i = 0; !r->command && i < size && text[i] != '#'; i++)
			if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
				r->command = r->line;
		return;
	}
	if ((rest = read_after_word(text, size, "#ROTA", &left))) {
		translate_shell_reset(&r->shell);
		read_rota_line(r, rest, left);
	} else if ((rest = read_after_word(text, size, "#SBATCH", &left))) {
		read_foreign_line(r, rest, left, OPTION_SLURM);
	} else if ((rest = read_after_word(text, size, "#PBS", &left))) {
		read_foreign_line(r, rest, left, OPTION_PBS);
	}
}

/* Refuse the script because of a byte, and report the line of the byte. Returns false. */
static bool read_refuse_byte(struct translation *t, const char *byte, const char *message, const char *hint)
{
	int line = 1;
	for (const char *p = t->request->script; (p = memchr(p, '\n', (size_t)(byte - p))); p++)
		line++;
	translate_refuse(t, line, "", "%s", message);
	translate_hint(t, "%s", hint);
	return false;
}

/* Check the first line of the script, which has `size` bytes. */
static bool read_check_first_line(struct translation *t, const char *line, size_t size)
{
	if (size < 2 || memcmp(line, "#!", 2) != 0)
		return read_refuse_byte(t, line, "the script does not begin with #!",
					"its first line names what runs it, as in #!/bin/bash");
	size_t path = 2;
	while (path < size && (line[path] == ' ' || line[path] == '\t'))
		path++;
	if (path == size || line[path] != '/')
		return read_refuse_byte(t, line, "the path after #! is not absolute", "write it in full, as in #!/bin/bash");
	if (line[size - 1] == '\r')
		return read_refuse_byte(t, line, "the script has DOS line ends",
					"convert it with dos2unix, or sed -i 's/\\r$//'");
	return true;
}

/* Check the bytes of the script. Returns false if its lines must not be read. */
static bool read_check_bytes(struct translation *t)
{
	const char *script = t->request->script, *byte;
	size_t size = t->request->size;
	if (size == 0) {
		translate_refuse(t, 0, "", "the script is empty");
		return false;
	}
	if (size > t->limits->script_bytes) {
		translate_refuse(t, 0, "", "the script has more than %zu bytes", t->limits->script_bytes);
		translate_hint(t, "keep data in files that the script reads");
		return false;
	}
	if ((byte = memchr(script, '\0', size)))
		return read_refuse_byte(t, byte, "the script has a NUL byte", "submit a script that starts the program");
	if ((byte = option_text_utf8(script, size)))
		return read_refuse_byte(t, byte, "the script is not UTF-8 text", "convert it with iconv -t UTF-8");
	byte = memchr(script, '\n', size);
	return read_check_first_line(t, script, byte ? (size_t)(byte - script) : size);
}

/* Refuse options that name peers of one step, if they stand before the first step of a script of several steps. */
static void read_check_header(struct translation *t, const struct translate_set *set)
{
	for (int i = 0; t->step_count > 1 && i < OPTION_SETTINGS; i++) {
		if (!set->of[i].value || option_row((enum option_id)i)->level != OPTION_PEER)
			continue;
		char option[64] = "--";
		translate_refuse(t, set->of[i].line, strcat(option, option_row((enum option_id)i)->name),
				 "the option is for one step, but the script has several steps");
		translate_hint(t, "give it on that step's #ROTA step line");
	}
}

void translate_read(struct translation *t)
{
	struct reader r = {.t = t};
	const char *text = t->request->script, *end = text + t->request->size;
	bool good = read_check_bytes(t), shell;
	char interpreter[128];
	translate_shell_of(text, t->request->size, interpreter);
	shell = *interpreter != '\0';
	while (good && text < end && !translate_has_enough_problems(t)) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		r.line++;
		const char *line = text;
		size_t size = (size_t)((newline ? newline : end) - text);
		read_line(&r, line, size);
		text = newline ? newline + 1 : end;
		if (shell)
			text = translate_shell_read(&r.shell, line, size, text, end, &r.line);
	}
	if (!t->has_steps)
		translation_add_step(t, PATTERN_PLAIN, 1);
	t->steps[t->step_count - 1].last_line = r.line;
	read_check_header(t, &t->command);
	read_check_header(t, &t->rota);
}

struct translate_cut *translate_cuts(const char *script, size_t size, int *count)
{
	struct translate_request request = {.script = script, .size = size, .script_name = "", .workdir = "/"};
	struct translate_problems problems = {0};
	struct translation t;
	translation_init(&t, &request, &translate_limits_default, &problems);
	translate_read(&t);
	struct translate_cut *cuts = xcalloc((size_t)t.step_count, sizeof *cuts);
	for (int i = 0; i < t.step_count; i++) {
		cuts[i] = (struct translate_cut){.from = t.steps[i].line, .to = t.steps[i].last_line};
		strcpy(cuts[i].name, t.steps[i].name);
		cuts[i].pre_from = t.has_steps;
		cuts[i].pre_to = t.has_steps ? t.header_last : 0;
	}
	*count = t.step_count;
	translation_clear(&t);
	translate_problems_free(&problems);
	return cuts;
}
