/* gate_admin.h - verifies that a request by HTTPS has the rights of an operator or administrator. For gate*.c only. */
#ifndef ROTA_GATE_ADMIN_H
#define ROTA_GATE_ADMIN_H

#include <event2/bufferevent.h>
#include <openssl/ssl.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

struct gate_admin;

/* Read gate.admin_hosts. Returns NULL with an error if it is malformed, or gate.user_authority is missing. The caller keeps `conf`. */
struct gate_admin *gate_admin_new(const struct conf *conf, struct err *e);
void gate_admin_free(struct gate_admin *admin);

/* Have a TLS context ask the hosts of gate.admin_hosts for the certificate of a user. Returns false with an error if
 * gate.user_authority cannot be used. The caller keeps `admin` while the context is in use. */
bool gate_admin_prepare(struct gate_admin *admin, SSL_CTX *tls, struct err *e);

/* Returns NULL if the client at the other end of a TLS connection has proven by its certificate that it is this user, and has its
 * rights therefore, or else the reason why it has not. */
const char *gate_admin_objection(const struct gate_admin *admin, struct bufferevent *buffer, const char *user);

#endif
