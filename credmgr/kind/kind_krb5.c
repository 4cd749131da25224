/* kind_krb5.c - reads and renews ticket caches by libkrb5 (kind_krb5.h).
 *
 * Called by: kind.c.
 * Invariants:
 * - A cache is read from a file in memory and written into memory, so no ticket is on disk.
 * - A ticket of a realm that krb5.conf does not name is neither renewed nor tested: else its owner could choose by DNS the
 *   servers to which this host connects. */
#include "credmgr/kind/kind_krb5.h"

#include <krb5/krb5.h>
#include <profile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	KRB5_SKEW = 300, /* seconds by which clocks may differ, where krb5.conf does not say */
	KRB5_CALL = 10	 /* most seconds that a call of a KDC that works takes */
};

/* A ticket cache that was read. */
struct krb5_held {
	krb5_context context;
	int file;
	krb5_ccache cache;
	krb5_principal client;
	krb5_creds ticket; /* the TGT of the client's realm */
	char *name;	   /* name of the client's principal */
};

static bool krb5_fail(krb5_context context, krb5_error_code code, const char *what, struct err *e)
{
	const char *message = krb5_get_error_message(context, code);

	err_set(e, "%s: %s", what, message);
	krb5_free_error_message(context, message);
	return false;
}

static void krb5_held_free(struct krb5_held *held)
{
	if (!held->context)
		return;
	krb5_free_cred_contents(held->context, &held->ticket);
	krb5_free_unparsed_name(held->context, held->name);
	krb5_free_principal(held->context, held->client);
	if (held->cache)
		krb5_cc_close(held->context, held->cache);
	krb5_free_context(held->context);
	close(held->file);
}

/* Converts a time of a ticket, an unsigned number of 32 bits, to epoch seconds. */
static int64_t krb5_time(krb5_timestamp at)
{
	return (uint32_t)at;
}

/* Find the TGT of the client's realm that lives longest. */
static bool held_find_ticket(struct krb5_held *held, struct err *e)
{
	const krb5_data *realm = &held->client->realm;
	krb5_principal server = NULL;
	krb5_cc_cursor cursor;
	krb5_creds found;
	krb5_error_code code = krb5_build_principal_ext(held->context, &server, realm->length, realm->data, KRB5_TGS_NAME_SIZE,
							KRB5_TGS_NAME, realm->length, realm->data, 0);

	if (!code)
		code = krb5_cc_start_seq_get(held->context, held->cache, &cursor);
	if (code) {
		krb5_free_principal(held->context, server);
		return krb5_fail(held->context, code, "the ticket cache is damaged", e);
	}
	while (!(code = krb5_cc_next_cred(held->context, held->cache, &cursor, &found))) {
		bool better = krb5_principal_compare(held->context, found.server, server) &&
			      krb5_principal_compare(held->context, found.client, held->client) &&
			      krb5_time(found.times.endtime) > krb5_time(held->ticket.times.endtime);
		krb5_creds other = better ? held->ticket : found;

		if (better)
			held->ticket = found;
		krb5_free_cred_contents(held->context, &other);
	}
	krb5_cc_end_seq_get(held->context, held->cache, &cursor);
	krb5_free_principal(held->context, server);
	if (code != KRB5_CC_END)
		return krb5_fail(held->context, code, "the ticket cache is damaged", e);
	return held->ticket.server || err_set(e, "the ticket cache has no ticket-granting ticket of %s; type kinit", held->name);
}

/* Read a ticket cache. Call krb5_held_free() in either case. */
static bool held_open(struct krb5_held *held, const struct kind_secret *secret, struct err *e)
{
	char name[64];
	krb5_error_code code;

	*held = (struct krb5_held){0};
	code = krb5_init_context(&held->context);
	if (code)
		return krb5_fail(NULL, code, "Kerberos does not work on the host of rota-credd", e);
	held->file = kind_secret_file(secret->bytes, secret->size);
	snprintf(name, sizeof name, "FILE:/proc/self/fd/%d", held->file);
	if (krb5_cc_resolve(held->context, name, &held->cache) ||
	    krb5_cc_get_principal(held->context, held->cache, &held->client) || !held->client->realm.length ||
	    krb5_unparse_name(held->context, held->client, &held->name))
		return err_set(e, "this is no Kerberos ticket cache");
	return held_find_ticket(held, e);
}

