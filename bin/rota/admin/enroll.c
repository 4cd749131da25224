/* enroll.c - opens logins of nodes, for `rota admin node enroll` and `rota up`.
 *
 * Invariants:
 * - A password is written to the password file and sent nowhere. The server gets its SCRAM verifier. Nobody can log in with the
 *   verifier, or guess the password, which has 192 random bits. */
#include "bin/rota/admin/enroll.h"

#include <jansson.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "lib/clock.h"
#include "lib/db.h"
#include "lib/seal.h"

enum { PASSWORD_BYTES = 24, PROGRESS_MS = 2000, SALT_CHARACTERS = 64, HASH_CHARACTERS = 44 /* of 32 bytes in base64 */ };

/* Returns the SCRAM-SHA-256 verifier of a password; malloc'ed by libpq. PQencryptPasswordConn() requires a connection but does
 * not use it for SCRAM, so this connection has no server. */
static char *verifier_make(const char *password)
{
	PGconn *none = PQconnectStart("host=/nowhere");
	char *verifier = none ? PQencryptPasswordConn(none, password, "", "scram-sha-256") : NULL;
	PQfinish(none);
	return verifier;
}

bool enroll_fits(const char *verifier, const char *password)
{
	static const unsigned char client[] = "Client Key";
	char salt[SALT_CHARACTERS + 1], expected[HASH_CHARACTERS + 1];
	unsigned char bytes[SALT_CHARACTERS], salted[SEAL_HASH_SIZE], key[SEAL_HASH_SIZE], stored[SEAL_HASH_SIZE],
		text[HASH_CHARACTERS + 1];
	int rounds, size;
	if (sscanf(verifier, "SCRAM-SHA-256$%7d:%64[A-Za-z0-9+/=]$%44[A-Za-z0-9+/=]:", &rounds, salt, expected) != 3)
		return false;
	size = EVP_DecodeBlock(bytes, (const unsigned char *)salt, (int)strlen(salt));
	for (size_t i = strlen(salt); size > 0 && i > 0 && salt[i - 1] == '='; i--)
		size--; /* EVP_DecodeBlock counts the padding, too */
	if (size <= 0 || rounds <= 0 ||
	    PKCS5_PBKDF2_HMAC(password, (int)strlen(password), bytes, size, rounds, EVP_sha256(), sizeof salted, salted) != 1 ||
	    !HMAC(EVP_sha256(), salted, sizeof salted, client, sizeof client - 1, key, NULL))
		return false;
	seal_hash(key, sizeof key, stored);
	EVP_EncodeBlock(text, stored, sizeof stored);
	explicit_bzero(salted, sizeof salted);
	explicit_bzero(key, sizeof key);
	return strcmp((char *)text, expected) == 0;
}

char *enroll(const struct conf *conf, const char *names, const char *login, struct password_file *file, struct err *e)
{
	unsigned char bytes[PASSWORD_BYTES];
	char password[2 * sizeof bytes + 1], *made = NULL;
	if (RAND_priv_bytes(bytes, sizeof bytes) != 1)
		return err_set(e, "no random bytes for a password"), NULL;
	seal_hex(bytes, sizeof bytes, password);
	char *verifier = verifier_make(password);
	if (!verifier)
		die("out of memory for the verifier of a password");
	json_t *answer = NULL, *request = json_pack("{ss ss ss s{ss ss*}}", "object", "node", "action", "enroll", "name", names,
						    "values", "verifier", verifier, "login", login);
	if (call_try(conf, "admin", request, &answer, e)) {
		made = xstrdup(json_string_value(json_array_get(json_object_get(answer, "logins"), 0)));
		char *role = xasprintf("rota_node_%s", made);
		password_file_set(file, role, password);
		free(role);
	}
	json_decref(answer);
	explicit_bzero(bytes, sizeof bytes);
	explicit_bzero(password, sizeof password);
	PQfreemem(verifier);
	return made;
}

/* Enroll one node and add its login to `logins`. */
static bool enroll_one(const char *name, struct password_file *file, json_t *logins, struct err *e)
{
	char *login = enroll(call_conf(), name, NULL, file, e);
	bool ok = login && json_array_append_new(logins, json_string(login)) == 0;
	free(login);
	return ok;
}

/* Enroll the nodes of a list one by one, and add their logins to `logins`. */
static bool enroll_each(const char *names, struct password_file *file, json_t *logins, struct err *e)
{
	json_t *answer = NULL, *request = json_pack("{ss ss ss}", "object", "node", "action", "show", "name", names);
	bool ok = call_try(call_conf(), "admin", request, &answer, e);
	const json_t *rows = json_object_get(answer, "rows"), *row;
	int64_t shown = clock_ms();
	size_t i;
	json_array_foreach (rows, i, row) {
		ok = ok && enroll_one(json_string_value(json_object_get(row, "name")), file, logins, e);
		if (ok && clock_ms() - shown > PROGRESS_MS) {
			fprintf(stderr, "rota: %zu of %zu nodes have a login\n", i + 1, json_array_size(rows));
			shown = clock_ms();
		}
	}
	json_decref(answer);
	return ok;
}

static void enrolled_print(const json_t *logins, const char *path, bool json)
{
	const json_t *login;
	size_t i;
	if (json) {
		json_t *all = json_pack("{sO ss}", "logins", logins, "file", path);
		json_dumpf(all, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(all);
		return;
	}
	json_array_foreach (logins, i, login)
		printf("login %s: its password is in %s\n", json_string_value(login), path);
}

int enroll_nodes(const char *names, const char *login, const char *path, bool json)
{
	struct err e = {0};
	json_t *logins = json_array();
	char *where = path ? xstrdup(path) : db_passfile(call_conf()), *one = NULL;
	struct password_file *file = password_file_open(where, path ? NULL : conf_node_account(call_conf()), &e);
	bool ok = file != NULL;
	if (ok && login) {
		ok = (one = enroll(call_conf(), names, login, file, &e)) != NULL;
		json_array_append_new(logins, json_string(one));
	} else if (ok) {
		ok = enroll_each(names, file, logins, &e);
	}
	/* After a failure too, save the passwords that the server has taken already. */
	if (file && json_array_size(logins) > 0 && !password_file_save(file, ok ? &e : &(struct err){0}))
		ok = false;
	if (ok)
		enrolled_print(logins, where, json);
	if (file)
		password_file_close(file);
	json_decref(logins);
	free(one);
	free(where);
	return ok ? EXIT_OK : call_refuse(&e);
}
