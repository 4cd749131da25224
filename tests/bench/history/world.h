/* world.h - users, accounts, partitions, nodes, and the properties of each user's jobs. */
#ifndef ROTA_HISTORY_WORLD_H
#define ROTA_HISTORY_WORLD_H

#include <libpq-fe.h>
#include <stdint.h>

#include "draw.h"

enum { GPUS = 4, SCRIPTS = 16, HASH = 32 };

struct user {
	char name[16];
	int uid;
	int account, other_account; /* of world.accounts */
	int script;
	int cpus;	 /* of most of the user's jobs */
	double median_s; /* their median run time */
	double used;	 /* part of its CPUs' time that they use */
	double bad;	 /* part of them that fails */
	double until;	 /* the sum of the shares of submissions up to this user's, for drawing one */
};

struct node {
	int id; /* rota.node.node_id */
	char name[16];
	int cpus_free;
	long mem_free_mb;
	unsigned gpus_free; /* a bit each; 0 where there are none */
	bool up;
};

struct world {
	int users, accounts, nodes, cpus;
	long mem_mb;
	struct user *user;
	char (*account)[32];
	struct node *node;
	int gpu_nodes; /* the first so many have GPUs */
	unsigned char script[SCRIPTS][HASH], environment[HASH];
};

extern const char *const SCRIPT_NAMES[SCRIPTS];

/* Draw and write accounts, associations, qualities of service, partitions, nodes and scripts. */
void world_make(struct world *w, struct draw *d, PGconn *db);
const struct user *world_user(const struct world *w, struct draw *d);
void world_free(struct world *w);

#endif
