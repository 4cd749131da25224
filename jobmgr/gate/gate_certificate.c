/* gate_certificate.c - the certificate of HTTPS and the authority of users' certificates (gate_certificate.h).
 *
 * Called by: gate.c, at the start and for each connection; its own timer.
 * Invariants:
 * - There always is a TLS context that works. Files that cannot be used, such as a new certificate without its new key, are read
 *   again until they can be used.
 * - Nobody has to restart jobmgrd to renew a certificate. */
#include "jobmgr/gate/gate_certificate.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/certificate.h"
#include "lib/clock.h"
#include "lib/log.h"

enum {
	CHECK_S = 10, /* seconds between two checks whether the files have changed; each takes two system calls */
	FILES = 3,    /* certificate, key, authority of users */
	/* milliseconds between two reports of the certificate's end to the database, which drops daemons that have ended */
	REPORT_MS = 60 * 1000,
	WARN_MS = 24 * 3600 * 1000 /* milliseconds between two warnings that the certificate ends soon */
};

/* Properties of a file that change when the file is replaced. */
struct file_state {
	ino_t inode;
	off_t size;
	struct timespec changed;
};

struct gate_certificate {
	const struct conf *conf;
	struct gate_admin *admin;
	SSL_CTX *context;
	struct event *timer;
	struct file_state files[FILES]; /* state of the files that `context` was made of */
	bool is_refused;		/* the certificate files were read and could not be used */
	int64_t warned_at;		/* time of the last warning by clock_ms(); 0: none */
	struct gate_sessions *sessions;
	const char *name;    /* name of this jobmgrd */
	int64_t reported_at; /* time at which the database stored the report on `context`, by clock_ms(); 0: not yet */
	bool is_reporting;   /* a report is under way */
};

static SSL_CTX *context_fail(SSL_CTX *tls, const char *key, const char *path, struct err *e)
{
	unsigned long code = ERR_peek_error();

	err_set(e, "\"%s\" in section \"gate\": could not use \"%s\" for HTTPS: %s", key, path,
		ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code));
	ERR_clear_error();
	SSL_CTX_free(tls);
	return NULL;
}

/* Make a TLS context of the certificate files. TLS sessions are not resumed, since they would bring the client certificate of
 * an earlier connection along. */
static SSL_CTX *context_new(const struct conf *conf, struct gate_admin *admin, struct err *e)
{
	SSL_CTX *tls = SSL_CTX_new(TLS_server_method());

	if (!tls)
		die("could not make a TLS context");
	SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
	SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(tls, 0);
	ERR_clear_error();
	if (SSL_CTX_use_certificate_chain_file(tls, conf->gate_certificate) != 1)
		return context_fail(tls, "certificate", conf->gate_certificate, e);
	if (SSL_CTX_use_PrivateKey_file(tls, conf->gate_private_key, SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_check_private_key(tls) != 1)
		return context_fail(tls, "private_key", conf->gate_private_key, e);
	if (!gate_admin_prepare(admin, tls, e)) {
		SSL_CTX_free(tls);
		return NULL;
	}
	return tls;
}

static struct file_state state_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return (struct file_state){0};
	return (struct file_state){st.st_ino, st.st_size, st.st_ctim};
}

static void states_take(const struct conf *conf, struct file_state states[FILES])
{
	const char *const paths[FILES] = {conf->gate_certificate, conf->gate_private_key, conf->gate_user_authority};

	for (int i = 0; i < FILES; i++)
		states[i] = state_of(paths[i]);
}

static bool states_equal(const struct file_state *a, const struct file_state *b)
{
	for (int i = 0; i < FILES; i++) {
		if (a[i].inode != b[i].inode || a[i].size != b[i].size || a[i].changed.tv_sec != b[i].changed.tv_sec ||
		    a[i].changed.tv_nsec != b[i].changed.tv_nsec)
			return false;
	}
	return true;
}

/* Make a new TLS context if the certificate files have changed. Their state is read first, so that a change during the reading
 * is seen by the next check. Returns false with an error if the files cannot be used. */
static bool certificate_read(struct gate_certificate *c, struct err *e)
{
	struct file_state files[FILES];
	SSL_CTX *context;

	states_take(c->conf, files);
	if (c->context && states_equal(files, c->files))
		return true;
	context = context_new(c->conf, c->admin, e);
	if (!context)
		return false;
	if (c->context)
		log_info("HTTPS: the certificates were read again");
	SSL_CTX_free(c->context);
	c->context = context;
	memcpy(c->files, files, sizeof files);
	c->warned_at = c->reported_at = 0;
	return true;
}

static void certificate_reported(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct gate_certificate *c = arg;

	(void)db;
	(void)e; /* the session logs connection errors */
	c->is_reporting = false;
	/* If this jobmgrd is not registered yet, the report is repeated soon. */
	c->reported_at = result && PQntuples(result) == 1 && *PQgetvalue(result, 0, 0) == 't' ? clock_ms() : 0;
}

/* Report to the database when the certificate expires. */
static void certificate_report(struct gate_certificate *c)
{
	struct tm end;
	char text[32];

	if (c->is_reporting || (c->reported_at && clock_ms() - c->reported_at < REPORT_MS))
		return;
	if (!ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(c->context)), &end))
		return;
	strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S+00", &end);
	c->is_reporting = true;
	gate_session_query(c->sessions, NULL, API_daemon_certificate, (struct db_param[]){{c->name, -1}, {text, -1}}, 2,
			   certificate_reported, c);
}

/* Warn once a day if the certificate expires soon. */
static void certificate_warn(struct gate_certificate *c)
{
	const X509 *certificate = SSL_CTX_get0_certificate(c->context);
	int days = 0, seconds = 0;

	if (c->warned_at && clock_ms() - c->warned_at < WARN_MS)
		return;
	if (!ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(certificate)) || days >= CERTIFICATE_WARN_DAYS)
		return;
	c->warned_at = clock_ms();
	if (days < 0 || seconds < 0)
		log_error("HTTPS: the certificate \"%s\" has expired; clients refuse it", c->conf->gate_certificate);
	else
		log_warning("HTTPS: the certificate \"%s\" is valid for %d days; renew it", c->conf->gate_certificate, days);
}

static void certificate_check(evutil_socket_t fd, short what, void *arg)
{
	struct gate_certificate *c = arg;
	struct err e;
	bool good = certificate_read(c, &e);

	(void)fd;
	(void)what;
	if (!good && !c->is_refused)
		log_warning("%s; HTTPS keeps its previous certificate", e.message);
	c->is_refused = !good;
	certificate_warn(c);
	certificate_report(c);
}

struct gate_certificate *gate_certificate_new(struct event_base *base, const struct conf *conf, struct gate_admin *admin,
					      struct gate_sessions *sessions, const char *name, struct err *e)
{
	struct timeval often = {.tv_sec = CHECK_S};
	struct gate_certificate *c = xcalloc(1, sizeof *c);

	c->conf = conf;
	c->admin = admin;
	c->sessions = sessions;
	c->name = name;
	if (!certificate_read(c, e)) {
		free(c);
		return NULL;
	}
	certificate_warn(c);
	c->timer = event_new(base, -1, EV_PERSIST, certificate_check, c);
	if (!c->timer || event_add(c->timer, &often) < 0)
		die("HTTP API: could not make a timer");
	return c;
}

void gate_certificate_free(struct gate_certificate *c)
{
	if (!c)
		return;
	event_free(c->timer);
	SSL_CTX_free(c->context);
	free(c);
}

SSL_CTX *gate_certificate_context(const struct gate_certificate *c)
{
	return c->context;
}
