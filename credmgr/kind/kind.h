/* kind.h - kinds of credentials: how a secret is inspected, stored, renewed and tested. */
#ifndef ROTA_CREDMGR_KIND_H
#define ROTA_CREDMGR_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "credmgr/kind/kind_facts.h"
#include "credmgr/kind/kind_secret.h"
#include "lib/err.h"

/* Options of rota-credential. Texts that were not given are NULL. */
struct kind_options {
	const char *refresh_url;     /* URL of the token service */
	const char *refresh_allowed; /* beginnings of URLs to which tokens may be sent, separated by commas */
	bool refresh_plain;	     /* only for tests of Rota: the token service may be at http:// on this host */
	const char *curl;	     /* path of the program curl */
	const char *command, *command_folder;
	const char *user;
	int64_t expires; /* end that the owner has given (--expires), in epoch seconds; 0: none */
	int64_t now;
};

/* Code of an error that each further renewal would have too: only a new upload helps. */
#define KIND_FINAL "RT410"

struct kind {
	const char *name;
	/* Check a secret and fill `facts`. The error message is for the owner, and has no part of the secret. */
	bool (*inspect)(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
			struct err *e);
	/* Returns the form in which a valid secret is stored. The member NULL: the secret is stored as it is. */
	struct kind_secret (*store)(const struct kind_secret *secret, const struct kind_options *options);
	/* Renew the secret: make the next secret and its facts. The member NULL: credentials of this kind cannot be renewed. */
	bool (*renew)(const struct kind_secret *secret, const struct kind_options *options, struct kind_secret *renewed,
		      struct kind_facts *facts, struct err *e);
	/* Test whether servers accept the secret, without changing anything. The member NULL: a test only inspects the stored
	 * secret. */
	bool (*test)(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
		     struct err *e);
	bool from_site; /* the user sends no secret of this kind; a program of the site makes it */
};

/* Returns the kind of this name, or NULL. */
const struct kind *kind_find(const char *name);

/* Inspect a secret. facts->expires is at most the time that its owner has given (options->expires). *stored is the form in which
 * the secret is stored; empty: the secret as it is. */
bool kind_inspect(const struct kind *kind, const struct kind_secret *secret, const struct kind_options *options,
		  struct kind_secret *stored, struct kind_facts *facts, struct err *e);

/* Test a stored secret, as `test` of the kind does. */
bool kind_test(const struct kind *kind, const struct kind_secret *secret, const struct kind_options *options,
	       struct kind_facts *facts, struct err *e);

/* Renew a secret. */
bool kind_renew(const struct kind *kind, const struct kind_secret *secret, const struct kind_options *options,
		struct kind_secret *renewed, struct kind_facts *facts, struct err *e);

#endif
