/* kind_krb5.h - credentials that are a ticket cache of Kerberos: the bytes of a cache of type FILE. */
#ifndef ROTA_CREDMGR_KIND_KRB5_H
#define ROTA_CREDMGR_KIND_KRB5_H

#include "credmgr/kind/kind.h"

bool kind_krb5_inspect(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
		       struct err *e);
/* Ask the KDC whether it accepts the ticket. */
bool kind_krb5_test(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
		    struct err *e);

bool kind_krb5_renew(const struct kind_secret *secret, const struct kind_options *options, struct kind_secret *renewed,
		     struct kind_facts *facts, struct err *e);

#endif
