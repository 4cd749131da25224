/* up_credentials.c - makes the keys for credentials in a private instance that holds any (credentials.keys), for `rota up`.
 *
 * Called by: `rota up`.
 * Invariants:
 * - The keys of rota-credd belong to its account, and only that account and root can read them. `rota up` does not touch such keys.
 * - Lost keys are not replaced by new ones: rota-credd would report all stored credentials as broken before the keys are restored.
 * - All nodes of a private instance are one machine, so they have one key. Its public half is there for each of them before rota-credd
 *   starts. */
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/rota/instance/up.h"
#include "lib/seal.h"

/* Returns true if the folder has sealing keys (1.key and so on). */
static bool keys_have_seal(const char *folder)
{
	DIR *dir = opendir(folder);
	bool found = false;

	for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
		size_t digits = strspn(entry->d_name, "0123456789");
		found = digits > 0 && strcmp(entry->d_name + digits, ".key") == 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Returns true, with an error, if the instance had keys of rota-credd and has lost them: the public half, which is made last and
 * is in another folder, still exists. */
static bool keys_are_lost(const char *folder, const char *key, const char *pub, struct err *e)
{
	const char *lost = access(key, F_OK) != 0 ? "cred.key" : !keys_have_seal(folder) ? "1.key" : NULL;

	if (access(pub, F_OK) != 0 || !lost)
		return false;
	err_set(e, "the keys of rota-credd are lost: there is \"%s\", but no \"%s/%s\"", pub, folder, lost);
	err_hint(e, "Bring the folder back from its backup. If there is none, remove cred.pub: keys are made anew then, and "
		    "users have to "
		    "add their credentials again.");
	return true;
}

/* The files of rota-credd's keys, and the account that they belong to. */
struct key_files {
	const char *folder;
	char *key, *first, *pub;
	uid_t uid;
	gid_t gid;
};

/* Does the file belong to rota-credd's account? */
static bool keys_own(const struct key_files *k, const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_uid == k->uid;
}

/* Were all keys made and given to the account? Then a rota-credd may be reading them, so `rota up` changes nothing in the folder. The first
 * sealing key may have been removed after others were made. */
static bool keys_are_made(const struct key_files *k)
{
	return keys_own(k, k->folder) && keys_own(k, k->key) && (keys_own(k, k->first) || access(k->first, F_OK) != 0) &&
	       keys_have_seal(k->folder) && access(k->pub, F_OK) == 0;
}

/* Make the missing keys, in a folder where nobody else can replace them by a link meanwhile, and give all keys to the account. */
static bool keys_give(const struct key_files *k, struct err *e)
{
	bool ok = up_folder_make(k->folder, 0700, geteuid(), getegid(), e) &&
		  (keys_have_seal(k->folder) || seal_secret_make(k->first, e)) && seal_box_keys_make(k->key, k->pub, e);

	if (ok && (lchown(k->key, k->uid, k->gid) || (lchown(k->first, k->uid, k->gid) && errno != ENOENT)))
		ok = err_sys(e, "could not give the keys in \"%s\" to the account of rota-credd", k->folder);
	return ok && up_folder_make(k->folder, 0700, k->uid, k->gid, e);
}

/* Make the keys of rota-credd, and the files that its account must be able to write. */
static bool keys_make(const struct instance *in, const struct passwd *pw, struct err *e)
{
	const char *folder = in->conf.credentials_keys;
	struct key_files k = {.folder = folder,
			      .key = xasprintf("%s/cred.key", folder),
			      .first = xasprintf("%s/1.key", folder),
			      .pub = xasprintf("%s/cred.pub", in->conf.keys_dir),
			      .uid = pw ? pw->pw_uid : geteuid(),
			      .gid = pw ? pw->pw_gid : getegid()};
	bool ok = !keys_are_lost(folder, k.key, k.pub, e) && (keys_are_made(&k) || keys_give(&k, e)) &&
		  up_seen_make(in, k.uid, k.gid, e) && (!pw || up_pid_file_make(in, "rota-credd", k.uid, k.gid, e));

	free(k.key);
	free(k.first);
	free(k.pub);
	return ok;
}

/* Write the public key of a node into the folder of rota-credd. */
static bool node_key_put(const struct instance *in, const char *node, struct err *e)
{
	char *key = instance_path(in, "keys/node.key"), *pub = xasprintf("%s/nodes/%s.pub", in->conf.credentials_keys, node);
	bool ok = seal_box_keys_make(key, pub, e);
	free(key);
	free(pub);
	return ok;
}

bool up_credential_keys(const struct instance *in, const struct up_wish *wish, struct err *e)
{
	if (!*in->conf.credentials_keys)
		return true;
	const struct passwd *pw =
		in->root ? up_account_find("credentials.account", conf_credentials_account(&in->conf), e) : NULL;
	if (in->root && !pw)
		return false;
	char *nodes = xasprintf("%s/nodes", in->conf.credentials_keys);
	bool ok = keys_make(in, pw, e) && up_folder_make(nodes, 0755, geteuid(), getegid(), e);
	free(nodes);
	for (int i = 1; ok && i <= (wish->nodes ? wish->nodes : 1) && in->conf.launcher_virtual == 0; i++) {
		char name[16];
		snprintf(name, sizeof name, "n%d", i);
		ok = node_key_put(in, name, e);
	}
	return ok;
}
