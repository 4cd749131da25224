/* agent_spool.c - lists the attempts that have a keeper's folder in spool/.
 *
 * Called by: agent_predispatch.c at start, agent_inventory.c at each registration, agent_sample.c for attempts of an earlier
 * procmgrd. */
#include "procmgr/agent/agent_spool.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/log.h"

bool agent_spool_each(void (*each)(const struct record_key *key, void *arg), void *arg)
{
	DIR *dir = opendir("spool");
	if (!dir) {
		log_error("could not read folder \"spool\": %m");
		return false;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct record_key key;
		if (record_key_parse(entry->d_name, &key))
			each(&key, arg);
	}
	closedir(dir);
	return true;
}

bool agent_spool_has(const struct record_key *key)
{
	char name[RECORD_KEY_SIZE];
	record_key_text(key, name);
	char *path = xasprintf("spool/%s", name);
	bool exists = access(path, F_OK) == 0;
	free(path);
	return exists;
}
