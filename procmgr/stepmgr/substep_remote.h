/* substep_remote.h - clients on other machines: the owner of the job, who connects by TLS with a token that jobmgrd has signed. */
#ifndef ROTA_PROCMGR_SUBSTEP_REMOTE_H
#define ROTA_PROCMGR_SUBSTEP_REMOTE_H

#include "procmgr/stepmgr/substep_engine.h"

/* Set the key with which tokens are verified: sign.pub, which is open as `key_fd`. Does not listen yet. */
void substep_remote_use(int key_fd);

/* Listen for clients, unless this process does already, and write a journal record `listen`, which procmgrd reports. */
void substep_remote_listen(struct substep_engine *m);

#endif