/* Returns true if krb5.conf names this realm. */
static bool krb5_realm_known(krb5_context context, const krb5_data *realm)
{
	static const char *const section[] = {"realms", NULL};
	struct _profile_t *profile = NULL;
	char **names = NULL, *own = NULL;
	bool known = !krb5_get_default_realm(context, &own) && strlen(own) == realm->length &&
		     !memcmp(own, realm->data, realm->length);

	if (!known && !krb5_get_profile(context, &profile) &&
	    !profile_get_subsection_names(profile, (const char **)section, &names))
		for (char **name = names; name && *name && !known; name++)
			known = strlen(*name) == realm->length && !memcmp(*name, realm->data, realm->length);
	if (names)
		profile_free_list(names);
	if (profile)
		profile_release(profile);
	krb5_free_default_realm(context, own);
	return known;
}

/* Returns by how many seconds the clocks of Kerberos may differ, as krb5.conf says. */
static int krb5_clock_skew(krb5_context context)
{
	struct _profile_t *profile = NULL;
	int skew = KRB5_SKEW;

	if (!krb5_get_profile(context, &profile)) {
		profile_get_integer(profile, "libdefaults", "clockskew", NULL, KRB5_SKEW, &skew);
		profile_release(profile);
	}
	return skew;
}

/* Returns by how many seconds the clock of the KDC is ahead of the database's: a ticket that begins after `now` shows this. Else
 * returns 0. */
static int64_t ticket_ahead(const krb5_creds *ticket, int64_t now)
{
	int64_t begin = krb5_time(ticket->times.starttime ? ticket->times.starttime : ticket->times.authtime);

	return begin > now ? begin - now : 0;
}

static bool held_facts(const struct krb5_held *held, const krb5_creds *ticket, int64_t now, struct kind_facts *facts,
		       struct err *e)
{
	int64_t ahead = ticket_ahead(ticket, now);
	char what[300];

	kind_facts_subject(facts, held->name);
	snprintf(what, sizeof what, "the ticket of %s", facts->subject);
	if (ahead > krb5_clock_skew(held->context) + KRB5_CALL)
		return err_set(e,
			       "%s begins in %lld s only; if it is not postdated, the clock of the database is behind that of "
			       "the KDC: set both by NTP",
			       what, (long long)ahead);
	if (!kind_facts_expire(facts, krb5_time(ticket->times.endtime) - ahead, now, what, e))
		return false;
	if (ticket->ticket_flags & TKT_FLG_RENEWABLE && krb5_time(ticket->times.renew_till) - ahead > now)
		facts->renew_until = krb5_time(ticket->times.renew_till) - ahead;
	facts->renewable = facts->renew_until && krb5_realm_known(held->context, &held->client->realm);
	return true;
}

bool kind_krb5_inspect(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
		       struct err *e)
{
	struct krb5_held held;
	bool good = held_open(&held, secret, e) && held_facts(&held, &held.ticket, options->now, facts, e);

	krb5_held_free(&held);
	return good;
}

static void krb5_write_number(FILE *out, uint32_t number)
{
	const unsigned char bytes[4] = {number >> 24, number >> 16, number >> 8, number};

	fwrite(bytes, 1, sizeof bytes, out);
}

static void krb5_write_data(FILE *out, const krb5_data *data)
{
	krb5_write_number(out, data->length);
	fwrite(data->data, 1, data->length, out);
}

