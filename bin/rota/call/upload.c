/* upload.c - seals a secret for rota-credd and uploads it.
 *
 * Called by: `rota cred add`.
 * Invariants:
 * - The secret leaves this process only in a box that is bound to cluster, user, name and kind. */
#include "bin/rota/call/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "lib/box.h"
#include "lib/credential.h"
#include "lib/err.h"

enum { UPLOAD_SECONDS = 30 /* seconds for which one request waits until rota-credd has taken the secret */ };

/* Returns the path of the caller's Kerberos ticket cache, malloc'ed; NULL with an error if the cache is not a file. */
static char *upload_ticket(struct err *e)
{
	const char *name = getenv("KRB5CCNAME");
	if (!name || !*name)
		return xasprintf("/tmp/krb5cc_%u", (unsigned)getuid());
	if (*name == '/')
		return xstrdup(name);
	if (strncmp(name, "FILE:", 5) == 0)
		return xstrdup(name + 5);
	err_set(e, "your ticket cache \"%.100s\" is no file", name);
	err_hint(e, "Get a ticket into a file, and name it: kinit -f -c FILE:ticket && rota cred add krb5 ticket");
	return NULL;
}

/* Read a whole file of at most CREDENTIAL_SECRET_LARGEST bytes. */
static bool upload_read(const char *path, unsigned char **secret, size_t *size, struct err *e)
{
	int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	unsigned char *bytes = xcalloc(1, CREDENTIAL_SECRET_LARGEST + 1);
	ssize_t done = 0;
	*size = 0;
	while (fd >= 0 && *size <= CREDENTIAL_SECRET_LARGEST &&
	       (done = read(fd, bytes + *size, CREDENTIAL_SECRET_LARGEST + 1 - *size)) > 0)
		*size += (size_t)done;
	bool good = fd >= 0 && done >= 0 ? true : err_sys(e, "could not read \"%s\"", path);
	if (good && *size > CREDENTIAL_SECRET_LARGEST)
		good = err_set(e, "\"%s\" is larger than %d bytes", path, CREDENTIAL_SECRET_LARGEST);
	else if (good && *size == 0)
		good = err_set(e, "\"%s\" is empty", path);
	if (fd > STDIN_FILENO)
		close(fd);
	*secret = good ? bytes : NULL;
	if (!good)
		xfree_wiped(bytes, CREDENTIAL_SECRET_LARGEST + 1);
	return good;
}

static char *upload_base64(const unsigned char *bytes, size_t size)
{
	char *text = xcalloc(1, 4 * ((size + 2) / 3) + 1);
	EVP_EncodeBlock((unsigned char *)text, bytes, (int)size);
	return text;
}

/* Seal a secret for rota-credd, and add it to the request. */
static bool upload_seal(json_t *request, const void *secret, size_t size, struct err *e)
{
	const struct conf *conf = call_conf();
	char *path = xasprintf("%s/cred.pub", conf->keys_dir);
	char *context =
		credential_upload_context(conf->instance_name, geteuid(), json_string_value(json_object_get(request, "name")),
					  json_string_value(json_object_get(request, "kind")));
	unsigned char key[BOX_KEY], *box;
	size_t box_size;
	bool good = access(path, F_OK) == 0 && box_public_read(path, key, e);
	if (!good && !*e->message) {
		err_set(e, "this cluster holds no credentials: there is no \"%s\"", path);
		err_hint(e, "Administrators: docs/credentials.md says how to have it hold some.");
	}
	if (good && box_seal(key, NULL, context, secret, size, &box, &box_size, e)) {
		char *text = upload_base64(box, box_size);
		json_object_set_new(request, "box", json_string(text));
		free(text);
		free(box);
	} else {
		good = false;
	}
	free(path);
	free(context);
	return good;
}

json_t *upload_wait(const char *what, json_int_t number, int *status)
{
	for (;;) {
		json_t *answer =
			call_gate_patiently("credential_wait", json_pack("{sI si}", what, number, "timeout_s", UPLOAD_SECONDS));
		if (!answer) {
			*status = call_status();
			return NULL;
		}
		if (json_is_true(json_object_get(answer, "done")))
			return answer;
		json_decref(answer);
		fprintf(stderr, "rota: rota-credd has not handled the request yet; waiting for it\n");
	}
}

json_t *upload_credential(json_t *request, const char *path, int *status)
{
	struct err e = {0};
	const char *kind = json_string_value(json_object_get(request, "kind"));
	bool made = strcmp(kind, "command") == 0; /* a program of the site makes the secret, so the user sends none */
	char *file = path || made ? NULL : strcmp(kind, "krb5") == 0 ? upload_ticket(&e) : xstrdup("-");
	unsigned char *secret = made ? (unsigned char *)xstrdup("") : NULL;
	size_t size = 0;
	bool good = made || ((path || file) && upload_read(path ? path : file, &secret, &size, &e));
	good = good && upload_seal(request, secret, size, &e);
	xfree_wiped(secret, size);
	free(file);
	if (!good) {
		json_decref(request);
		*status = call_refuse(&e);
		return NULL;
	}
	json_t *answer = call_gate("credentials", request);
	if (!answer) {
		*status = call_status();
		return NULL;
	}
	json_int_t upload = json_integer_value(json_object_get(answer, "upload"));
	json_decref(answer);
	*status = EXIT_OK;
	return upload_wait("upload", upload, status);
}
