/* agent_blob.h - fetches scripts and environments from the database into the cache. */
#ifndef ROTA_PROCMGR_AGENT_BLOB_H
#define ROTA_PROCMGR_AGENT_BLOB_H

#include "procmgr/agent/agent_context.h"

enum { AGENT_BLOB_MOST = 16 };

/* Hashes of files that one database call fetches. */
struct agent_blob_list {
	char hashes[AGENT_BLOB_MOST][65];
	int count;
};

void agent_blob_list_add(struct agent_blob_list *list, const char *hash); /* does nothing if the list has the hash or is full */
bool agent_blob_list_has(const struct agent_blob_list *list, const char *hash);

struct agent_blobs;

/* Called when the database has answered. The files of `asked` that the database has are now in the cache. has_no_space is true if
 * at least one file could not be stored. */
typedef void agent_blob_fetched(const struct agent_blob_list *asked, bool has_no_space, void *arg);

struct agent_blobs *agent_blob_new(const struct agent_context *c, agent_blob_fetched *fetched, void *arg);
void agent_blob_free(struct agent_blobs *b);

/* Request the wanted files from the database, unless a call is under way. */
void agent_blob_fetch(struct agent_blobs *b, const struct agent_blob_list *wanted);

#endif
