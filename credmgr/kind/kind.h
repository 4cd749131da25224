/* kind.h - kinds of credentials: what a secret says of itself, and how it is renewed. */
#ifndef ROTA_CREDMGR_KIND_H
#define ROTA_CREDMGR_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "credmgr/kind/kind_facts.h"
#include "credmgr/kind/kind_secret.h"
#include "lib/err.h"

/* Options of rota-credential. Texts that were not given are NULL. */
struct kind_options {
	const char *refresh_url;     /* of the token service */
	const char *refresh_allowed; /* beginnings of URLs, separated by commas */
	bool refresh_plain;	     /* for tests: a token service may also be at http:// on this host */
	const char *curl;	     /* path of the program curl */
	const char *command, *command_folder;
	const char *user;
	int64_t expires; /* end that the owner has given (--expires), in epoch seconds; 0: none */
	int64_t now;
};

/* Code of an error that would come again, whenever a renewal is tried: only a new upload helps. */
#define KIND_FINAL "RT410"

struct kind {
	const char *name;
	/* Check a secret and fill `facts`. The error is fit for the owner and has nothing of the secret. */
	bool (*inspect)(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
			struct err *e);
	/* Returns the form of a valid secret that is stored; NULL: the secret is stored as it is. */
	struct kind_secret (*store)(const struct kind_secret *secret, const struct kind_options *options);
	/* Renew the secret: make the next secret and its facts. NULL: the kind cannot be renewed. */
	bool (*renew)(const struct kind_secret *secret, const struct kind_options *options, struct kind_secret *renewed,
		      struct kind_facts *facts, struct err *e);
	/* Test whether the secret works, without a change anywhere; NULL: the test is to inspect the stored secret. */
	bool (*test)(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
		     struct err *e);
	bool from_site; /* the user sends no secret of this kind; a program of the site makes it */
};

/* Returns the kind of this name, or NULL. */
const struct kind *kind_find(const char *name);

/* Inspect a secret, and lower the time at which it expires to what its owner says. *stored is what is stored of it; empty: the secret as
 * it is. */
bool kind_inspect(const struct kind *kind, const struct kind_secret *secret, const struct kind_options *options,
		  struct kind_secret *stored, struct kind_facts *facts, struct err *e);

/* Try a stored secret. */
bool kind_test(const struct kind *kind, const struct kind_secret *secret, const struct kind_options *options,
	       struct kind_facts *facts, struct err *e);

/* Renew a secret. */
bool kind_renew(const struct kind *kind, const struct kind_secret *secret, const struct kind_options *options,
		struct kind_secret *renewed, struct kind_facts *facts, struct err *e);

#endif
