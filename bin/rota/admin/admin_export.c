/* admin_export.c - `rota admin export` and `rota admin range`: tables as compressed CSV with a manifest.
 *
 * The database function api.export_plan names the tables. `rota` copies these tables as role rota_admin, so no row passes
 * through jobmgrd.
 * Called by: `rota admin`.
 * Invariants:
 * - A manifest exists only when all files in the manifest are whole and on disk.
 * - A failed export leaves no folder.
 * - A range is detached only when its export can begin, and dropped only after its manifest is written. */
#include "bin/rota/admin/admin_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bin/rota/admin/admin_copy.h"
#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/table.h"
#include "bin/rota/line/verb.h"
#include "lib/err.h"
#include "lib/text.h"

/* An export: the tables to copy, and the new folder for their files. */
struct export
{
	json_t *plan, *manifest; /* plan from jobmgrd; manifest, NULL until all files are on disk */
	const char *folder;
	char *into;  /* folder of this export; NULL until it is made */
	bool parent; /* this export has made `folder` too, so a failure removes it */
	int status;  /* exit status of the process so far */
};

static bool manifest_write(const char *folder, const json_t *manifest, struct err *e)
{
	char *path = xasprintf("%s/manifest.json", folder);
	FILE *file = fopen(path, "wxe");
	bool well = file && !json_dumpf(manifest, file, JSON_INDENT(1)) && putc('\n', file) != EOF && !fflush(file) &&
		    !fsync(fileno(file));

	if (!well)
		err_set(e, "could not write \"%s\": %s", path, strerror(errno));
	if (file)
		fclose(file);
	free(path);
	return well;
}

/* Send a request to jobmgrd. Returns NULL after a refusal, whose reason is printed. */
static json_t *export_ask(struct export *x, const char *verb, json_t *request)
{
	json_t *answer = call_gate(verb, request);

	x->status = answer ? EXIT_OK : call_status();
	return answer;
}

static bool export_fail(struct export *x, const struct err *e)
{
	call_error(e);
	x->status = EXIT_REFUSED;
	return false;
}

static bool folder_make(struct export *x, struct err *e)
{
	char *into = xasprintf("%s/%s", x->folder, format_text(x->plan, "name"));

	x->parent = !mkdir(x->folder, 0700);
	if ((x->parent || errno == EEXIST) && !mkdir(into, 0700)) {
		x->into = into;
		return true;
	}
	err_set(e, "could not make the folder \"%s\": %s", into, strerror(errno));
	if (errno == EEXIST)
		err_hint(e, "Exports are not written over; remove it, or name another folder.");
	free(into);
	return false;
}

/* Verify the permission, the folder and the database sessions before anything is copied or changed. */
static bool export_begin(struct export *x, const char *folder, json_t *request)
{
	struct err e = {0};

	x->folder = folder;
	x->plan = export_ask(x, "export_plan", request);
	return x->plan && ((folder_make(x, &e) && admin_copy_may(&e)) || export_fail(x, &e));
}

