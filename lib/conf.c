/* conf.c - rota.conf: one table made from conf.def for defaults, parsing, writing and freeing.
 *
 * Called by: every program, through conf_load().
 * Invariants:
 * - After conf_load(), every text is set (not NULL), every number is in its range, every enumerated text is valid, and every path
 *   is absolute.
 * - conf_load() reads back exactly what conf_save() wrote. Comments have lines of their own, so a value may have ";" and "#". */
#include "lib/conf.h"

#include <errno.h>
#include <ini.h>
#include <pwd.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/nearest.h"

enum { CONF_LONGEST = 4096 }; /* most bytes of a line of rota.conf */

struct conf_key {
	const char *section, *name, *text, *words, *help;
	size_t offset;
	bool is_path, is_int;
	int number, lowest, highest;
};

static const struct conf_key keys[] = {
#define CONF_TEXT(section, name, otherwise, help)                                                                                \
	{#section, #name, otherwise, NULL, help, offsetof(struct conf, section##_##name), false, false, 0, 0, 0},
#define CONF_PATH(section, name, otherwise, help)                                                                                \
	{#section, #name, otherwise, NULL, help, offsetof(struct conf, section##_##name), true, false, 0, 0, 0},
#define CONF_WORD(section, name, words, otherwise, help)                                                                         \
	{#section, #name, otherwise, words, help, offsetof(struct conf, section##_##name), false, false, 0, 0, 0},
#define CONF_INT(section, name, otherwise, lowest, highest, help)                                                                \
	{#section, #name, NULL, NULL, help, offsetof(struct conf, section##_##name), false, true, otherwise, lowest, highest},
#include "lib/conf.def"
#undef CONF_TEXT
#undef CONF_INT
};

enum { KEY_COUNT = sizeof keys / sizeof *keys };

struct reading {
	struct conf *c;
	const char *path;
	FILE *file;
	int line;
	bool given[KEY_COUNT];
	bool failed;
	struct err *e;
};

static char **text_of(struct conf *c, const struct conf_key *key)
{
	return (char **)((char *)c + key->offset);
}

static int *int_of(struct conf *c, const struct conf_key *key)
{
	return (int *)((char *)c + key->offset);
}

static char *home_of(const struct passwd *pw)
{
	return xasprintf("%s/.local/state/rota", pw && *pw->pw_dir == '/' ? pw->pw_dir : "/var/lib/rota");
}

char *conf_home(void)
{
	const char *home = getenv("ROTA_HOME");
	if (home && *home)
		return xstrdup(home);
	if (geteuid() == 0)
		return home_of(getpwnam("rota"));
	home = getenv("HOME");
	return home && *home == '/' ? xasprintf("%s/.local/state/rota", home) : home_of(getpwuid(geteuid()));
}

/* Returns the path of rota.conf if the caller gave none. A path that the environment sets is never replaced by a default. */
static char *conf_find(struct err *e)
{
	const char *asked = getenv("ROTA_CONFIG"), *home = getenv("ROTA_HOME");
	if (asked && *asked)
		return xstrdup(asked);
	char *folder = conf_home();
	char *path = xasprintf("%s/etc/rota.conf", folder);
	free(folder);
	if ((home && *home) || access(path, F_OK) == 0)
		return path;
	if (access("/etc/rota/rota.conf", F_OK) == 0) {
		free(path);
		return xstrdup("/etc/rota/rota.conf");
	}
	err_set(e, "there is no instance: neither \"%s\" nor \"/etc/rota/rota.conf\" exists", path);
	err_hint(e, "start one with \"rota up\", or set ROTA_HOME");
	free(path);
	return NULL;
}

static int __attribute__((format(printf, 2, 3))) reading_fail(struct reading *r, const char *format, ...)
{
	if (r->failed) /* report only the first error */
		return 0;
	char text[256];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	r->failed = true;
	err_set(r->e, "%s:%d: %s", r->path, r->line, text);
	return 0;
}

static int int_set(struct reading *r, const struct conf_key *key, const char *value)
{
	char *end;
	errno = 0;
	long n = strtol(value, &end, 10);
	if (errno || end == value || *end || n < key->lowest || n > key->highest)
		return reading_fail(r, "\"%s\" in section \"%s\" wants an integer from %d to %d, not \"%.80s\"", key->name,
				    key->section, key->lowest, key->highest, value);
	*int_of(r->c, key) = (int)n;
	return 1;
}

bool conf_word_is(const char *words, const char *value)
{
	size_t length = strlen(value);
	for (const char *word = words; *word; word += strspn(word, ", ")) {
		size_t end = strcspn(word, ",");
		if (end == length && strncmp(word, value, length) == 0)
			return true;
		word += end;
	}
	return false;
}

bool conf_path_is(const char *otherwise, const char *value)
{
	return *value == '/' || (!*value && !*otherwise);
}

static int text_set(struct reading *r, const struct conf_key *key, const char *value)
{
	if (key->words && !conf_word_is(key->words, value))
		return reading_fail(r, "\"%s\" in section \"%s\" wants one of %s, not \"%.80s\"", key->name, key->section,
				    key->words, value);
	if (key->is_path && !conf_path_is(key->text, value))
		return reading_fail(r, "\"%s\" in section \"%s\" wants a path that begins with \"/\", not \"%.80s\"", key->name,
				    key->section, value);
	free(*text_of(r->c, key));
	*text_of(r->c, key) = xstrdup(value);
	return 1;
}

/* Report an unknown key. The hint names the nearest key of the section, or else the section that has a key of that name. */
static int key_unknown(struct reading *r, const char *section, const char *name)
{
	struct nearest key = NEAREST(name), other = NEAREST(section);
	if (r->failed)
		return 0;
	reading_fail(r, "unknown key \"%s\" in section \"%s\"", name, section);
	for (int i = 0; i < KEY_COUNT; i++) {
		if (strcmp(keys[i].section, section) == 0)
			nearest_try(&key, keys[i].name);
		else if (strcmp(keys[i].name, name) == 0)
			nearest_try(&other, keys[i].section);
	}
	if (key.best)
		err_hint(r->e, "did you mean \"%s\"?", key.best);
	else if (other.best)
		err_hint(r->e, "did you mean section \"%s\"?", other.best);
	return 0;
}

/* Callback of inih for each line `name = value`. Returns 0 on error, as inih expects. */
static int on_value(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *r = arg;
	for (int i = 0; i < KEY_COUNT; i++) {
		const struct conf_key *key = &keys[i];
		if (strcmp(key->section, section) != 0 || strcmp(key->name, name) != 0)
			continue;
		if (r->given[i])
			return reading_fail(r, "\"%s\" in section \"%s\" is given twice", name, section);
		r->given[i] = true;
		return key->is_int ? int_set(r, key, value) : text_set(r, key, value);
	}
	return key_unknown(r, section, name);
}

/* Line reader for inih: fgets() that counts lines and refuses a line that is too long. */
static char *on_line(char *line, int room, void *arg)
{
	struct reading *r = arg;
	if (r->failed || !fgets(line, room, r->file))
		return NULL;
	r->line++;
	size_t length = strlen(line);
	if (length + 1 == (size_t)room && line[length - 1] != '\n') {
		reading_fail(r, "line is longer than %d bytes", room - 2);
		return NULL;
	}
	return line;
}

static bool conf_parse(struct reading *r)
{
	ini_max_line = CONF_LONGEST;
	ini_initial_alloc = CONF_LONGEST;
	ini_use_stack = false;
	ini_allow_multiline = false;
	ini_allow_inline_comments = false;
	ini_stop_on_first_error = true;
	int line = ini_parse_stream(on_line, r, on_value, r);
	if (!r->failed && line != 0) {
		r->line = line;
		reading_fail(r, "neither \"[section]\" nor \"name = value\"");
	}
	return !r->failed;
}

static void conf_defaults(struct conf *c)
{
	memset(c, 0, sizeof *c);
	for (int i = 0; i < KEY_COUNT; i++)
		if (keys[i].is_int)
			*int_of(c, &keys[i]) = keys[i].number;
		else
			*text_of(c, &keys[i]) = xstrdup(keys[i].text);
}

bool conf_load(struct conf *c, const char *path, struct err *e)
{
	conf_defaults(c);
	c->path = path ? xstrdup(path) : conf_find(e);
	if (!c->path)
		goto fail;
	struct reading r = {.c = c, .path = c->path, .e = e};
	r.file = fopen(c->path, "re");
	if (!r.file) {
		err_sys(e, "could not read configuration \"%s\"", c->path);
		if (errno == ENOENT)
			err_hint(e, "start an instance with \"rota up\", or set ROTA_HOME");
		goto fail;
	}
	bool ok = conf_parse(&r);
	if (ok && ferror(r.file))
		ok = err_set(e, "could not read configuration \"%s\"", c->path);
	fclose(r.file);
	if (ok)
		return true;
fail:
	conf_clear(c);
	return false;
}

void conf_clear(struct conf *c)
{
	for (int i = 0; i < KEY_COUNT; i++)
		if (!keys[i].is_int)
			free(*text_of(c, &keys[i]));
	free(c->path);
	memset(c, 0, sizeof *c);
}

const char *conf_node_account(const struct conf *c)
{
	return *c->node_account ? c->node_account : c->instance_account;
}

const char *conf_controller_account(const struct conf *c)
{
	return *c->controller_account ? c->controller_account : c->instance_account;
}

const char *conf_credentials_account(const struct conf *c)
{
	return *c->credentials_account ? c->credentials_account : c->instance_account;
}

bool conf_has_scripts(const struct conf *c)
{
	return *c->hooks_job_submit || *c->hooks_burst_buffer;
}

uid_t conf_min_uid(const struct conf *c)
{
	enum { SYSTEM_MIN_UID = 1000 }; /* Debian: UID_MIN in login.defs */
	if (c->launcher_min_uid >= 0)
		return (uid_t)c->launcher_min_uid;
	return *c->instance_home ? 0 : SYSTEM_MIN_UID;
}

bool conf_is_personal(const struct conf *c)
{
	return *c->instance_home && !*c->instance_account;
}

/* Returns true if conf_load() would not read `value` back as it was written. */
static bool text_is_lossy(const char *value)
{
	size_t length = strlen(value);
	return strpbrk(value, "\r\n") || length > CONF_LONGEST - 128 ||
	       (length && (strchr(" \t", value[0]) || strchr(" \t", value[length - 1])));
}

static bool conf_write(struct conf *c, FILE *file, struct err *e)
{
	const char *section = "";
	for (int i = 0; i < KEY_COUNT; i++) {
		const struct conf_key *key = &keys[i];
		if (strcmp(section, key->section) != 0)
			fprintf(file, "%s[%s]\n", *section ? "\n" : "", key->section);
		section = key->section;
		fprintf(file, "# %s\n", key->help);
		if (key->is_int) {
			fprintf(file, "%s = %d\n", key->name, *int_of(c, key));
			continue;
		}
		const char *value = *text_of(c, key) ? *text_of(c, key) : "";
		if (text_is_lossy(value))
			return err_set(e, "value of \"%s\" in section \"%s\" cannot be written: \"%.200s\"", key->name, section,
				       value);
		fprintf(file, *value ? "%s = %s\n" : "%s =\n", key->name, value);
	}
	return true;
}

bool conf_save(const struct conf *c, const char *path, struct err *e)
{
	char *beside = xasprintf("%s.%ld", path, (long)getpid());
	struct conf copy = *c; /* copies only the pointers; text_of() and int_of() take a struct that is not const */
	FILE *file = fopen(beside, "we");
	bool ok = false;
	if (!file)
		err_sys(e, "could not create \"%s\"", beside);
	else {
		ok = conf_write(&copy, file, e);
		if (fclose(file) != 0 && ok)
			ok = err_sys(e, "could not write \"%s\"", beside);
		if (ok && rename(beside, path) < 0)
			ok = err_sys(e, "could not rename \"%s\" to \"%s\"", beside, path);
		if (!ok)
			unlink(beside);
	}
	free(beside);
	return ok;
}
