/* admin_export.c - `rota admin export`, `rota admin range`: tables as compressed CSV, with a manifest that says what is in them.
 *
 * api.export_plan says what to copy; the copying is done by this program as whoever runs the instance (rota_admin), so nothing passes through
 * the gate. What always holds: a manifest is there only when every file of it is whole and on disk; a range is dropped only behind its manifest. */
#include "bin/rota/admin_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bin/rota/admin_copy.h"
#include "bin/rota/call.h"
#include "bin/rota/format.h"
#include "bin/rota/table.h"
#include "bin/rota/verb.h"
#include "lib/err.h"

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

/* The files of a plan, and their manifest last. */
static json_t *plan_export(const char *folder, const json_t *plan, struct err *e)
{
	json_t *files = admin_copy(folder, json_object_get(plan, "tables"), e), *manifest;
	char made[32];
	time_t now = time(NULL);

	if (!files)
		return NULL;
	strftime(made, sizeof made, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	manifest = json_pack("{ss ss ss so}", "export", format_text(plan, "name"), "made_at", made, "version", ROTA_VERSION,
			     "files", files);
	if (!manifest_write(folder, manifest, e)) {
		json_decref(manifest);
		return NULL;
	}
	return manifest;
}

json_t *admin_export(const char *folder, json_t *request, int *status)
{
	json_t *plan = call_gate("export_plan", request), *manifest = NULL;
	struct err e = {0};
	char *into;

	*status = EXIT_REFUSED;
	if (!plan) {
		*status = call_status();
		return NULL;
	}
	into = xasprintf("%s/%s", folder, format_text(plan, "name"));
	if ((mkdir(folder, 0700) && errno != EEXIST) || mkdir(into, 0700)) {
		err_set(&e, "could not make the folder \"%s\": %s", into, strerror(errno));
		if (errno == EEXIST)
			err_hint(&e, "Exports are not written over; remove it, or name another folder.");
	} else {
		manifest = plan_export(into, plan, &e);
	}
	if (manifest)
		*status = EXIT_OK;
	else
		call_error(&e);
	free(into);
	json_decref(plan);
	return manifest;
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
	printf("%s: %lld rows in %zu files, %lld bytes\n", format_text(manifest, "export"), rows,
	       json_array_size(json_object_get(manifest, "files")), bytes);
}

int admin_export_month(const char *month, const char *folder, bool json)
{
	int status;
	json_t *manifest = admin_export(folder, json_pack("{ss}", "month", month), &status);

	if (manifest)
		manifest_print(manifest, json);
	json_decref(manifest);
	return status;
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

int admin_range_drop(const char *from, const char *folder, bool json)
{
	json_t *answer = call_gate("range_detach", json_pack("{ss}", "from", from)), *manifest;
	int status;

	if (!answer)
		return call_status();
	json_decref(answer);
	manifest = admin_export(folder, json_pack("{ss}", "from", from), &status);
	if (!manifest)
		return status;
	answer = call_gate("range_drop", json_pack("{ss sO}", "from", from, "manifest", manifest));
	status = answer ? EXIT_OK : call_status();
	if (answer)
		manifest_print(manifest, json);
	json_decref(answer);
	json_decref(manifest);
	return status;
}
