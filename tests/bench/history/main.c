/* main.c - history CONNINFO [--jobs=N] [--days=D] [--end=DATE] [--seed=S] [--users=U] [--accounts=A] [--nodes=N] [--cpus=C]
 *
 * Loads the history of a site into an instance's database: N ended jobs (default 10 million) over D days (1096), up to DATE (2026-11-01).
 * It simulates users who submit, steps that wait, are placed, fail and run again, and nodes that are lost; the same seed makes the same history.
 * Run it as superuser, on a database in which nothing else runs: rows bypass triggers and foreign keys, and each key is checked at the
 * end of each range (load.c). It makes no usage figures: api.usage_rebuild does. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "simulate.h"

struct options {
	long long jobs, seed;
	double days;
	int users, accounts, nodes, cpus;
	const char *end;
};

static struct options options_read(int argc, char **argv)
{
	static const struct option known[] = {{"jobs", 1, NULL, 'j'},  {"days", 1, NULL, 'd'},	{"end", 1, NULL, 'e'},
					      {"seed", 1, NULL, 's'},  {"users", 1, NULL, 'u'}, {"accounts", 1, NULL, 'a'},
					      {"nodes", 1, NULL, 'n'}, {"cpus", 1, NULL, 'c'},	{NULL, 0, NULL, 0}};
	struct options o = {10000000, 1, 1096, 500, 60, 0, 64, "2026-11-01"};

	for (int id; (id = getopt_long(argc, argv, "", known, NULL)) != -1;) {
		if (id == 'j')
			o.jobs = atoll(optarg);
		else if (id == 'd')
			o.days = atof(optarg);
		else if (id == 'e')
			o.end = optarg;
		else if (id == 's')
			o.seed = atoll(optarg);
		else if (id == '?')
			exit(2);
		else
			*(id == 'u' ? &o.users : id == 'a' ? &o.accounts : id == 'n' ? &o.nodes : &o.cpus) = atoi(optarg);
	}
	if (optind != argc - 1 || o.jobs < 1 || o.days < 1 || o.users < 1 || o.accounts < 1 || o.nodes < 0 || o.cpus < 1) {
		fputs("usage: history CONNINFO [--jobs=N] [--days=D] [--end=DATE] [--seed=S] [--users=U] [--accounts=A] "
		      "[--nodes=N] [--cpus=C]\n",
		      stderr);
		exit(2);
	}
	/* As many nodes as are about 40% busy, with a mean of 10,500 CPU seconds a job. */
	if (!o.nodes)
		o.nodes = (int)((double)o.jobs / o.days * 10500 / 86400 / 0.4 / o.cpus) + 1;
	return o;
}

int main(int argc, char **argv)
{
	struct options o = options_read(argc, argv);
	struct draw draw = {(uint64_t)o.seed};
	struct world world = {.users = o.users,
			      .accounts = o.accounts,
			      .nodes = o.nodes < 4 ? 4 : o.nodes,
			      .cpus = o.cpus,
			      .mem_mb = o.cpus * 4000L};
	PGconn *db = PQconnectdb(argv[optind]);
	struct outcome outcome;
	struct plan plan = {.jobs = o.jobs, .days = o.days};
	struct load *load;

	if (PQstatus(db) != CONNECTION_OK) {
		fprintf(stderr, "history: %s", PQerrorMessage(db));
		return 1;
	}
	load_run(db, "set session_replication_role = replica; set work_mem = '512MB'; set time zone 'UTC'; set "
		     "synchronous_commit = off");
	plan.first_job = atoll(load_value(db, "select last_value + is_called::int from rota.job_job_id_seq"));
	plan.first_event = atoll(load_value(db, "select last_value + is_called::int from rota.event_event_id_seq"));
	plan.from = atoll(load_value(db, "select (extract(epoch from timestamptz '%s' - timestamptz '2000-01-01') * 1e6)::bigint",
				     o.end)) -
		    (int64_t)(o.days * 86400 * SECOND);
	load_run(db, "begin");
	world_make(&world, &draw, db);
	load_run(db, "commit");
	load = load_new(db, &world);
	outcome = simulate(&world, &draw, &plan, load, db);
	load_end(load);
	load_run(db, "select setval('rota.job_job_id_seq', %lld), setval('rota.event_event_id_seq', %lld), api.range_ensure()",
		 (long long)outcome.last_job, (long long)outcome.last_event);
	load_run(db, "vacuum analyze");
	PQfinish(db);
	world_free(&world);
	return 0;
}
