/* db_conninfo.c - makes the connection string of a program from the configured one, and splits a string with several hosts.
 *
 * Called by: daemons, verbs that connect to PostgreSQL, db_connect.c.
 * Invariants:
 * - user and application_name of the result are those of the program; all other parameters are kept, except a weak sslmode.
 * - Over TCP the server is verified (sslmode=verify-full), unless database.allow_unverified says otherwise. What the
 *   environment or a service file says of sslmode has no effect.
 * - A string that libpq cannot parse is returned unchanged, so that connecting reports the error. */
#include "lib/db_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

struct setting {
	const char *keyword, *value;
};

/* Default parameters of the connections of daemons. Daemons need a writable server. The TCP parameters detect a dead server
 * within half a minute, also during a call; the default of the system is hours. They have no effect on Unix sockets. */
static const struct setting daemon_defaults[] = {
	{"target_session_attrs", "read-write"}, {"keepalives_idle", "10"},
	{"keepalives_interval", "5"},		{"keepalives_count", "3"},
	{"tcp_user_timeout", "25000"},		{NULL, NULL},
};

/* Append " keyword='value'" to a connection string, with `value` quoted for libpq. */
static void conninfo_add(FILE *out, const char *keyword, const char *value)
{
	char *quoted = text_quoted(value);
	fprintf(out, "%s%s='%s'", ftell(out) > 0 ? " " : "", keyword, quoted);
	free(quoted);
}

static FILE *conninfo_open(char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);
	if (!out)
		die("out of memory for a connection string");
	return out;
}

static void conninfo_close(FILE *out, PQconninfoOption *options)
{
	if (fclose(out) != 0)
		die("out of memory for a connection string");
	PQconninfoFree(options);
}

static const char *option_value(const PQconninfoOption *options, const char *keyword)
{
	for (const PQconninfoOption *o = options; o->keyword; o++)
		if (strcmp(o->keyword, keyword) == 0 && o->val && *o->val)
			return o->val;
	return NULL;
}

/* Returns the first of the settings that has `keyword`, or NULL if there is none. */
static const struct setting *setting_find(const struct setting *settings, const char *keyword)
{
	for (; settings->keyword; settings++)
		if (strcmp(settings->keyword, keyword) == 0)
			return settings;
	return NULL;
}

/* Make a connection string from the parsed `options`, in which the settings in `ours` replace those with the same keyword. If
 * `options` is NULL, libpq could not parse `conninfo`, and the result is a copy of `conninfo`. */
static char *conninfo_make(const char *conninfo, PQconninfoOption *options, const struct setting *ours)
{
	if (!options)
		return xstrdup(conninfo);
	char *text = NULL;
	size_t size = 0;
	FILE *out = conninfo_open(&text, &size);
	for (const PQconninfoOption *o = options; o->keyword; o++)
		if (o->val && !setting_find(ours, o->keyword))
			conninfo_add(out, o->keyword, o->val);
	for (; ours->keyword; ours++)
		conninfo_add(out, ours->keyword, ours->value);
	conninfo_close(out, options);
	return text;
}

/* Returns the list of hosts to which a connection goes, as libpq finds it; NULL for the socket in libpq's default folder. */
static const char *host_list(const PQconninfoOption *options)
{
	static const struct setting places[] = {{"hostaddr", "PGHOSTADDR"}, {"host", "PGHOST"}};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const char *list = option_value(options, places[i].keyword);
		if (!list)
			list = getenv(places[i].value);
		if (list && *list)
			return list;
	}
	return NULL;
}

/* Set whether a connection goes over TCP to some, and to all, of its hosts. A service file may name any host. */
static void hosts_kind(const PQconninfoOption *options, bool *some_tcp, bool *all_tcp)
{
	const char *hosts = host_list(options), *service = option_value(options, "service");
	bool is_service = service || getenv("PGSERVICE");
	*some_tcp = is_service;
	*all_tcp = hosts && !is_service;
	for (; hosts; hosts = strchr(hosts, ',') ? strchr(hosts, ',') + 1 : NULL) {
		bool is_tcp = *hosts && !strchr("/@,", *hosts);
		*some_tcp |= is_tcp;
		*all_tcp &= is_tcp;
	}
}

/* Returns the sslmode of a connection string if it is weaker than verify-full, else NULL. */
static const char *weak_sslmode(const PQconninfoOption *options)
{
	const char *mode = option_value(options, "sslmode");
	return mode && strcmp(mode, "verify-full") != 0 ? mode : NULL;
}

/* Append the settings with which libpq verifies the server, from `count` on; returns the new count. GSS encryption is off, since
 * libpq would try it before TLS. Channel binding needs a password, so it is left out with `sslcert`: libpq would refuse a server
 * that asks for a certificate instead. */
static int add_verification(const PQconninfoOption *options, bool allow_weak, struct setting *ours, int count)
{
	bool some_tcp, all_tcp;
	hosts_kind(options, &some_tcp, &all_tcp);
	const char *weak = weak_sslmode(options);
	if (!some_tcp || (weak && allow_weak))
		return count;
	ours[count++] = (struct setting){"sslmode", "verify-full"};
	if (!option_value(options, "gssencmode"))
		ours[count++] = (struct setting){"gssencmode", "disable"};
	if (all_tcp && !option_value(options, "channel_binding") && !option_value(options, "sslcert"))
		ours[count++] = (struct setting){"channel_binding", "require"};
	return count;
}

