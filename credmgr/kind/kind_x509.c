/* kind_x509.c - reads PEM chains (kind_x509.h).
 *
 * Called by: kind.c.
 * Invariants:
 * - No signature is verified: the server that accepts the certificate does that. So facts that are read from a chain may be
 *   wrong, which affects only its owner's jobs. */
#include "credmgr/kind/kind_x509.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

enum { X509_CHAIN_MOST = 20 };

struct x509_chain {
	X509 *certificates[X509_CHAIN_MOST];
	int count;
};

static void chain_free(struct x509_chain *chain)
{
	for (int i = 0; i < chain->count; i++)
		X509_free(chain->certificates[i]);
}

/* Callback of OpenSSL for a passphrase: returns that there is none, so an encrypted key is refused. */
static int x509_no_passphrase(char *buffer, int size, int writing, void *asked)
{
	(void)buffer, (void)size, (void)writing;
	*(bool *)asked = true;
	return -1;
}

static BIO *x509_bio(const struct kind_secret *secret)
{
	BIO *bio = BIO_new_mem_buf(secret->bytes, (int)secret->size);

	if (!bio)
		die("out of memory");
	return bio;
}

static bool chain_read(struct x509_chain *chain, const struct kind_secret *secret, struct err *e)
{
	BIO *bio = x509_bio(secret);
	X509 *next;
	bool good;

	ERR_clear_error();
	while ((next = PEM_read_bio_X509(bio, NULL, NULL, NULL)) && chain->count < X509_CHAIN_MOST)
		chain->certificates[chain->count++] = next;
	good = !next && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
	BIO_free(bio);
	if (next) {
		X509_free(next);
		return err_set(e, "the chain has more than %d certificates", X509_CHAIN_MOST);
	}
	ERR_clear_error();
	if (!good)
		return err_set(e, "a certificate is damaged");
	return chain->count > 0 || err_set(e, "there is no certificate in PEM form");
}

/* Returns true if the secret has the private key of the first certificate, without a passphrase. */
static bool chain_key_fits(const struct x509_chain *chain, const struct kind_secret *secret, struct err *e)
{
	BIO *bio = x509_bio(secret);
	bool asked = false, fits;
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, x509_no_passphrase, &asked);

	fits = key && X509_check_private_key(chain->certificates[0], key) == 1;
	BIO_free(bio);
	EVP_PKEY_free(key);
	ERR_clear_error();
	if (asked)
		return err_set(e, "the private key has a passphrase; add a proxy, or a copy without one");
	if (!key)
		return err_set(e, "there is no private key in PEM form");
	return fits || err_set(e, "the private key is not that of the first certificate");
}

/* Returns the last part of a distinguished name if it is a common name, else NULL. */
static const ASN1_STRING *x509_last_name(const X509_NAME *name)
{
	int count = X509_NAME_entry_count(name);
	X509_NAME_ENTRY *last = count > 0 ? X509_NAME_get_entry(name, count - 1) : NULL;

	return last && OBJ_obj2nid(X509_NAME_ENTRY_get_object(last)) == NID_commonName ? X509_NAME_ENTRY_get_data(last) : NULL;
}

/* Returns true if the certificate is a proxy: of RFC 3820, or an older one, which its last common name shows. */
static bool x509_is_proxy(X509 *certificate)
{
	const ASN1_STRING *last = x509_last_name(X509_get_subject_name(certificate));
	const char *text = last ? (const char *)ASN1_STRING_get0_data(last) : "";
	size_t size = last ? (size_t)ASN1_STRING_length(last) : 0;

	return X509_get_extension_flags(certificate) & EXFLAG_PROXY || (size == 5 && !memcmp(text, "proxy", 5)) ||
	       (size == 13 && !memcmp(text, "limited proxy", 13));
}

/* Returns the name of the user of the chain: the subject of the first certificate that is no proxy or, if all are proxies, the
 * issuer of the last one. */
static const X509_NAME *chain_subject(const struct x509_chain *chain)
{
	int i = 0;

	while (i < chain->count && x509_is_proxy(chain->certificates[i]))
		i++;
	return i < chain->count ? X509_get_subject_name(chain->certificates[i])
				: X509_get_issuer_name(chain->certificates[chain->count - 1]);
}

static void x509_set_subject(struct kind_facts *facts, const X509_NAME *name)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long size;

	if (!bio || X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) < 0)
		die("the name of a certificate could not be written");
	size = BIO_get_mem_data(bio, &text);
	text = xstrndup(text ? text : "", (unsigned long)size);
	kind_facts_subject(facts, text);
	free(text);
	BIO_free(bio);
}

bool kind_x509_inspect(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
		       struct err *e)
{
	struct x509_chain chain = {0};
	bool good = chain_read(&chain, secret, e) && chain_key_fits(&chain, secret, e);

	for (int i = 0; good && i < chain.count; i++) {
		struct tm parts = {0};

		good = ASN1_TIME_to_tm(X509_get0_notAfter(chain.certificates[i]), &parts) == 1 ||
		       err_set(e, "a certificate is damaged");
		good = good && kind_facts_expire(facts, timegm(&parts), options->now,
						 i ? "a certificate of the chain" : "the certificate", e);
	}
	if (good)
		x509_set_subject(facts, chain_subject(&chain));
	chain_free(&chain);
	return good;
}
