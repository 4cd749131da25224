/* world.c - draws the users, accounts and nodes of a history, and writes their rows. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

const char *const SCRIPT_NAMES[SCRIPTS] = {"relax.sh", "train.sh", "assemble.sh", "render.sh",	"sweep.sh", "mesh.sh",
					   "fold.sh",  "align.sh", "sample.sh",	  "climate.sh", "solve.sh", "stats.sh",
					   "post.sh",  "index.sh", "test.sh",	  "convert.sh"};
static const char *const FACULTIES[] = {"physics",     "chemistry", "biology", "climate",
					"engineering", "medicine",  "maths",   "economics"};
enum { FACULTY_COUNT = 8 };

static void accounts_make(struct world *w, PGconn *db)
{
	w->account = calloc((size_t)w->accounts, sizeof *w->account);
	for (int i = 0; i < w->accounts; i++) {
		const char *faculty = FACULTIES[i % FACULTY_COUNT];

		if (i < FACULTY_COUNT)
			snprintf(w->account[i], sizeof *w->account, "%s", faculty);
		else
			snprintf(w->account[i], sizeof *w->account, "%s-%d", faculty, i / FACULTY_COUNT);
		load_run(db,
			 "insert into rota.account (account, parent, description) values ('%s', %s%s%s, 'of the example "
			 "history') on conflict do nothing",
			 w->account[i], i < FACULTY_COUNT ? "" : "'", i < FACULTY_COUNT ? "null" : faculty,
			 i < FACULTY_COUNT ? "" : "'");
	}
}

/* A few users submit most of the jobs: the share of the n-th is proportional to 1 / (n + 9). */
static void users_make(struct world *w, struct draw *d, PGconn *db)
{
	static const int sizes[] = {1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32};
	double sum = 0;

	w->user = calloc((size_t)w->users, sizeof *w->user);
	for (int i = 0; i < w->users; i++) {
		struct user *u = &w->user[i];

		snprintf(u->name, sizeof u->name, "u%03d", i + 1);
		u->uid = 20001 + i;
		u->account = draw_int(d, 0, w->accounts - 1);
		u->other_account = draw_chance(d, 0.2) ? draw_int(d, 0, w->accounts - 1) : u->account;
		u->script = draw_int(d, 0, SCRIPTS - 1);
		u->cpus = sizes[draw_int(d, 0, (int)(sizeof sizes / sizeof *sizes) - 1)];
		u->cpus = u->cpus < w->cpus ? u->cpus : w->cpus;
		u->median_s = draw_skewed(d, 240, 0.9);
		u->used = draw_between(d, 0.15, 0.99);
		u->bad = draw_between(d, 0.02, 0.2);
		u->until = sum += 1.0 / (i + 10);
		load_run(db,
			 "insert into rota.association (account, user_name) values ('%s', '%s'), ('%s', '%s') on conflict do "
			 "nothing",
			 w->account[u->account], u->name, w->account[u->other_account], u->name);
	}
	for (int i = 0; i < w->users; i++)
		w->user[i].until /= sum;
}

static void nodes_make(struct world *w, PGconn *db)
{
	w->gpu_nodes = (w->nodes + 3) / 4;
	w->node = calloc((size_t)w->nodes, sizeof *w->node);
	for (int i = 0; i < w->nodes; i++) {
		struct node *n = &w->node[i];

		snprintf(n->name, sizeof n->name, "h%03d", i + 1);
		n->cpus_free = w->cpus;
		n->mem_free_mb = w->mem_mb;
		n->gpus_free = i < w->gpu_nodes ? (1u << GPUS) - 1 : 0;
		n->up = true;
		n->id = atoi(load_value(
			db,
			"insert into rota.node (name, cpus, mem_mb, state, reason, reason_by, reason_at)"
			" values ('%s', %d, %ld, 'down', 'of the example history', 'history', now()) returning node_id",
			n->name, w->cpus, w->mem_mb));
		if (i < w->gpu_nodes)
			load_run(db, "insert into rota.node_gres (node_id, gres, unit) select %d, 'gpu', generate_series(0, %d)",
				 n->id, GPUS - 1);
	}
	load_run(db, "insert into rota.partition (partition, state) select p, 'inactive' from "
		     "unnest('{short,batch,wide,gpu}'::text[]) p on conflict do nothing;"
		     "insert into rota.partition_node (partition, node_id) select p, node_id from "
		     "unnest('{short,batch,wide,gpu}'::text[]) p, rota.node n"
		     " where n.name ~ '^h[0-9]+$' and (p <> 'gpu' or exists (select from rota.node_gres g where g.node_id = "
		     "n.node_id));"
		     "insert into rota.qos (qos, priority) values ('low', -10), ('urgent', 10) on conflict do nothing");
}

/* Read the HASH bytes of a bytea that PostgreSQL has written in hex. */
static void hash_read(const char *hex, unsigned char *hash)
{
	for (int i = 0; i < HASH; i++)
		sscanf(hex + 2 + 2 * i, "%2hhx", &hash[i]);
}

static void scripts_make(struct world *w, PGconn *db)
{
	static const char keep[] =
		"insert into rota.%s (hash, body) values (sha256('%s'::bytea), '%s'::bytea) on conflict (hash) do update"
		" set body = excluded.body returning hash";

	for (int i = 0; i < SCRIPTS; i++) {
		char body[64];

		snprintf(body, sizeof body, "#!/bin/sh\\012./%.*s\\012", (int)strcspn(SCRIPT_NAMES[i], "."), SCRIPT_NAMES[i]);
		hash_read(load_value(db, keep, "script", body, body), w->script[i]);
	}
	hash_read(load_value(db, keep, "environment", "LANG=C\\000", "LANG=C\\000"), w->environment);
}

void world_make(struct world *w, struct draw *d, PGconn *db)
{
	accounts_make(w, db);
	users_make(w, d, db);
	nodes_make(w, db);
	scripts_make(w, db);
}

const struct user *world_user(const struct world *w, struct draw *d)
{
	double part = draw_part(d);
	int low = 0, high = w->users - 1;

	while (low < high) {
		int middle = (low + high) / 2;

		if (w->user[middle].until > part)
			high = middle;
		else
			low = middle + 1;
	}
	return &w->user[low];
}

void world_free(struct world *w)
{
	free(w->user);
	free(w->account);
	free(w->node);
}
