/* credd_nodes.c - the public keys of nodes: files NODE.pub in the folder `nodes` beside the keys of rota-credd.
 *
 * Called by: credd.c; credd_box.c for each box.
 * Invariants:
 * - The keys come from files that an administrator has put there, and never from the database: a person who can write to the database
 *   could have secrets sealed for a key of his own. The database stores only which nodes have a key that can be read. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "credmgr/credd_parts.h"
#include "lib/log.h"

static const char ending[] = ".pub";

/* Returns true if the text can be the name of a node, and so is safe as a part of a path. */
static bool nodes_name_valid(const char *name, size_t length)
{
	static const char others[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	return length > 0 && *name != '.' && strspn(name, others) >= length;
}

bool credd_nodes_key(struct credd *c, const char *node, unsigned char key[BOX_KEY], struct err *e)
{
	if (!nodes_name_valid(node, strlen(node)))
		return err_set(e, "\"%.100s\" is not the name of a node", node);
	char *path = xasprintf("%s/nodes/%s%s", c->conf->credentials_keys, node, ending);
	bool good = box_public_read(path, key, e);
	if (!good && strcmp(e->code, SEAL_UNREADABLE) == 0)
		c->nodes_at = (struct timespec){0};
	free(path);
	return good;
}

static void nodes_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct credd *c = arg;
	(void)db;
	if (result)
		c->due[CREDD_BOX] = true;
	else
		c->nodes_at = (struct timespec){0};
	credd_answered(c, CREDD_NODES, false, result, e);
}

/* Add the names of the nodes that have a key. Returns false if a key cannot be read. The caller then reads the folder again at the next
 * beat, since a change of the key's mode does not change the time of the folder. */
static bool nodes_list(DIR *folder, struct db_array *names)
{
	bool good = true;
	for (struct dirent *entry; (entry = readdir(folder));) {
		size_t length = strlen(entry->d_name), name = length - strlen(ending);
		if (length <= strlen(ending) || strcmp(entry->d_name + name, ending) != 0 ||
		    !nodes_name_valid(entry->d_name, name))
			continue;
		if (faccessat(dirfd(folder), entry->d_name, R_OK, 0) < 0) {
			log_warning("could not read the key \"nodes/%s\" of a node: %s", entry->d_name, strerror(errno));
			good = false;
			continue;
		}
		char *node = xasprintf("%.*s", (int)name, entry->d_name);
		db_array_text(names, node);
		free(node);
	}
	return good;
}

void credd_nodes_ask(struct credd *c)
{
	char *path = xasprintf("%s/nodes", c->conf->credentials_keys);
	DIR *folder = opendir(path);
	struct stat st;
	free(path);
	if (folder && fstat(dirfd(folder), &st) == 0 && memcmp(&st.st_mtim, &c->nodes_at, sizeof st.st_mtim) != 0) {
		struct db_array *names = db_array_new();
		c->nodes_at = nodes_list(folder, names) ? st.st_mtim : (struct timespec){0};
		c->asking[CREDD_NODES] = true;
		db_call(c->db, API_credential_nodes, (struct db_param[]){{db_array_literal(names), -1}}, 1, nodes_answered, c);
		db_array_free(names);
	}
	if (folder)
		closedir(folder);
}