static bool allows_unverified(const struct conf *conf)
{
	return strcmp(conf->database_allow_unverified, "yes") == 0;
}

bool db_conninfo_check(const struct conf *conf, struct err *e)
{
	PQconninfoOption *options = PQconninfoParse(conf->database_conninfo, NULL);
	bool some_tcp = false, all_tcp;
	if (options)
		hosts_kind(options, &some_tcp, &all_tcp);
	const char *weak = options ? weak_sslmode(options) : NULL;
	bool good = !some_tcp || !weak || allows_unverified(conf);
	if (!good) {
		err_set(e, "database.conninfo: with sslmode=%s, any machine in between could act as the database", weak);
		err_hint(e, "leave out sslmode, which means verify-full, and name the certificate authority by sslrootcert; or "
			    "accept that by database.allow_unverified = yes");
	}
	PQconninfoFree(options);
	return good;
}

/* Make the connection string of a daemon, with `extra` unless its keyword is NULL. */
static char *daemon_conninfo(const struct conf *conf, const char *role, const char *application, struct setting extra)
{
	PQconninfoOption *options = PQconninfoParse(conf->database_conninfo, NULL);
	struct setting ours[13] = {{"user", role}, {"application_name", application}};
	int count = 2;
	if (extra.keyword && options)
		ours[count++] = extra;
	for (const struct setting *d = daemon_defaults; options && d->keyword; d++)
		if (!option_value(options, d->keyword) && !setting_find(ours, d->keyword))
			ours[count++] = *d;
	if (options)
		add_verification(options, allows_unverified(conf), ours, count);
	return conninfo_make(conf->database_conninfo, options, ours);
}

char *db_conninfo(const struct conf *conf, const char *role, const char *application)
{
	return daemon_conninfo(conf, role, application, (struct setting){NULL, NULL});
}

char *db_conninfo_stale(const struct conf *conf, const char *role, const char *application)
{
	return daemon_conninfo(conf, role, application, (struct setting){"target_session_attrs", "any"});
}

char *db_passfile(const struct conf *conf)
{
	return xasprintf("%s/node.pass", conf->keys_dir);
}

char *db_conninfo_node(const struct conf *conf, const char *login, const char *application)
{
	char *role = xasprintf("rota_node_%s", login), *passfile = db_passfile(conf);
	char *text = daemon_conninfo(conf, role, application, (struct setting){"passfile", passfile});
	free(passfile);
	free(role);
	return text;
}

/* Returns true if the connection string names several servers. */
static bool has_several_hosts(PQconninfoOption *options)
{
	const char *host = option_value(options, "host"), *address = option_value(options, "hostaddr");

	return (host && strchr(host, ',')) || (address && strchr(address, ','));
}

char *db_conninfo_reader(const struct conf *conf, const char *role, enum db_reader reader)
{
	PQconninfoOption *options = PQconninfoParse(conf->database_conninfo, NULL);
	const char *wanted = options ? option_value(options, "target_session_attrs") : NULL;
	bool is_ours = !wanted || strcmp(wanted, "read-write") == 0;
	struct setting ours[6] = {0};
	int count = 0;
	if (role)
		ours[count++] = (struct setting){"user", role};
	if (reader == DB_READER_STANDBY || (is_ours && reader == DB_READER_LATE && options && has_several_hosts(options)))
		ours[count++] = (struct setting){"target_session_attrs", "prefer-standby"};
	else if (is_ours && wanted)
		ours[count++] = (struct setting){"target_session_attrs", "primary"};
	if (options)
		add_verification(options, allows_unverified(conf), ours, count);
	return conninfo_make(conf->database_conninfo, options, ours);
}

char *db_conninfo_verified(const char *conninfo)
{
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	struct setting ours[4] = {0};
	if (options)
		add_verification(options, true, ours, 0);
	return conninfo_make(conninfo, options, ours);
}

/* Find part number `place` (from 0) of a list like "a,b,c". If the list has one part, it is returned for every `place`. Returns
 * false after the last part. */
static bool list_part(const char *list, int place, const char **part, int *length)
{
	bool only = !strchr(list, ',');
	for (; place > 0 && !only; place--) {
		list = strchr(list, ',');
		if (!list)
			return false;
		list++;
	}
	*part = list;
	*length = (int)strcspn(list, ",");
	return true;
}

char *db_conninfo_place(const char *conninfo, int place)
{
	static const char *const lists[] = {"host", "hostaddr", "port"};
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	const char *hosts = options ? option_value(options, "hostaddr") : NULL, *part = "";
	int length = 0;
	if (options && !hosts)
		hosts = option_value(options, "host");
	bool single = !hosts || !strchr(hosts, ',');
	if (single || !list_part(hosts, place, &part, &length)) {
		PQconninfoFree(options);
		return single && place == 0 ? xstrdup(conninfo) : NULL;
	}
	struct setting ours[4] = {0};
	char *values[3] = {0};
	for (int i = 0, count = 0; i < 3; i++) {
		const char *list = option_value(options, lists[i]);
		if (!list || !list_part(list, place, &part, &length))
			continue;
		values[i] = xstrndup(part, (size_t)length);
		ours[count++] = (struct setting){lists[i], values[i]};
	}
	char *text = conninfo_make(conninfo, options, ours);
	for (int i = 0; i < 3; i++)
		free(values[i]);
	return text;
}
