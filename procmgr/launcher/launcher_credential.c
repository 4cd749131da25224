/* launcher_credential.c - reads the keys with which keepers open boxes, and destroys credentials that dead keepers have left.
 *
 * Called by: launcher.c at its start; launcher_lost.c.
 * Invariants:
 * - A node without these keys runs only steps that need no credentials.
 * - The key of the node is in the memory of the launcher and of keepers alone. Neither leaves a core file, and no other process
 *   of their user may read their memory. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/trust.h"
#include "procmgr/keeper/credential_folder.h"
#include "procmgr/keeper/keeper.h"
#include "procmgr/launcher/launcher_parts.h"
#include "procmgr/record/credential_box.h"

/* Verify that nobody but this user can read the key. */
static bool check_private(const char *path, struct err *e)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return err_sys(e, "could not check key file \"%s\"", path);
	if (S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return true;
	return err_set(e, "key file \"%s\" can be read by others, or is no file of this user: run chown root and chmod 400 on it",
		       path);
}

static bool read_keys(const struct launcher *l, const char *node, const char *credd, struct keeper_keys *keys, struct err *e)
{
	const struct passwd *pw = *l->conf->instance_account ? getpwnam(l->conf->instance_account) : NULL;
	if (geteuid() == 0 && !trust_file(credd, pw ? pw->pw_uid : geteuid(), e))
		return false;
	if (!check_private(node, e) || !box_public_read(credd, keys->credd, e))
		return false;
	keys->node = box_key_read(node, e);
	return keys->node != NULL;
}

void launcher_credential_open(struct launcher *l)
{
	struct err e;
	char *node = xasprintf("%s/node.key", l->conf->keys_dir), *credd = xasprintf("%s/cred.pub", l->conf->keys_dir);
	struct keeper_keys *keys = xcalloc(1, sizeof *keys);
	if (access(node, F_OK) < 0 && errno == ENOENT) {
		free(keys);
	} else if ((prctl(PR_SET_DUMPABLE, 0) < 0 &&
		    !err_sys(&e, "could not keep other processes from reading the memory of the launcher")) ||
		   !read_keys(l, node, credd, keys, &e)) {
		log_error("steps with credentials cannot run here: %s", e.message);
		free(keys);
	} else {
		l->keys = keys;
	}
	free(node);
	free(credd);
}

void launcher_credential_free(struct launcher *l)
{
	if (l->keys)
		box_key_free(l->keys->node);
	free(l->keys);
}

void launcher_credential_recover(const struct launcher *l, const struct record_key *key)
{
	credential_folder_recover(l->dir, key);
	credential_box_remove(key);
}

static bool is_running(void *arg, const struct record_key *key)
{
	(void)arg;
	return launcher_spool_has(key);
}

void launcher_credential_tidy(const struct launcher *l)
{
	if (geteuid() != 0)
		credential_folder_tidy(l->dir, is_running, NULL);
	credential_box_tidy(is_running, NULL);
}
