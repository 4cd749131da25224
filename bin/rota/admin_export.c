/* admin_export.c - `rota admin export`, `rota admin range`: tables as compressed CSV, with a manifest that says what is in them.
 *
 * api.export_plan says what to copy; the copying is done by this program as whoever runs the instance (rota_admin), so nothing passes through
 * the gate. What always holds: memory does not grow with the rows; a manifest is there only when every file of it is whole and on
 * disk; a range is dropped only behind its manifest. */
#include "bin/rota/admin_export.h"

#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "bin/rota/call.h"
#include "bin/rota/format.h"
#include "bin/rota/table.h"
#include "bin/rota/verb.h"
#include "lib/db.h"
#include "lib/err.h"

enum { BLOCK = 1 << 18, GZIP = 15 + 16, LEVEL = 1 };

/* A file as it is written: compressed, and hashed as it will stand there. */
struct out {
	FILE *file;
	const char *path;
	z_stream zip;
	EVP_MD_CTX *hash;
	unsigned char block[BLOCK], gathered[BLOCK]; /* what leaves; what has come, to be compressed when there is enough of it */
	size_t held;
	long long bytes;
};

static bool out_flush(struct out *o, int how, struct err *e)
{
	o->zip.next_in = o->gathered;
	o->zip.avail_in = (unsigned)o->held;
	o->held = 0;
	do {
		size_t size;

		o->zip.next_out = o->block;
		o->zip.avail_out = BLOCK;
		deflate(&o->zip, how);
		size = BLOCK - o->zip.avail_out;
		o->bytes += (long long)size;
		EVP_DigestUpdate(o->hash, o->block, size);
		if (fwrite(o->block, 1, size, o->file) != size)
			return err_set(e, "could not write \"%s\": %s", o->path, strerror(errno));
	} while (o->zip.avail_out == 0);
	return true;
}

/* Rows are short: they are compressed many at a time. */
static bool out_write(struct out *o, const char *bytes, int size, struct err *e)
{
	for (size_t left = (size_t)size; left > 0;) {
		size_t part = left < BLOCK - o->held ? left : BLOCK - o->held;

		memcpy(o->gathered + o->held, bytes, part);
		o->held += part;
		bytes += part;
		left -= part;
		if (o->held == BLOCK && !out_flush(o, Z_NO_FLUSH, e))
			return false;
	}
	return true;
}

static struct out *out_open(const char *path, struct err *e)
{
	struct out *o = xcalloc(1, sizeof *o);

