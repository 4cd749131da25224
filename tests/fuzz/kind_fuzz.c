/* kind_fuzz.c - libFuzzer on what rota-credential parses of users, token services and programs of the site: tokens, answers, facts, PEM
 * chains, URLs. The first byte chooses. Whatever is accepted has facts that can be written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "credmgr/kind/kind_refresh.h"
#include "credmgr/kind/kind_token.h"
#include "credmgr/kind/kind_url.h"
#include "credmgr/kind/kind_x509.h"

enum { NOW = 1700000000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Facts are read as they were written, and of the future. */
static void fuzz_facts(struct kind_facts *facts)
{
	char *text = kind_facts_write(facts);
	struct kind_facts again = {0};
	struct err e;

	if (!kind_facts_read(text, strlen(text), &again, &e) || again.expires != facts->expires ||
	    again.renewable != facts->renewable || (facts->subject && strcmp(again.subject, facts->subject) != 0) ||
	    (facts->expires && facts->expires <= NOW))
		abort();
	kind_facts_free(&again);
	free(text);
}

/* What a service answers leaves a token that can be renewed again. */
static void fuzz_answer(const char *text, size_t size)
{
	json_t *object = json_pack("{s:s, s:s, s:s}", "access_token", "access-token-of-user", "refresh_token",
				   "refresh-token-of-user", "client_secret", "secret-of-client");
	struct err e = {0};
	bool good = kind_refresh_answer(object, text[0] & 1 ? 200 : 400, text, size, NOW, &e);
	char *written = json_dumps(object, 0);
	struct kind_secret secret = kind_secret_of(written, strlen(written));
	json_t *read = kind_token_read(&secret, &e);

	if (!read || (!good && (strstr(e.message, "access-token-of-user") || strstr(e.message, "refresh-token-of-user") ||
				strstr(e.message, "secret-of-client"))))
		abort();
	json_decref(read);
	kind_secret_free(&secret);
	free(written);
	json_decref(object);
}

static void fuzz_url(const char *url)
{
	struct err e;

	if (kind_url_allowed(url, "https://idp.example.org", false, &e) &&
	    (strncmp(url, "https://idp.example.org", 23) != 0 || !strchr("/?", url[23])))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kind_options options = {.now = NOW};
	struct kind_facts facts = {0};
	struct kind_secret secret;
	struct err e = {0};
	bool good = false;

	if (size < 1)
		return 0;
	secret = kind_secret_of(data + 1, size - 1);
	options.refresh_url = data[0] == 'o' ? "https://idp/" : NULL;
	options.refresh_allowed = "https://idp/";
	if (data[0] == 'a')
		fuzz_answer(secret.bytes, secret.size);
	else if (data[0] == 'u')
		fuzz_url(secret.bytes);
	else if (data[0] == 'f')
		kind_facts_read(secret.bytes, secret.size, &facts, &e);
	else if (data[0] == 'x')
		good = kind_x509_inspect(&secret, &options, &facts, &e);
	else
		good = kind_token_inspect(&secret, &options, &facts, &e);
	if (good)
		fuzz_facts(&facts);
	kind_facts_free(&facts);
	kind_secret_free(&secret);
	return 0;
}
