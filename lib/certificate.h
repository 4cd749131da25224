/* certificate.h - what all programs that make or check certificates agree on. */
#ifndef ROTA_CERTIFICATE_H
#define ROTA_CERTIFICATE_H

/* A certificate names a user by one URI among its alternative names, rota-user:NAME, and by the same text as common name. No server is
 * called like this, nor is a role of PostgreSQL. */
#define CERTIFICATE_USER_SCHEME "rota-user:"

/* A certificate is renewed when it expires in less than this number of days. */
enum { CERTIFICATE_WARN_DAYS = 14 };

#endif
