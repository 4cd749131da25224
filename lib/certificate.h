/* certificate.h - what programs have to agree on about certificates. */
#ifndef ROTA_CERTIFICATE_H
#define ROTA_CERTIFICATE_H

/* A certificate names a user by one URI among its alternative names, rota-user:NAME, and by the same text as common name. No server is
 * called like this, nor is a role of PostgreSQL. */
#define CERTIFICATE_USER_SCHEME "rota-user:"

/* Below this number of days before its end, a certificate is to be renewed. */
enum { CERTIFICATE_WARN_DAYS = 14 };

#endif
