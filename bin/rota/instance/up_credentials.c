/* up_credentials.c - makes the keys for credentials in a private instance that holds any (credentials.keys), for `rota up`.
 *
 * Called by: `rota up`.
 * Invariants:
 * - The keys of rota-credd belong to its account, and nobody else but root reads them.
 * - All nodes of a private instance are one machine, so they have one key. */
#include <errno.h>
#include <jansson.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/instance/up.h"
#include "bin/rota/print/format.h"
#include "lib/box.h"
#include "lib/seal.h"

/* Make the keys of rota-credd and give them to its account. */
static bool keys_make(const struct instance *in, const struct passwd *pw, struct err *e)
{
	const char *folder = in->conf.credentials_keys;
	uid_t uid = pw ? pw->pw_uid : geteuid();
	gid_t gid = pw ? pw->pw_gid : getegid();
	char *key = xasprintf("%s/cred.key", folder), *first = xasprintf("%s/1.key", folder);
	char *pub = xasprintf("%s/cred.pub", in->conf.keys_dir);
	bool ok = up_folder_make(folder, 0700, geteuid(), getegid(), e) && seal_box_keys_make(key, pub, e) &&
		  seal_secret_make(first, e);

	if (ok && (lchown(key, uid, gid) || lchown(first, uid, gid)))
		ok = err_sys(e, "could not give the keys in \"%s\" to the account of rota-credd", folder);
	ok = ok && up_folder_make(folder, 0700, uid, gid, e) && (!pw || up_pid_file_make(in, "rota-credd", uid, gid, e));
	free(key);
	free(first);
	free(pub);
	return ok;
}

bool up_credential_keys(const struct instance *in, struct err *e)
{
	if (!*in->conf.credentials_keys)
		return true;
	const struct passwd *pw =
		in->root ? up_account_find("credentials.account", conf_credentials_account(&in->conf), e) : NULL;
	if (in->root && !pw)
		return false;
	char *key = instance_path(in, "keys/node.key"), *pub = instance_path(in, "keys/node.pub");
	bool ok = keys_make(in, pw, e) && seal_box_keys_make(key, pub, e);
	free(key);
	free(pub);
	return ok;
}

bool up_credential_nodes(const struct instance *in, const json_t *nodes, struct err *e)
{
	unsigned char key[BOX_KEY];
	char hex[2 * BOX_KEY + 1];
	const json_t *node;
	size_t i;
	if (!*in->conf.credentials_keys)
		return true;
	char *path = instance_path(in, "keys/node.pub");
	bool ok = box_public_read(path, key, e);
	free(path);
	seal_hex(key, BOX_KEY, hex);
	json_array_foreach (nodes, i, node) {
		json_t *answer = NULL;
		ok = ok && call_try(&in->conf, "credential_admin",
				    json_pack("{ss ss ss}", "action", "node_key", "nodes", format_text(node, "name"), "key", hex),
				    &answer, e);
		json_decref(answer);
	}
	return ok;
}
