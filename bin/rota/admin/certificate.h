/* certificate.h - makes and renews X.509 certificates, with OpenSSL. */
#ifndef ROTA_BIN_CERTIFICATE_H
#define ROTA_BIN_CERTIFICATE_H

#include <stdbool.h>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "lib/err.h"

/* The authority that signs certificates. */
struct certificate_authority {
	X509 *certificate;
	EVP_PKEY *key;
};

/* Returns a new key (P-256). */
EVP_PKEY *certificate_key_new(void);

/* Returns the certificate of a new authority, signed by its own key. */
X509 *certificate_new_authority(EVP_PKEY *key, const char *name, int days, struct err *e);

/* Returns a certificate for servers and clients. `name` is its common name, by which PostgreSQL knows a client; `names` are the host
 * names and IP addresses for which it is valid, separated by commas. NULL with an error if a name is malformed. */
X509 *certificate_new(const struct certificate_authority *by, EVP_PKEY *key, const char *name, const char *names, int days,
		      struct err *e);

/* Returns a certificate that names a user (lib/certificate.h), for clients only. NULL with an error if no user can be called
 * `user`. */
X509 *certificate_new_user(const struct certificate_authority *by, EVP_PKEY *key, const char *user, int days, struct err *e);

/* Returns a copy of a certificate that is valid from now on, for the same key and names. NULL with an error if the authority did not
 * sign the certificate. */
X509 *certificate_renew(const struct certificate_authority *by, X509 *old, int days, struct err *e);

/* Returns the names for which a certificate is valid, separated by commas; malloc'ed. */
char *certificate_names(X509 *certificate);

/* Returns the whole days that a certificate is still valid; negative if it has expired. */
int certificate_days_left(const X509 *certificate);

#endif
