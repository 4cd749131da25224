/* option_value.c - parses the text of an option: chooses the parser by the option's kind, and has the small parsers.
 *
 * Called by: translate_set.c, for each option.
 * Invariants:
 * - Each string in a value is UTF-8 without control characters, so it can go into JSON and launch specs. */
#include "jobmgr/translate/option_value.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "lib/mail.h"
#include "lib/order_valid.h"

enum { TITLE_LONGEST = 255, TEXT_LONGEST = 1024, LINES_LONGEST = 65536, PATH_LONGEST = 1023 };
enum { COUNT_HIGHEST = 1000000, NICE_DEFAULT = 100 };
#define NICE_HIGHEST 2147483645LL
#define SIZE_HIGHEST (INT64_C(2048) << 30) /* highest value of a size, in KiB */

static json_t *value_read_number(const char *text, int64_t lowest, int64_t highest, struct err *e)
{
	int64_t number;
	if (option_number(text, lowest, highest, &number))
		return json_integer(number);
	err_set(e, "\"%s\" is not a number from %lld to %lld", OPTION_QUOTE(text), (long long)lowest, (long long)highest);
	return NULL;
}

static json_t *value_read_flag(const char *text, struct err *e)
{
	bool yes = strcmp(text, "yes") == 0;
	if (yes || strcmp(text, "no") == 0)
		return json_boolean(yes);
	err_set(e, "the option takes no value, but \"%s\" was given", OPTION_QUOTE(text));
	return NULL;
}

static json_t *value_read_string(const char *text, size_t longest, bool tabs, struct err *e)
{
	if (strlen(text) > longest) {
		err_set(e, "the value has %zu bytes; at most %zu are allowed", strlen(text), longest);
		return NULL;
	}
	if (option_text_clean(text, tabs))
		return json_string(text);
	err_set(e, "\"%s\" is not UTF-8 text without control characters", OPTION_QUOTE(text));
	return NULL;
}

/* Read a text of several lines, at most 64 KiB. */
static json_t *value_read_lines(const char *text, struct err *e)
{
	size_t length = strlen(text);
	if (length > LINES_LONGEST) {
		err_set(e, "the value has %zu bytes; at most %d are allowed", length, LINES_LONGEST);
		return NULL;
	}
	char *line = xstrdup(text);
	for (char *c = line; (c = strchr(c, '\n'));)
		*c = '\t';
	bool clean = option_text_clean(line, true);
	free(line);
	if (clean)
		return json_string(text);
	err_set(e, "\"%s\" is not UTF-8 text without control characters", OPTION_QUOTE(text));
	return NULL;
}

static json_t *value_read_filled(const char *text, size_t longest, struct err *e)
{
	if (*text)
		return value_read_string(text, longest, false, e);
	err_set(e, "the value is empty");
	return NULL;
}

static json_t *value_read_name(const char *text, struct err *e)
{
	if (option_text_name(text, "_.@-", ".@-"))
		return json_string(text);
	err_set(e, "\"%s\" is not a name", OPTION_QUOTE(text));
	err_hint(e, "a name has at most 64 letters, digits and _ . @ -%s", strchr(text, ',') ? "; only one name is allowed" : "");
	return NULL;
}

static json_t *value_read_label(const char *text, struct err *e)
{
	if (option_text_label(text))
		return json_string(text);
	err_set(e, "\"%s\" is not a name", OPTION_QUOTE(text));
	err_hint(e, "a name begins with a letter and has at most 64 letters, digits, _ and -");
	return NULL;
}

static json_t *value_read_nodes(const char *text, struct err *e)
{
	const char *c = text;
	int64_t lowest, highest;
	bool good = option_digits(&c, COUNT_HIGHEST, &lowest);
	highest = lowest;
	if (good && *c == '-')
		good = (c++, option_digits(&c, COUNT_HIGHEST, &highest));
	if (good && !*c && lowest >= 1 && lowest <= highest)
		return json_pack("[I, I]", (json_int_t)lowest, (json_int_t)highest);
	err_set(e, "\"%s\" is not a number of nodes", OPTION_QUOTE(text));
	err_hint(e, "write 2, or 2-4 for between two and four");
	return NULL;
}

/* Returns the KiB of a unit of size: "" (MiB), K, M, G or T, also followed by B or iB, also in lower case. Returns 0 if there is
 * no such unit. */
static int64_t value_read_unit(const char *text)
{
	static const char letters[] = "kmgt";
	const char *letter = *text ? strchr(letters, *text | 0x20) : strchr(letters, 'm');
	const char *rest = *text ? text + 1 : text;
	bool good = letter && (!*rest || strcasecmp(rest, "b") == 0 || strcasecmp(rest, "ib") == 0);
	return good ? INT64_C(1) << 10 * (letter - letters) : 0;
}