/* Write a ticket cache of version 4 with one ticket. libkrb5 itself only writes files that have names. */
static bool held_write(const struct krb5_held *held, krb5_creds *ticket, struct kind_secret *written, struct err *e)
{
	static const char header[] = {5, 4, 0, 0};
	krb5_data *marshalled = NULL;
	krb5_error_code code = krb5_marshal_credentials(held->context, ticket, &marshalled);
	FILE *out;

	if (code)
		return krb5_fail(held->context, code, "the renewed ticket could not be written", e);
	out = open_memstream(&written->bytes, &written->size);
	if (!out)
		die("out of memory");
	fwrite(header, 1, sizeof header, out);
	krb5_write_number(out, (uint32_t)held->client->type);
	krb5_write_number(out, (uint32_t)held->client->length);
	krb5_write_data(out, &held->client->realm);
	for (int i = 0; i < held->client->length; i++)
		krb5_write_data(out, &held->client->data[i]);
	fwrite(marshalled->data, 1, marshalled->length, out);
	krb5_free_data(held->context, marshalled);
	if (fclose(out))
		die("out of memory");
	return true;
}

static bool krb5_renewal_fail(krb5_context context, krb5_error_code code, struct err *e)
{
	bool unreachable = code == KRB5_KDC_UNREACH || code == KRB5_REALM_CANT_RESOLVE || code == KRB5_REALM_UNKNOWN;

	krb5_fail(context, code, unreachable ? "no KDC answers" : "the KDC said", e);
	if (code == KRB5KRB_AP_ERR_SKEW || code == KRB5KRB_AP_ERR_TKT_NYV)
		err_set(e, "the clocks of the KDC and of the host of rota-credd differ: set both by NTP");
	return false;
}

static bool krb5_realm_refuse(const char *subject, struct err *e)
{
	return err_set(e, "the realm of %s is not one of krb5.conf on the host of rota-credd", subject);
}

static bool held_renew(const struct krb5_held *held, const struct kind_options *options, struct kind_secret *renewed,
		       struct kind_facts *facts, struct err *e)
{
	krb5_creds ticket = {0};
	krb5_error_code code;
	bool good;

	if (!facts->renew_until) {
		err_set(e, "the ticket of %s cannot be renewed any more; type kinit -r, and add it anew", facts->subject);
		strcpy(e->code, KIND_FINAL);
		return false;
	}
	if (!facts->renewable)
		return krb5_realm_refuse(facts->subject, e);
	code = krb5_get_renewed_creds(held->context, &ticket, held->client, held->cache, NULL);
	if (code)
		return krb5_renewal_fail(held->context, code, e);
	kind_facts_free(facts);
	good = held_facts(held, &ticket, options->now, facts, e) && held_write(held, &ticket, renewed, e);
	krb5_free_cred_contents(held->context, &ticket);
	return good;
}

bool kind_krb5_renew(const struct kind_secret *secret, const struct kind_options *options, struct kind_secret *renewed,
		     struct kind_facts *facts, struct err *e)
{
	struct krb5_held held;
	bool good = held_open(&held, secret, e) && held_facts(&held, &held.ticket, options->now, facts, e) &&
		    held_renew(&held, options, renewed, facts, e);

	krb5_held_free(&held);
	return good;
}

/* Test the ticket: ask the KDC for a ticket to the client itself. Most KDCs refuse this, but only after they have accepted the
 * ticket in the request. */
static bool held_try(const struct krb5_held *held, struct err *e)
{
	krb5_creds wanted = {.client = held->client, .server = held->client}, *got = NULL;
	krb5_error_code code;

	if (!krb5_realm_known(held->context, &held->client->realm))
		return krb5_realm_refuse(held->name, e);
	code = krb5_get_credentials(held->context, KRB5_GC_NO_STORE, held->cache, &wanted, &got);

	if (!code)
		krb5_free_creds(held->context, got);
	return !code || code == KRB5KDC_ERR_MUST_USE_USER2USER || code == KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN ||
	       krb5_renewal_fail(held->context, code, e);
}

bool kind_krb5_test(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts, struct err *e)
{
	struct krb5_held held;
	bool good = held_open(&held, secret, e) && held_facts(&held, &held.ticket, options->now, facts, e) && held_try(&held, e);

	if (good)
		facts->asked = "the KDC accepts the ticket";
	krb5_held_free(&held);
	return good;
}
