/* certificate.h - how a certificate names a user: by one URI among its alternative names, rota-user:NAME, and by the same text as
 * common name. No server is called like this, nor is a role of PostgreSQL. */
#ifndef ROTA_CERTIFICATE_H
#define ROTA_CERTIFICATE_H

#define CERTIFICATE_USER_SCHEME "rota-user:"

#endif
