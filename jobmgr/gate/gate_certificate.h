/* gate_certificate.h - the certificate of HTTPS: read again when its files change, and watched for its end. For gate*.c only. */
#ifndef ROTA_GATE_CERTIFICATE_H
#define ROTA_GATE_CERTIFICATE_H

#include <event2/event.h>
#include <openssl/ssl.h>

#include "jobmgr/gate/gate_admin.h"
#include "jobmgr/gate/gate_session.h"
#include "lib/conf.h"
#include "lib/err.h"

struct gate_certificate;

/* Read gate.certificate, gate.private_key and gate.user_authority. Returns NULL with an error if they cannot be used. From then
 * on, queries by `sessions` report to the database when the certificate of the jobmgrd `name` expires. All arguments must
 * outlive it. */
struct gate_certificate *gate_certificate_new(struct event_base *base, const struct conf *conf, struct gate_admin *admin,
					      struct gate_sessions *sessions, const char *name, struct err *e);

/* Free the certificate. Called after gate_sessions_close(): until then, a query with the certificate's report may be under
 * way. */
void gate_certificate_free(struct gate_certificate *certificate);

/* Returns the TLS context for a new connection. Connections keep the context that they began with. */
SSL_CTX *gate_certificate_context(const struct gate_certificate *certificate);

#endif