	o->path = path;
	o->file = fopen(path, "wxe");
	if (!o->file) {
		err_set(e, "could not create \"%s\": %s", path, strerror(errno));
		free(o);
		return NULL;
	}
	o->hash = EVP_MD_CTX_new();
	if (!o->hash || EVP_DigestInit_ex(o->hash, EVP_sha256(), NULL) != 1 ||
	    deflateInit2(&o->zip, LEVEL, Z_DEFLATED, GZIP, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		die("out of memory");
	return o;
}

/* The end of it; `hex` gets the SHA-256 of the file. */
static bool out_close(struct out *o, bool well, char hex[65], struct err *e)
{
	unsigned char hash[EVP_MAX_MD_SIZE];

	well = well && out_flush(o, Z_FINISH, e);
	deflateEnd(&o->zip);
	EVP_DigestFinal_ex(o->hash, hash, NULL);
	EVP_MD_CTX_free(o->hash);
	for (int i = 0; i < 32; i++)
		sprintf(hex + 2 * i, "%02x", hash[i]);
	if (well && (fflush(o->file) || fsync(fileno(o->file))))
		well = err_set(e, "could not write \"%s\": %s", o->path, strerror(errno));
	fclose(o->file);
	return well;
}

static bool database_error(PGconn *db, struct err *e)
{
	const char *message = PQerrorMessage(db);

	return err_set(e, "the database says: %.*s", (int)strcspn(message, "\n"), message);
}

/* The columns of a query, as the manifest has them. */
static json_t *columns_of(PGconn *db, const char *query, struct err *e)
{
	json_t *columns = NULL;
	PGresult *result = PQprepare(db, "", query, 0, NULL);

	if (PQresultStatus(result) == PGRES_COMMAND_OK) {
		PQclear(result);
		result = PQdescribePrepared(db, "");
	}
	if (PQresultStatus(result) != PGRES_COMMAND_OK) {
		database_error(db, e);
	} else {
		columns = json_array();
		for (int i = 0; i < PQnfields(result); i++)
			json_array_append_new(columns, json_string(PQfname(result, i)));
	}
	PQclear(result);
	return columns;
}

/* Copy a query's rows; their number, -1 where that failed. */
static long long copy(PGconn *db, const char *query, struct out *o, struct err *e)
{
	char *statement = xasprintf("copy (%s) to stdout (format csv, header)", query), *bytes;
	PGresult *result = PQexec(db, statement);
	long long rows = -1;
	int size;

	free(statement);
	if (PQresultStatus(result) != PGRES_COPY_OUT) {
		database_error(db, e);
		PQclear(result);
		return -1;
	}
	PQclear(result);
	while ((size = PQgetCopyData(db, &bytes, 0)) > 0) {
		bool well = out_write(o, bytes, size, e);

		PQfreemem(bytes);
		if (!well)
			return -1;
	}
	result = PQgetResult(db);
	if (PQresultStatus(result) == PGRES_COMMAND_OK)
		rows = atoll(PQcmdTuples(result));
	else
		database_error(db, e);
	PQclear(result);
	while ((result = PQgetResult(db)))
		PQclear(result);
	return rows;
}

/* One table into its file; what the manifest says of it, NULL where that failed. */
static json_t *table_export(PGconn *db, const char *folder, const json_t *table, struct err *e)
{
	const char *query = format_text(table, "query");
	char *name = xasprintf("%s.csv.gz", format_text(table, "name")), *path = xasprintf("%s/%s", folder, name), hex[65];
	json_t *columns = columns_of(db, query, e), *said = NULL;
	struct out *o = columns ? out_open(path, e) : NULL;
	long long rows = o ? copy(db, query, o, e) : -1;

	if (o && out_close(o, rows >= 0, hex, e))
		said = json_pack("{ss sI sI ss sO}", "file", name, "rows", (json_int_t)rows, "bytes", (json_int_t)o->bytes,
				 "sha256", hex, "columns", columns);
	json_decref(columns);
	free(o);
	free(path);
	free(name);
	return said;
}

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

/* One moment for all of it, as whoever runs the instance. */
static PGconn *reader_open(struct err *e)
{
	char *conninfo = db_conninfo_reader(call_conf(), "rota_admin");
	PGconn *db = PQconnectdb(conninfo);
	PGresult *result;

	free(conninfo);
	if (PQstatus(db) != CONNECTION_OK) {
		database_error(db, e);
		err_hint(e, "Only root and the account of the instance may do that.");
		PQfinish(db);
		return NULL;
	}
	result = PQexec(db, "begin isolation level repeatable read read only; set local time zone 'UTC'");
	PQclear(result);
	return db;
}

/* The files of a plan, and their manifest last. */
static json_t *plan_export(PGconn *db, const char *folder, const json_t *plan, struct err *e)
{
	json_t *files = json_array(), *manifest;
	const json_t *table;
	char made[32];
	time_t now = time(NULL);
	size_t i;

	json_array_foreach (json_object_get(plan, "tables"), i, table) {
		json_t *said = table_export(db, folder, table, e);

		if (!said) {
			json_decref(files);
			return NULL;
		}
		json_array_append_new(files, said);
	}
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
	PGconn *db;
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
	} else if ((db = reader_open(&e))) {
		manifest = plan_export(db, into, plan, &e);
		PQfinish(db);
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
