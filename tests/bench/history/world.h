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
	int account, other_account; /* indexes in world.account */
	int script;
	int cpus;	 /* of most of the user's jobs */
	double median_s; /* median run time of the user's jobs, in seconds */
	double used;	 /* part (0 to 1) of the time of its CPUs that a job uses, at most */
	double bad;	 /* part (0 to 1) of the attempts that do not complete */
	double until;	 /* sum of the shares of all submissions (0 to 1) of the users up to this one; world_user draws by it */
};

struct node {
	int id; /* rota.node.node_id */
	char name[16];
	int cpus_free;
	long mem_free_mb;
	unsigned gpus_free; /* a bit for each free GPU */
	bool up;
};

struct world {
	int users, accounts, nodes, cpus; /* cpus: of each node */
	long mem_mb;			  /* of each node */
	struct user *user;
	char (*account)[32];
	struct node *node;
	int gpu_nodes; /* the first gpu_nodes nodes have GPUs */
	unsigned char script[SCRIPTS][HASH], environment[HASH];
};

extern const char *const SCRIPT_NAMES[SCRIPTS];

/* Draw and write accounts, associations, qualities of service, partitions, nodes and scripts. */
void world_make(struct world *w, struct draw *d, PGconn *db);
/* Draw a user, by the shares of submissions. */
const struct user *world_user(const struct world *w, struct draw *d);
void world_free(struct world *w);

#endif
