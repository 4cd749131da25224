/* kind_x509.h - credentials that are an X.509 certificate, such as a proxy: a PEM chain with the private key. */
#ifndef ROTA_CREDMGR_KIND_X509_H
#define ROTA_CREDMGR_KIND_X509_H

#include "credmgr/kind/kind.h"

bool kind_x509_inspect(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
		       struct err *e);

#endif
