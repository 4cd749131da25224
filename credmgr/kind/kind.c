/* kind.c - the table of the kinds of credentials (kind.h).
 *
 * Called by: bin/rota-credential.c. */
#include "credmgr/kind/kind.h"

#include <stdio.h>
#include <string.h>

#include "credmgr/kind/kind_command.h"
#include "credmgr/kind/kind_krb5.h"
#include "credmgr/kind/kind_refresh.h"
#include "credmgr/kind/kind_ssh.h"
#include "credmgr/kind/kind_token.h"
#include "credmgr/kind/kind_x509.h"

/* A credential of kind file can have any content, so there are no facts to read from it. */
static bool file_inspect(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
			 struct err *e)
{
	(void)options;
	(void)facts;
	return secret->size > 0 || err_set(e, "the file is empty");
}

const struct kind *kind_find(const char *name)
{
	static const struct kind kinds[] = {
		{"krb5", kind_krb5_inspect, NULL, kind_krb5_renew, kind_krb5_test, false},
		{"token", kind_token_inspect, kind_token_normal, kind_refresh_renew, NULL, false},
		{"x509", kind_x509_inspect, NULL, NULL, NULL, false},
		{"ssh-key", kind_ssh_inspect, NULL, NULL, NULL, false},
		{"file", file_inspect, NULL, NULL, NULL, false},
		{"command", kind_command_inspect, NULL, kind_command_renew, file_inspect, true},
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

bool kind_inspect(const struct kind *kind, const struct kind_secret *secret, const struct kind_options *options,
		  struct kind_secret *stored, struct kind_facts *facts, struct err *e)
{
	bool good;

	if (options->refresh_url && kind->inspect != kind_token_inspect)
		return err_set(e, "only a token has a refresh URL");
	good = kind->inspect(secret, options, facts, e) &&
	       (!options->expires || kind_facts_expire(facts, options->expires, options->now, "it, as --expires says,", e));
	if (good && kind->store)
		*stored = kind->store(secret, options);
	return good;
}

bool kind_test(const struct kind *kind, const struct kind_secret *secret, const struct kind_options *options,
	       struct kind_facts *facts, struct err *e)
{
	return kind->test ? kind->test(secret, options, facts, e) : kind->inspect(secret, options, facts, e);
}

bool kind_renew(const struct kind *kind, const struct kind_secret *secret, const struct kind_options *options,
		struct kind_secret *renewed, struct kind_facts *facts, struct err *e)
{
	if (!kind->renew)
		return err_set(e, "a credential of kind %s cannot be renewed; add it anew", kind->name);
	return kind->renew(secret, options, renewed, facts, e);
}
