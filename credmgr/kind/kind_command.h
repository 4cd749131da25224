/* kind_command.h - credentials that a program of the site makes, so their owners upload no secret. */
#ifndef ROTA_CREDMGR_KIND_COMMAND_H
#define ROTA_CREDMGR_KIND_COMMAND_H

#include "credmgr/kind/kind.h"

bool kind_command_inspect(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
			  struct err *e);
bool kind_command_renew(const struct kind_secret *secret, const struct kind_options *options, struct kind_secret *renewed,
			struct kind_facts *facts, struct err *e);

#endif