/* Returns the MiB of a size as JSON, or NULL with an error. The size may be 0 only with `zero`. */
static json_t *value_read_size(const char *text, bool zero, struct err *e)
{
	const char *c = text;
	int64_t number, kib = option_digits(&c, 1LL << 40, &number) ? value_read_unit(c) : 0;
	if (kib == 0) {
		err_set(e, "\"%s\" is not a size", OPTION_QUOTE(text));
		err_hint(e, "write a whole number of MiB, or one followed by K, M, G or T, as in 4G");
		return NULL;
	}
	if (number == 0 && !zero) {
		err_set(e, "a size of 0 is not allowed for this option");
		err_hint(e, "for all memory of each node, write --mem=0");
		return NULL;
	}
	if (number > SIZE_HIGHEST / kib) {
		err_set(e, "\"%s\" is more than 2048T", OPTION_QUOTE(text));
		return NULL;
	}
	return json_integer((number * kib + 1023) / 1024);
}

static json_t *value_read_pattern(const char *text, struct err *e)
{
	json_t *value = value_read_filled(text, PATH_LONGEST, e);
	for (const char *c = text; value && *c; c++) {
		if (*c != '%')
			continue;
		c += 1 + strspn(c + 1, "0123456789");
		if (!*c || !strchr("AabJjNnrSstux%", *c)) {
			err_set(e, "\"%s\" has a %% without a pattern letter after it", OPTION_QUOTE(text));
			err_hint(e, "the letters are %%A %%a %%b %%J %%j %%N %%n %%r %%S %%s %%t %%u %%x; write %%%% for a per "
				    "cent sign");
			json_decref(value);
			return NULL;
		}
	}
	return value;
}

static json_t *value_read_if_changed(const char *text, struct err *e)
{
	if (strcmp(text, "none") == 0)
		return json_null();
	json_t *value = value_read_pattern(text, e);
	if (!value || order_valid_if_changed(text))
		return value;
	json_decref(value);
	err_set(e, "\"%s\" is not OUT[,OUT...]:IN[,IN...]", OPTION_QUOTE(text));
	err_hint(e,
		 "write the files that the step makes, a colon, and the files that it reads, as in parts.out:book.txt,parts.cfg");
	return NULL;
}

/* Returns the value of an option that is a path pattern. For --input it must not be a directory, because an input file has no
 * default name. */
static json_t *value_read_pattern_of(const struct option_row *row, const char *text, struct err *e)
{
	size_t length = strlen(text);
	if (row->id != OPTION_ID_INPUT || !length || text[length - 1] != '/')
		return value_read_pattern(text, e);
	err_set(e, "\"%s\" is a folder", OPTION_QUOTE(text));
	return NULL;
}

static json_t *value_read_choice(const struct option_row *row, const char *text, struct err *e)
{
	const char *words = row->argument;
	char *word;
	while ((word = option_item(&words, '|'))) {
		bool same = strcmp(word, text) == 0;
		free(word);
		if (same)
			return json_string(text);
	}
	err_set(e, "\"%s\" is not one of %s", OPTION_QUOTE(text), row->argument);
	return NULL;
}

static json_t *value_read_octal(const char *text, struct err *e)
{
	size_t digits = strspn(text, "01234567");
	if (digits >= 1 && digits <= 4 && !text[digits] && strtol(text, NULL, 8) <= 0777)
		return json_integer(strtol(text, NULL, 8));
	err_set(e, "\"%s\" is not a mask in octal digits, as in 022", OPTION_QUOTE(text));
	return NULL;
}

static json_t *value_read_shell(const char *text, struct err *e)
{
	if (*text == '/' || strcmp(text, "login") == 0)
		return value_read_filled(text, PATH_LONGEST, e);
	err_set(e, "\"%s\" is neither an absolute path nor login", OPTION_QUOTE(text));
	return NULL;
}

static json_t *value_read_driver(const char *text, struct err *e)
{
	if (strcmp(text, "no") == 0 || order_valid_checkpoint(text))
		return json_string(text);
	err_set(e, "\"%s\" is no driver of checkpoints", OPTION_QUOTE(text));
	err_hint(e, strcmp(text, "mana") == 0
			    ? "Rota has no driver for MPI programs: have the program save itself, with --checkpoint=app"
			    : "write app, auto, dmtcp, criu, script:NAME or no");
	return NULL;
}

/* Are these valid arguments of a preparation, as type rota.prep_asked checks them: a line of printable ASCII that is no
 * option? */
