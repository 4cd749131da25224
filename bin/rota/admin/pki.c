/* pki.c - `rota admin pki`: makes an authority, and issues, renews and lists certificates.
 *
 * Files in the folder: authority.key and authority.pem; NAME.key and NAME.pem of each certificate.
 * Invariants:
 * - A key is never overwritten. A certificate is only replaced by `renew`, whole or not at all.
 * - Keys have mode 0600. */
#include "bin/rota/admin/pki.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/pem.h>

#include "bin/rota/admin/certificate.h"
#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "lib/text.h"

enum { AUTHORITY_DAYS = 3650, CERTIFICATE_DAYS = 397, SOON_DAYS = 30 };

static const char AUTHORITY[] = "authority";

static char *file_path(const struct pki_line *line, const char *name, const char *ending)
{
	return xasprintf("%s/%s.%s", line->folder, name, ending);
}

static bool file_exists(const struct pki_line *line, const char *name, const char *ending)
{
	char *path = file_path(line, name, ending);
	bool exists = access(path, F_OK) == 0;
	free(path);
	return exists;
}

/* Write the PEM text of a key or a certificate to a draft, and rename the draft. */
static bool pem_save(const struct pki_line *line, const char *name, EVP_PKEY *key, X509 *certificate, struct err *e)
{
	char *path = file_path(line, name, key ? "key" : "pem"), *draft = xasprintf("%s.%ld", path, (long)getpid());
	unlink(draft);
	int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, key ? 0600 : 0644);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	bool good =
		out && (key ? PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) : PEM_write_X509(out, certificate)) == 1;
	good = good && fflush(out) == 0 && fsync(fd) == 0;
	good = out && fclose(out) == 0 && good && rename(draft, path) == 0;
	if (!good) {
		err_sys(e, "could not write \"%s\"", path);
		unlink(draft);
	}
	free(draft);
	free(path);
	return good;
}

/* Open a file for reading. Returns NULL with an error. */
static FILE *pem_open(const char *path, struct err *e)
{
	FILE *in = fopen(path, "re");
	if (!in)
		err_sys(e, "could not open \"%s\"", path);
	return in;
}

static X509 *certificate_load(const char *path, struct err *e)
{
	FILE *in = pem_open(path, e);
	X509 *certificate = in ? PEM_read_X509(in, NULL, NULL, NULL) : NULL;
	if (in && !certificate)
		err_set(e, "\"%s\" has no certificate", path);
	if (in)
		fclose(in);
	return certificate;
}

static EVP_PKEY *key_load(const char *path, struct err *e)
{
	FILE *in = pem_open(path, e);
	EVP_PKEY *key = in ? PEM_read_PrivateKey(in, NULL, NULL, NULL) : NULL;
	if (in && !key)
		err_set(e, "\"%s\" has no key", path);
	if (in)
		fclose(in);
	return key;
}

static void authority_close(struct certificate_authority *by)
{
	X509_free(by->certificate);
	EVP_PKEY_free(by->key);
}

static bool authority_open(const struct pki_line *line, struct certificate_authority *by, struct err *e)
{
	char *certificate = file_path(line, AUTHORITY, "pem"), *key = file_path(line, AUTHORITY, "key");
	*by = (struct certificate_authority){0};
	bool good = (by->certificate = certificate_load(certificate, e)) && (by->key = key_load(key, e)) &&
		    (X509_check_private_key(by->certificate, by->key) == 1 ||
		     err_set(e, "\"%s\" is not the key of \"%s\"", key, certificate));
	if (!good && !file_exists(line, AUTHORITY, "pem"))
		err_hint(e, "Make an authority first: rota admin pki init --to=%s", line->folder);
	if (!good)
		authority_close(by);
	free(key);
	free(certificate);
	return good;
}

static json_t *pki_describe(const char *name, X509 *certificate)
{
	char *names = certificate_names(certificate);
	json_t *row = json_pack("{ss ss si}", "name", name, "names", names, "days_left", certificate_days_left(certificate));
	free(names);
	return row;
}

