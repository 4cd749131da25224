/* certificate.c - makes and renews X.509 certificates.
 *
 * Called by: pki.c.
 * Invariants:
 * - A certificate is valid from an hour before it was made, because clocks of machines differ.
 * - Only the authority's certificate can sign others.
 * - A failure of OpenSSL that no input can cause ends the process. */
#include "bin/rota/admin/certificate.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/x509v3.h>

#include "lib/certificate.h"

enum { SERIAL_BITS = 159, EARLIER_S = 3600, COMMON_NAME_MOST = 64, HOST_MOST = 253 };

EVP_PKEY *certificate_key_new(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	if (!key)
		die("could not make a key");
	return key;
}

/* Give a certificate a random serial number and its period of validity. */
static void set_validity(X509 *certificate, int days)
{
	BIGNUM *serial = BN_new();
	bool good = serial && BN_rand(serial, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) &&
		    BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(certificate)) &&
		    X509_gmtime_adj(X509_getm_notBefore(certificate), -EARLIER_S) &&
		    X509_time_adj_ex(X509_getm_notAfter(certificate), days, 0, NULL);
	BN_free(serial);
	if (!good)
		die("could not set from when to when a certificate is valid");
}

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	bool good = extension && X509_add_ext(certificate, extension, -1);
	X509_EXTENSION_free(extension);
	return good;
}

static void certificate_sign(X509 *certificate, EVP_PKEY *key)
{
	if (!X509_sign(certificate, key, EVP_sha256()))
		die("could not sign a certificate");
}

/* Returns a certificate without extensions and signature. NULL with an error if `name` cannot be a common name. */
static X509 *certificate_begin(EVP_PKEY *key, const char *name, const X509_NAME *issuer, int days, struct err *e)
{
	X509 *certificate = X509_new();
	if (!certificate || !X509_set_version(certificate, X509_VERSION_3) || !X509_set_pubkey(certificate, key))
		die("could not make a certificate");
	set_validity(certificate, days);
	X509_NAME *subject = X509_get_subject_name(certificate);
	bool fits = *name && strlen(name) <= COMMON_NAME_MOST &&
		    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0);
	if (!fits) {
		X509_free(certificate);
		err_set(e, "\"%.80s\" cannot be the name of a certificate", name);
		err_hint(e, "A name has 1 to %d characters. Give longer host names with --names.", COMMON_NAME_MOST);
		return NULL;
	}
	if (!X509_set_issuer_name(certificate, issuer ? issuer : subject))
		die("could not name the issuer of a certificate");
	return certificate;
}

X509 *certificate_new_authority(EVP_PKEY *key, const char *name, int days, struct err *e)
{
	X509 *certificate = certificate_begin(key, name, NULL, days, e);
	if (!certificate)
		return NULL;
	if (!add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
	    !add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") ||
	    !add_extension(certificate, certificate, NID_subject_key_identifier, "hash"))
		die("could not make the certificate of an authority");
	certificate_sign(certificate, key);
	return certificate;
}

static bool is_address(const char *name)
{
	unsigned char bytes[sizeof(struct in6_addr)];
	return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

/* Returns true if `name` is a host name, or has only characters of host names and "_", such as rota_jobmgr. */
static bool is_host(const char *name)
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	size_t length = strlen(name);
	return length > 0 && length <= HOST_MOST && strspn(name, characters) == length;
}

/* Returns names in the form of the extension subjectAltName, "DNS:head,IP:10.0.0.1"; malloc'ed. NULL with an error if a name is
 * malformed. */
static char *alternative_names(const char *names, struct err *e)
{
	char *copy = xstrdup(names), *all = xstrdup(""), *rest = copy, *name;
	bool good = true;
	while (good && (name = strsep(&rest, ","))) {
		good = is_address(name) || is_host(name) ||
		       err_set(e, "\"%.80s\" is neither a host name nor an IP address", name);
		char *more = xasprintf("%s%s%s:%s", all, *all ? "," : "", is_address(name) ? "IP" : "DNS", name);
		free(all);
		all = more;
	}
	free(copy);
	if (good)
		return all;
	free(all);
	return NULL;
}

/* Make and sign a certificate. `alternative` has the form of the extension subjectAltName, `usage` that of extendedKeyUsage. */
static X509 *certificate_make(const struct certificate_authority *by, EVP_PKEY *key, const char *name, const char *alternative,
			      const char *usage, int days, struct err *e)
{
	X509 *certificate = certificate_begin(key, name, X509_get_subject_name(by->certificate), days, e);
	if (certificate) {
		if (!add_extension(certificate, by->certificate, NID_basic_constraints, "critical,CA:FALSE") ||
		    !add_extension(certificate, by->certificate, NID_key_usage, "critical,digitalSignature") ||
		    !add_extension(certificate, by->certificate, NID_ext_key_usage, usage) ||
		    !add_extension(certificate, by->certificate, NID_authority_key_identifier, "keyid:always") ||
		    !add_extension(certificate, by->certificate, NID_subject_alt_name, alternative))
			die("could not make a certificate");
		certificate_sign(certificate, by->key);
	}
	return certificate;
}

X509 *certificate_new(const struct certificate_authority *by, EVP_PKEY *key, const char *name, const char *names, int days,
		      struct err *e)
{
	char *alternative = alternative_names(names, e);
	X509 *certificate = alternative ? certificate_make(by, key, name, alternative, "serverAuth,clientAuth", days, e) : NULL;
	free(alternative);
	return certificate;
}

X509 *certificate_new_user(const struct certificate_authority *by, EVP_PKEY *key, const char *user, int days, struct err *e)
{
	if (!is_host(user)) { /* other characters have a meaning in the list of alternative names */
		err_set(e, "\"%.80s\" is not the name of a user", user);
		return NULL;
	}
	char *name = xasprintf("%s%s", CERTIFICATE_USER_SCHEME, user), *alternative = xasprintf("URI:%s", name);
	X509 *certificate = certificate_make(by, key, name, alternative, "clientAuth", days, e);
	free(alternative);
	free(name);
	return certificate;
}

X509 *certificate_renew(const struct certificate_authority *by, X509 *old, int days, struct err *e)
{
	if (X509_verify(old, by->key) != 1) {
		err_set(e, "the certificate was signed by another authority than authority.pem");
		return NULL;
	}
	X509 *certificate = X509_dup(old);
	if (!certificate)
		die("out of memory for a certificate");
	set_validity(certificate, days);
	certificate_sign(certificate, by->key);
	return certificate;
}

/* Append one alternative name to the list that `out` is written to. */
static void name_print(FILE *out, const GENERAL_NAME *name)
{
	char text[INET6_ADDRSTRLEN] = "";
	if (ftell(out) > 0)
		fputc(',', out);
	if (name->type == GEN_IPADD) {
		int family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
		inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text, sizeof text);
		fputs(text, out);
	} else if (name->type == GEN_DNS || name->type == GEN_URI) {
		fprintf(out, "%.*s", ASN1_STRING_length(name->d.ia5), (const char *)ASN1_STRING_get0_data(name->d.ia5));
	}
}

char *certificate_names(X509 *certificate)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		die("out of memory");
	GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++)
		name_print(out, sk_GENERAL_NAME_value(names, i));
	GENERAL_NAMES_free(names);
	if (fclose(out) != 0)
		die("out of memory");
	return text;
}

int certificate_days_left(const X509 *certificate)
{
	int days = 0, seconds = 0;
	if (!ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(certificate)))
		die("could not read when a certificate expires");
	return days - (seconds < 0);
}