static bool value_is_arguments(const char *text, size_t longest)
{
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			return false;
	return *text && *text != ' ' && *text != '-' && strlen(text) <= longest;
}

/* Read the value of --node-prep: NAME or NAME:ARGS. */
static json_t *value_read_prep(const char *text, struct err *e)
{
	enum { NAME_LONGEST = 63, ARGUMENTS_LONGEST = 200 };
	char name[NAME_LONGEST + 1] = "";
	size_t length = strcspn(text, ":");

	if (length < sizeof name)
		memcpy(name, text, length);
	if (!option_text_name(name, "_.-", "_.-")) {
		err_set(e, "\"%s\" is not a preparation", OPTION_QUOTE(text));
		err_hint(e, "write NAME or NAME:ARGS; a name has at most %d letters, digits and _ . -", NAME_LONGEST);
		return NULL;
	}
	if (text[length] && !value_is_arguments(text + length + 1, ARGUMENTS_LONGEST)) {
		err_set(e, "\"%s\" are no arguments of preparation %s", OPTION_QUOTE(text + length + 1), name);
		err_hint(e, "give at most %d printable ASCII characters, not beginning with a space or -", ARGUMENTS_LONGEST);
		return NULL;
	}
	return json_string(text);
}

/* Returns the value of an option whose kind needs no context. */
static json_t *value_read_text(const struct option_row *row, const char *text, struct err *e)
{
	switch (row->kind) {
	case OPTION_TEXT:
		return value_read_string(text, TEXT_LONGEST, true, e);
	case OPTION_LINES:
		return value_read_lines(text, e);
	case OPTION_TITLE:
		return value_read_filled(text, TITLE_LONGEST, e);
	case OPTION_NAME:
		return value_read_name(text, e);
	case OPTION_PREP:
		return value_read_prep(text, e);
	case OPTION_LABEL:
		return value_read_label(text, e);
	case OPTION_PATTERN:
		return value_read_pattern_of(row, text, e);
	case OPTION_PATH:
		return value_read_filled(text, PATH_LONGEST, e);
	case OPTION_CHOICE:
		return value_read_choice(row, text, e);
	case OPTION_DRIVER:
		return value_read_driver(text, e);
	case OPTION_SHELL:
		return value_read_shell(text, e);
	case OPTION_EXPORT:
		return option_export(text, e);
	case OPTION_ADDRESS:
		return mail_recipients_valid(text, e) ? json_string(text) : NULL;
	case OPTION_MAIL:
		return option_mail(text, e);
	case OPTION_FEATURES:
		return option_features(text, e);
	default: /* OPTION_AFTER, OPTION_PEERS: translate_peer.c reads the list of steps, which may be long */
		return value_read_filled(text, INT_MAX, e);
	}
}

json_t *option_value(const struct option_row *row, const char *text, struct option_context *context, struct err *e)
{
	memset(e, 0, sizeof *e);
	switch (row->kind) {
	case OPTION_FLAG:
		return value_read_flag(text, e);
	case OPTION_NATURAL:
		return value_read_number(text, 0, INT_MAX, e);
	case OPTION_COUNT:
		return value_read_number(text, 1, COUNT_HIGHEST, e);
	case OPTION_NICE:
		return *text ? value_read_number(text, -NICE_HIGHEST, NICE_HIGHEST, e) : json_integer(NICE_DEFAULT);
	case OPTION_PERIOD:
		if (strcmp(text, "auto") == 0)
			return json_string(text);
		return option_duration(text, e);
	case OPTION_DURATION:
		return option_duration(text, e);
	case OPTION_MOMENT:
		return option_moment(text, context->now, e);
	case OPTION_NODES:
		return value_read_nodes(text, e);
	case OPTION_HOSTS:
		return option_hosts(text, context, e);
	case OPTION_SIZE:
		return value_read_size(text, row->id == OPTION_ID_MEM, e);
	case OPTION_GRES:
		return option_gres(text, e);
	case OPTION_LICENSES:
		return option_licenses(text, e);
	case OPTION_GPUS:
		return option_gpus(text, e);
	case OPTION_UMASK:
		return value_read_octal(text, e);
	case OPTION_ARRAY:
		return option_array(text, context, e);
	case OPTION_KEEP:
		return option_keep(text, e);
	case OPTION_SIGNAL:
		return option_signal(text, e);
	case OPTION_REQUEST:
		return option_request(text, e);
	case OPTION_CATCHABLE:
		return option_catchable(text, e);
	case OPTION_CREDENTIALS:
		return option_credentials(text, e);
	case OPTION_IF_CHANGED:
		return value_read_if_changed(text, e);
	default:
		return value_read_text(row, text, e);
	}
}