static bool pki_init(const struct pki_line *line, json_t *rows, struct err *e)
{
	if (mkdir(line->folder, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "could not make the folder \"%s\"", line->folder);
	if (file_exists(line, AUTHORITY, "key") || file_exists(line, AUTHORITY, "pem")) {
		err_set(e, "\"%s\" has an authority already", line->folder);
		return err_hint(e, "Name another folder, or renew: rota admin pki renew authority --to=%s", line->folder);
	}
	EVP_PKEY *key = certificate_key_new();
	X509 *certificate =
		certificate_new_authority(key, line->name ? line->name : "Rota", line->days ? line->days : AUTHORITY_DAYS, e);
	bool good = certificate && pem_save(line, AUTHORITY, key, NULL, e) && pem_save(line, AUTHORITY, NULL, certificate, e);
	if (good)
		json_array_append_new(rows, pki_describe(AUTHORITY, certificate));
	X509_free(certificate);
	EVP_PKEY_free(key);
	return good;
}

/* Returns the key for a new certificate: the key that an interrupted call has left, or a new one. */
static EVP_PKEY *key_have(const struct pki_line *line, struct err *e)
{
	if (!file_exists(line, line->name, "key"))
		return certificate_key_new();
	char *path = file_path(line, line->name, "key");
	EVP_PKEY *key = key_load(path, e);
	free(path);
	return key;
}

static bool pki_issue(const struct pki_line *line, json_t *rows, struct err *e)
{
	struct certificate_authority by;
	if (!authority_open(line, &by, e))
		return false;
	if (file_exists(line, line->name, "pem")) {
		authority_close(&by);
		err_set(e, "there is a certificate \"%s\" in \"%s\"", line->name, line->folder);
		return err_hint(e, "Renew it: rota admin pki renew %s --to=%s", line->name, line->folder);
	}
	EVP_PKEY *key = key_have(line, e);
	int days = line->days ? line->days : CERTIFICATE_DAYS;
	X509 *certificate = !key	 ? NULL
			    : line->user ? certificate_new_user(&by, key, line->user, days, e)
					 : certificate_new(&by, key, line->name, line->names ? line->names : line->name, days, e);
	bool saved = certificate && (file_exists(line, line->name, "key") || pem_save(line, line->name, key, NULL, e));
	bool good = saved && pem_save(line, line->name, NULL, certificate, e);
	if (good)
		json_array_append_new(rows, pki_describe(line->name, certificate));
	X509_free(certificate);
	EVP_PKEY_free(key);
	authority_close(&by);
	return good;
}

static bool pki_renew(const struct pki_line *line, json_t *rows, struct err *e)
{
	struct certificate_authority by;
	bool itself = strcmp(line->name, AUTHORITY) == 0;
	int days = line->days ? line->days : itself ? AUTHORITY_DAYS : CERTIFICATE_DAYS;
	if (!authority_open(line, &by, e))
		return false;
	char *path = file_path(line, line->name, "pem");
	X509 *old = certificate_load(path, e), *certificate = old ? certificate_renew(&by, old, days, e) : NULL;
	bool good = certificate && pem_save(line, line->name, NULL, certificate, e);
	if (good)
		json_array_append_new(rows, pki_describe(line->name, certificate));
	X509_free(certificate);
	X509_free(old);
	free(path);
	authority_close(&by);
	return good;
}

/* Add a row for each certificate in the folder. */
static bool pki_show(const struct pki_line *line, json_t *rows, struct err *e)
{
	char *pattern = file_path(line, "*", "pem");
	glob_t found;
	bool good = glob(pattern, 0, NULL, &found) == 0 || err_set(e, "there is no certificate in \"%s\"", line->folder);
	for (size_t i = 0; good && i < found.gl_pathc; i++) {
		const char *file = found.gl_pathv[i] + strlen(line->folder) + 1;
		char *name = xstrndup(file, strlen(file) - strlen(".pem"));
		X509 *certificate = certificate_load(found.gl_pathv[i], e);
		good = certificate != NULL;
		if (good)
			json_array_append_new(rows, pki_describe(name, certificate));
		X509_free(certificate);
		free(name);
	}
	globfree(&found);
	free(pattern);
	return good;
}

static void rows_print(const struct pki_line *line, json_t *rows)
{
	const json_t *row;
	size_t i;
	if (line->json) {
		json_t *all = json_pack("{ss sO}", "folder", line->folder, "certificates", rows);
		json_dumpf(all, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(all);
		return;
	}
	json_array_foreach (rows, i, row) {
		int days = (int)json_integer_value(json_object_get(row, "days_left"));
		const char *name = json_string_value(json_object_get(row, "name"));
		const char *names = json_string_value(json_object_get(row, "names"));
		printf("%s%s%s: %s %d day%s%s\n", name, *names ? " for " : "", names, days < 0 ? "expired since" : "valid for",
		       days < 0 ? -days : days, text_plural(days < 0 ? -days : days), days < SOON_DAYS ? "; renew it" : "");
	}
}

int pki_run(const struct pki_line *line)
{
	struct err e = {0};
	json_t *rows = json_array();
	bool is_init = strcmp(line->action, "init") == 0, is_file = is_init || !line->name || !strchr(line->name, '/');
	bool good = !is_file				 ? err_set(&e, "\"%s\" cannot be the name of a file", line->name)
		    : is_init				 ? pki_init(line, rows, &e)
		    : strcmp(line->action, "issue") == 0 ? pki_issue(line, rows, &e)
		    : strcmp(line->action, "renew") == 0 ? pki_renew(line, rows, &e)
							 : pki_show(line, rows, &e);
	if (good)
		rows_print(line, rows);
	json_decref(rows);
	return good ? EXIT_OK : call_refuse(&e);
}
