/* staging_script.c - writes a job's script to a file that functions of burst_buffer.lua read (staging_script.h).
 *
 * Called by: runner_staging_call.c.
 * Invariants:
 * - Only the account of runnerd can read the file.
 * - The value of a symbol never has a newline. So it cannot add a directive that slurm_bb_job_process has not checked. */
#include "runner/staging_script.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/db.h"
#include "lib/file.h"

enum { REPLACED_MOST = 1 << 20 };

/* A text that is being written. */
struct script_text {
	char *text;
	size_t length;
	bool full; /* the text would be longer than REPLACED_MOST */
};

static void text_add(struct script_text *t, const char *text, size_t length)
{
	t->full = t->full || length > REPLACED_MOST - t->length;
	if (t->full)
		return;
	memcpy(t->text + t->length, text, length);
	t->length += length;
}

static void text_add_value(struct script_text *t, const char *value)
{
	size_t start = t->length;

	text_add(t, value, strlen(value));
	for (size_t i = start; i < t->length; i++)
		if (t->text[i] == '\n' || t->text[i] == '\r')
			t->text[i] = '?';
}

/* Add the value of a symbol. A symbol that Slurm does not have is dropped, as Slurm does. */
static void text_add_symbol(struct script_text *t, char symbol, const json_t *job_info)
{
	static const struct {
		char symbol;
		const char *field, *fixed;
	} symbols[] = {
		{'u', "user_name", NULL},
		{'x', "name", NULL},
		{'d', "work_dir", NULL},
		{'%', NULL, "%"},
	};
	static const struct {
		char symbol;
		const char *field;
		long long otherwise; /* Slurm's value outside of arrays */
	} numbers[] = {{'j', "job_id", 0}, {'A', "array_job_id", 0}, {'a', "array_task_id", 4294967294}};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		const json_t *value = json_object_get(job_info, numbers[i].field);
		char number[24];

		if (numbers[i].symbol != symbol)
			continue;
		snprintf(number, sizeof number, "%lld", value ? (long long)json_integer_value(value) : numbers[i].otherwise);
		text_add_value(t, number);
	}
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		const char *value =
			symbols[i].field ? json_string_value(json_object_get(job_info, symbols[i].field)) : symbols[i].fixed;

		if (symbols[i].symbol == symbol && value)
			text_add_value(t, value);
	}
}

char *staging_script_replace(const char *directives, const json_t *job_info, struct err *e)
{
	static const char head[] = "#!/bin/sh\n";
	const char *stop = strstr(directives, "\\\\"), *at = directives, *symbol;
	struct script_text t = {0};

	if (!strchr(directives, '%'))
		return NULL;
	t.text = xmalloc(REPLACED_MOST + 1);
	text_add(&t, head, sizeof head - 1);
	while ((symbol = strchr(at, '%')) && (!stop || symbol < stop)) {
		text_add(&t, at, (size_t)(symbol - at));
		text_add_symbol(&t, symbol[1], job_info);
		at = symbol + (symbol[1] ? 2 : 1);
	}
	text_add(&t, at, strlen(at));
	text_add(&t, "\n", 1);
	t.text[t.length] = '\0';
	if (!t.full)
		return t.text;
	free(t.text);
	err_set(e, "the directives are longer than %d KiB with the values of their symbols", REPLACED_MOST >> 10);
	return NULL;
}

/* Decode the hexadecimal text of a bytea column into malloc'ed memory. */
static unsigned char *script_bytes(const char *text, size_t *size)
{
	unsigned char *bytes = PQunescapeBytea((const unsigned char *)text, size), *copy;

	if (!bytes)
		die("out of memory");
	copy = xmalloc(*size + 1);
	memcpy(copy, bytes, *size);
	PQfreemem(bytes);
	return copy;
}

/* Write the script as it was submitted, with the directives of --bb and --bbf after its first line. */
static bool file_write_original(int fd, const PGresult *result, int row)
{
	size_t size;
	unsigned char *script = script_bytes(db_text(result, row, "script"), &size), *newline = memchr(script, '\n', size);
	size_t head = newline ? (size_t)(newline - script) + 1 : size;
	const char *inserted = db_text(result, row, "inserted");
	size_t length = strlen(inserted);
	bool ok = file_write_all(fd, script, head) && (newline || !length || file_write_all(fd, "\n", 1)) &&
		  file_write_all(fd, inserted, length) &&
		  (!length || inserted[length - 1] == '\n' || file_write_all(fd, "\n", 1)) &&
		  file_write_all(fd, script + head, size - head);

	free(script);
	return ok;
}

/* Returns the script with the symbols replaced; NULL with or without an error, as staging_script_replace() does. */
static char *script_replaced(const PGresult *result, int row, struct err *e)
{
	json_t *job_info = json_loads(db_text(result, row, "job_info"), 0, NULL);
	const char *directives = json_string_value(json_object_get(job_info, "burst_buffer"));
	char *text = directives ? staging_script_replace(directives, job_info, e) : NULL;

	json_decref(job_info);
	return text;
}

bool staging_script_write(const char *path, const PGresult *result, int row, bool symbols, struct err *e)
{
	char *text = NULL;
	bool ok = false;
	int fd;

	*e = (struct err){0};
	if (symbols)
		text = script_replaced(result, row, e);
	if (*e->message)
		return false;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		ok = text ? file_write_all(fd, text, strlen(text)) : file_write_original(fd, result, row);
	if (!ok)
		err_sys(e, "could not write \"%s\"", path);
	if (fd >= 0)
		close(fd);
	free(text);
	return ok;
}