/* Copy the tables of the plan to files, and write the manifest last. */
static bool export_copy(struct export *x)
{
	struct err e = {0};
	json_t *files = admin_copy(x->into, json_object_get(x->plan, "tables"), &e), *manifest;
	json_t *without = json_object_get(x->plan, "without");
	char made[32];
	time_t now = time(NULL);

	if (!files)
		return export_fail(x, &e);
	strftime(made, sizeof made, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	manifest = json_pack("{ss ss ss so}", "export", format_text(x->plan, "name"), "made_at", made, "version", ROTA_VERSION,
			     "files", files);
	if (json_array_size(without))
		json_object_set(manifest, "without", without);
	if (!manifest_write(x->into, manifest, &e)) {
		json_decref(manifest);
		return export_fail(x, &e);
	}
	x->manifest = manifest;
	return true;
}

/* Remove the folder of an export without a manifest. Such a folder is useless and would block the next try. */
static void folder_remove(const struct export *x)
{
	const json_t *table;
	char *path = xasprintf("%s/manifest.json", x->into);
	size_t i;

	unlink(path);
	free(path);
	json_array_foreach (json_object_get(x->plan, "tables"), i, table) {
		path = xasprintf("%s/%s.csv.gz", x->into, format_text(table, "name"));
		unlink(path);
		free(path);
	}
	rmdir(x->into);
	if (x->parent)
		rmdir(x->folder);
}

/* Free an export, and remove its folder if there is no manifest. Returns the exit status. */
static int export_end(struct export *x)
{
	if (x->into && !x->manifest)
		folder_remove(x);
	free(x->into);
	json_decref(x->manifest);
	json_decref(x->plan);
	return x->status;
}

static void manifest_print(const json_t *manifest, bool json)
{
	const json_t *file;
	long long rows = 0, bytes = 0;
	size_t i;

	if (json) {
		json_dumpf(manifest, stdout, JSON_INDENT(1));
		putchar('\n');
		return;
	}
	json_array_foreach (json_object_get(manifest, "files"), i, file) {
		rows += json_integer_value(json_object_get(file, "rows"));
		bytes += json_integer_value(json_object_get(file, "bytes"));
	}
	printf("%s: %lld row%s in %zu file%s, %lld byte%s\n", format_text(manifest, "export"), rows, text_plural(rows),
	       json_array_size(json_object_get(manifest, "files")),
	       text_plural((int64_t)json_array_size(json_object_get(manifest, "files"))), bytes, text_plural(bytes));
}

/* Warn about jobs that are missing in an export, because their range has left the database. */
static void without_print(const json_t *manifest)
{
	const json_t *range;
	size_t i;

	json_array_foreach (json_object_get(manifest, "without"), i, range)
		fprintf(stderr,
			"rota: jobs %lld to %lld have left the database: what ended of them in %s is not in this export\n",
			json_integer_value(json_object_get(range, "from_job")),
			json_integer_value(json_object_get(range, "to_job")) - 1, format_text(manifest, "export"));
}

int admin_export_month(const char *month, const char *folder, bool json)
{
	struct export x = {0};

	if (export_begin(&x, folder, json_pack("{ss}", "month", month)) && export_copy(&x)) {
		without_print(x.manifest);
		manifest_print(x.manifest, json);
	}
	return export_end(&x);
}

int admin_range_list(bool json)
{
	static const struct table_column COLUMNS[] = {{"FROM", true, 0}, {"TO", true, 0},     {"JOBS", true, 0},
						      {"LIVE", true, 0}, {"FIRST", false, 0}, {"LAST", false, 0},
						      {"SIZE", true, 0}, {"", false, 0}};
	json_t *answer = call_gate("range_list", json_object());
	struct table *table = table_new(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
	const json_t *range;
	size_t i;

	if (answer && json)
		call_print_json();
	json_array_foreach (json_object_get(answer, "ranges"), i, range) {
		table_cell(table, format_count(json_object_get(range, "from_job")).s);
		table_cell(table, format_count(json_object_get(range, "to_job")).s);
		table_cell(table, format_count(json_object_get(range, "jobs")).s);
		table_cell(table, format_count(json_object_get(range, "live")).s);
		table_cell(table, format_when(json_object_get(range, "first_at")).s);
		table_cell(table, format_when(json_object_get(range, "last_at")).s);
		table_cell(table, format_size_bytes(json_object_get(range, "bytes")).s);
		table_cell(table, json_is_true(json_object_get(range, "attached")) ? "" : "detached");
	}
	if (answer && !json)
		table_print(table, stdout, true);
	table_free(table);
	json_decref(answer);
	return answer ? EXIT_OK : call_status();
}

/* Send a request to jobmgrd. Returns false if it is refused. */
static bool export_call(struct export *x, const char *verb, json_t *request)
{
	json_t *answer = export_ask(x, verb, request);

	json_decref(answer);
	return answer;
}

int admin_range_drop(const char *from, const char *folder, bool json)
{
	struct export x = {0};

	if (export_begin(&x, folder, json_pack("{ss}", "from", from)) &&
	    export_call(&x, "range_detach", json_pack("{ss}", "from", from)) && export_copy(&x) &&
	    export_call(&x, "range_drop", json_pack("{ss sO}", "from", from, "manifest", x.manifest)))
		manifest_print(x.manifest, json);
	return export_end(&x);
}
