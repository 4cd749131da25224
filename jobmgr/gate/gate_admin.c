/* gate_admin.c - verifies that a request by HTTPS has the rights of an operator or administrator.
 *
 * Called by: gate_certificate.c for each TLS context; gate_dispatch.c for each request by HTTPS.
 * Invariants:
 * - A request has these rights only if its credential and the certificate of its connection name the same user, and the
 *   connection comes from a host in gate.admin_hosts. Root of a node can make the credential, but has neither that
 *   certificate nor such a host.
 * - Only hosts in gate.admin_hosts are asked for a certificate, so other hosts cannot make jobmgrd parse one.
 * - An invalid certificate does not end the connection: the user is served as one without a certificate. */
#include "jobmgr/gate/gate_admin.h"

#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/gate/gate_hosts.h"
#include "lib/certificate.h"

struct gate_admin {
	const struct conf *conf;
	struct gate_hosts *hosts;
};

struct gate_admin *gate_admin_new(const struct conf *conf, struct err *e)
{
	struct err cause;
	struct gate_hosts *hosts = gate_hosts_new(conf->gate_admin_hosts, &cause);
	struct gate_admin *admin;

	if (!hosts) {
		err_set(e, "\"admin_hosts\" in section \"gate\": %s", cause.message);
		err_hint(e, "Write for example 10.0.0.5, 10.1.0.0/24.");
		return NULL;
	}
	if (!gate_hosts_are_none(hosts) && !*conf->gate_user_authority) {
		err_set(e, "\"admin_hosts\" in section \"gate\" needs \"user_authority\"");
		err_hint(e, "Name the authority that issues certificates of users, or leave admin_hosts empty.");
		gate_hosts_free(hosts);
		return NULL;
	}
	admin = xcalloc(1, sizeof *admin);
	admin->conf = conf;
	admin->hosts = hosts;
	return admin;
}

void gate_admin_free(struct gate_admin *admin)
{
	if (!admin)
		return;
	gate_hosts_free(admin->hosts);
	free(admin);
}

/* Accept the connection whatever its certificate is. OpenSSL keeps the last error for SSL_get_verify_result(). */
static int admin_verified(int valid, X509_STORE_CTX *store)
{
	(void)valid;
	(void)store;
	return 1;
}

/* Called at the beginning of each TLS handshake: requests a certificate of the client if its host is in gate.admin_hosts. */
static int admin_ask(SSL *ssl, int *alert, void *arg)
{
	const struct gate_admin *admin = arg;

	(void)alert;
	if (gate_hosts_have(admin->hosts, SSL_get_fd(ssl)))
		SSL_set_verify(ssl, SSL_VERIFY_PEER, admin_verified);
	return SSL_CLIENT_HELLO_SUCCESS;
}

bool gate_admin_prepare(struct gate_admin *admin, SSL_CTX *tls, struct err *e)
{
	const char *path = admin->conf->gate_user_authority;

	if (gate_hosts_are_none(admin->hosts))
		return true;
	if (SSL_CTX_load_verify_file(tls, path) != 1) {
		err_set(e, "\"user_authority\" in section \"gate\": could not read a certificate from \"%s\"", path);
		ERR_clear_error();
		return false;
	}
	SSL_CTX_set_client_hello_cb(tls, admin_ask, admin);
	return true;
}

/* Is this name of a certificate the URI that names the user? */
static bool name_is(const GENERAL_NAME *name, const char *user)
{
	static const char scheme[] = CERTIFICATE_USER_SCHEME;
	size_t head = sizeof scheme - 1, length = strlen(user);
	const char *text;

	if (name->type != GEN_URI || ASN1_STRING_length(name->d.ia5) != (int)(head + length))
		return false;
	text = (const char *)ASN1_STRING_get0_data(name->d.ia5);
	return memcmp(text, scheme, head) == 0 && memcmp(text + head, user, length) == 0;
}

/* Does the certificate name this user, and nothing else? */
static bool certificate_names_user(const X509 *certificate, const char *user)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	bool is_user = sk_GENERAL_NAME_num(names) == 1 && name_is(sk_GENERAL_NAME_value(names, 0), user);

	GENERAL_NAMES_free(names);
	return is_user;
}

const char *gate_admin_objection(const struct gate_admin *admin, struct bufferevent *buffer, const char *user)
{
	const SSL *ssl = bufferevent_openssl_get_ssl(buffer);
	X509 *certificate = SSL_get0_peer_certificate(ssl);

	if (!gate_hosts_have(admin->hosts, bufferevent_getfd(buffer)))
		return "this host is not in gate.admin_hosts";
	if (!certificate)
		return "no certificate was shown";
	if (SSL_get_verify_result(ssl) != X509_V_OK)
		return X509_verify_cert_error_string(SSL_get_verify_result(ssl));
	/* the certificate may have expired since the handshake */
	if (X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0)
		return X509_verify_cert_error_string(X509_V_ERR_CERT_HAS_EXPIRED);
	if ((X509_get_extended_key_usage(certificate) & (XKU_SSL_CLIENT | XKU_SSL_SERVER)) != XKU_SSL_CLIENT)
		return "the certificate shown is not a user's";
	if (!certificate_names_user(certificate, user))
		return "the certificate shown does not name the user";
	return NULL;
}
