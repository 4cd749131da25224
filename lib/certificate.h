/* certificate.h - constants for all programs that make or check certificates of users. */
#ifndef ROTA_CERTIFICATE_H
#define ROTA_CERTIFICATE_H

/* A certificate names a user by one URI among its alternative names, rota-user:NAME, and by the same text as common name. No
 * server and no role of PostgreSQL has such a name. */
#define CERTIFICATE_USER_SCHEME "rota-user:"

/* A certificate is renewed when it expires in less than this number of days. */
enum { CERTIFICATE_WARN_DAYS = 14 };

#endif
