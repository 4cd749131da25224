/* kind_ssh.h - credentials that are a private key of SSH without a passphrase. */
#ifndef ROTA_CREDMGR_KIND_SSH_H
#define ROTA_CREDMGR_KIND_SSH_H

#include "credmgr/kind/kind.h"

bool kind_ssh_inspect(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
		      struct err *e);

#endif
