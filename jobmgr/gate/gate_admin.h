/* gate_admin.h - verifies that a request by HTTPS has the rights of an operator or administrator. For gate*.c only. */
#ifndef ROTA_GATE_ADMIN_H
#define ROTA_GATE_ADMIN_H

#include <event2/bufferevent.h>
#include <openssl/ssl.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

struct gate_admin;

/* Read gate.admin_hosts. Returns NULL with an error if it is malformed, or if gate.user_authority is not set. `conf` must
 * outlive the result. */
struct gate_admin *gate_admin_new(const struct conf *conf, struct err *e);
void gate_admin_free(struct gate_admin *admin);

/* Have a TLS context request a user's certificate of the hosts in gate.admin_hosts. Returns false with an error if
 * gate.user_authority cannot be used. `admin` must outlive the context. */
bool gate_admin_prepare(struct gate_admin *admin, SSL_CTX *tls, struct err *e);

/* Returns NULL if the client of a TLS connection has proven by a certificate that it is this user: then its requests have the
 * user's rights. Else returns the reason why not. */
const char *gate_admin_objection(const struct gate_admin *admin, struct bufferevent *buffer, const char *user);

#endif
