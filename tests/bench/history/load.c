/* load.c - rows of a history into the tables, in binary COPY. One transaction a range of job ids: it makes the range where it is missing,
 * fills it (frozen, where it made it: nobody has to look at these rows again), and asks of each foreign key whether it holds. That
 * is asked of the whole range in one statement a key: a million times row by row would take longer than all else. */
#include "load.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 10000, INT4_OID = 23, TEXT_OID = 25 };

enum table { JOB, STEP_REQUEST, STEP, STEP_ARRAY, STEP_EDGE, ATTEMPT, ALLOCATION, TASK_END, EVENT, TABLES };

static const struct {
	const char *name, *columns;
	int fields;
} TABLE[TABLES] = {
	{"job",
	 "job_id,name,uid,gid,user_name,account,qos,priority,nice,script_hash,environment_hash,script_name,workdir,submit_at,"
	 "steps_total,"
	 "steps_left,started_at,ended_at,state,exit_code,signal,cause",
	 22},
	{"step_request",
	 "job_id,step_id,name,line,topo,partition,nodes_min,nodes_max,ntasks,cpus_per_task,mem_mb,gres,time_limit_s,begin_at,"
	 "requeue,retry,keep,"
	 "spec,auth",
	 19},
	{"step",
	 "job_id,step_id,request_id,array_index,state,attempt,deps_waiting,rank,begin_at,eligible_at,retries,requeues,ordered_at,"
	 "started_at,"
	 "ended_at,exit_code,signal,cause,message,end_wanted,queue,is_array",
	 22},
	{"step_array", "job_id,step_id,indices,size,max_running,next,completed,failed", 8},
	{"step_edge", "job_id,step_id,edge,kind,peer_job_id,peer_step_id,condition,topo,peer_topo,gates,state,settled_at,line",
	 13},
	{"attempt",
	 "job_id,step_id,attempt,state,time_limit_s,node_ids,nodes,ordered_at,started_at,done_at,ended_at,outcome,exit_code,"
	 "signal,cause,"
	 "session_id,fence",
	 17},
	{"allocation",
	 "job_id,step_id,attempt,node_id,node_index,cpus,mem_mb,gres,tasks,phase,cpus_held,started_at,ended_at,gone_at,peak_mb,"
	 "cpu_usec,lost_at",
	 17},
	{"task_end",
	 "job_id,step_id,attempt,task,node_id,pid,started_at,ended_at,exit_code,signal,cause,user_usec,system_usec,max_rss_kb,"
	 "minor_faults,"
	 "read_bytes,write_bytes",
	 17},
	{"event", "job_id,event_id,step_id,attempt,at,from_state,event,to_state,actor,cause,detail", 11},
};

struct load {
	PGconn *db;
	const struct world *w;
	struct {
		char *bytes;
		size_t size, room;
	} table[TABLES], *to;
	int64_t range, range_size; /* the range that is open; -1: none */
	int jobs;		   /* in the buffers */
	bool frozen;
};

static _Noreturn void fail(PGconn *db, const char *what)
{
	fprintf(stderr, "history: %.200s: %s", what, PQerrorMessage(db));
	exit(1);
}

static char *run(PGconn *db, const char *format, va_list arguments)
{
	static char value[256];
	char *text;
	PGresult *result;

	if (vasprintf(&text, format, arguments) < 0)
		abort();
	result = PQexec(db, text);
	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
		fail(db, text);
	snprintf(value, sizeof value, "%s", PQntuples(result) ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
	free(text);
	return value;
}

void load_run(PGconn *db, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	run(db, format, arguments);
	va_end(arguments);
}

const char *load_value(PGconn *db, const char *format, ...)
{
	va_list arguments;
	const char *value;

	va_start(arguments, format);
	value = run(db, format, arguments);
	va_end(arguments);
	return value;
}

/* ---- fields, as the server's receive functions read them */

static void put(struct load *l, const void *bytes, size_t size)
{
	if (l->to->size + size > l->to->room) {
		l->to->room = l->to->room * 2 + size + 65536;
		l->to->bytes = realloc(l->to->bytes, l->to->room);
		if (!l->to->bytes)
			abort();
	}
	memcpy(l->to->bytes + l->to->size, bytes, size);
	l->to->size += size;
}

static void put_short(struct load *l, int number)
{
	uint16_t big = htons((uint16_t)number);

	put(l, &big, sizeof big);
}

static void put_word(struct load *l, int number)
{
	uint32_t big = htonl((uint32_t)number);

	put(l, &big, sizeof big);
}

static void row(struct load *l, enum table table)
{
	l->to = (void *)&l->table[table];
	put_short(l, TABLE[table].fields);
}

static void null(struct load *l)
{
	put_word(l, -1);
}

static void field_bytes(struct load *l, const void *bytes, size_t size)
{
	put_word(l, (int)size);
	put(l, bytes, size);
}

static void field_text(struct load *l, const char *text)
{
	if (text)
		field_bytes(l, text, strlen(text));
	else
		null(l);
}

static void field_int(struct load *l, int number)
{
	put_word(l, sizeof number);
	put_word(l, number);
}

static void field_int_or_null(struct load *l, int number, bool known)
{
	if (known)
		field_int(l, number);
	else
		null(l);
}

static void field_long(struct load *l, int64_t number)
{
	uint64_t big = htobe64((uint64_t)number);

	field_bytes(l, &big, sizeof big);
}

static void field_time(struct load *l, int64_t at)
{
	if (at == NEVER)
		null(l);
	else
		field_long(l, at);
}

static void field_bool(struct load *l, bool is)
{
	field_bytes(l, is ? "\1" : "\0", 1);
}

static void field_json(struct load *l, const char *text)
{
	put_word(l, (int)strlen(text) + 1);
	put(l, "\1", 1);
	put(l, text, strlen(text));
}

/* The nodes of an attempt, by number or by name. */
static void field_nodes(struct load *l, const struct job *j, const struct attempt *t, bool names)
{
	size_t size = 20;

	for (int i = 0; i < t->nodes; i++)
		size += 4 + (names ? strlen(l->w->node[j->placed[t->placed + i].node].name) : 4);
	put_word(l, (int)size);
	put_word(l, 1); /* dimensions */
	put_word(l, 0); /* nulls */
	put_word(l, names ? TEXT_OID : INT4_OID);
	put_word(l, t->nodes);
	put_word(l, 1); /* lower bound */
	for (int i = 0; i < t->nodes; i++) {
		const struct node *n = &l->w->node[j->placed[t->placed + i].node];

		if (names)
			field_text(l, n->name);
		else
			field_int(l, n->id);
	}
}

/* ---- rows */

static const struct step *worst_step(const struct job *j)
{
	const struct step *worst = &j->step[j->request[0].first];

	for (int i = 1; i < j->requests; i++)
		if (j->step[j->request[i].first].state > worst->state)
			worst = &j->step[j->request[i].first];
	return worst;
}

static void job_row(struct load *l, const struct job *j)
{
	const struct step *worst = worst_step(j);
	int64_t started_at = NEVER, ended_at = NEVER;
	int exit_code = -1;
	char workdir[32];

	for (int i = 0; i < j->attempts; i++)
		if (started_at == NEVER || j->attempt[i].ordered_at < started_at)
			started_at = j->attempt[i].ordered_at;
	for (int i = 0; i < j->steps; i++) {
		ended_at = j->step[i].ended_at > ended_at ? j->step[i].ended_at : ended_at;
		exit_code = j->step[i].exit_code > exit_code ? j->step[i].exit_code : exit_code;
	}
	snprintf(workdir, sizeof workdir, "/home/%s", j->user->name);
	row(l, JOB);
	field_long(l, j->id);
	field_text(l, j->name);
	field_int(l, j->user->uid);
	field_int(l, j->user->uid);
	field_text(l, j->user->name);
	field_text(l, l->w->account[j->account]);
	field_text(l, j->qos);
	field_int(l, 0);
	field_int(l, 0);
	field_bytes(l, l->w->script[j->user->script], HASH);
	field_bytes(l, l->w->environment, HASH);
	field_text(l, SCRIPT_NAMES[j->user->script]);
	field_text(l, workdir);
	field_time(l, j->submit_at);
	field_int(l, j->requests);
	field_int(l, 0);
	field_time(l, started_at);
	field_time(l, ended_at);
	field_text(l, STATES[worst->state]);
	field_int_or_null(l, exit_code, exit_code >= 0);
	field_int_or_null(l, worst->signal, worst->signal > 0);
	field_text(l, worst->cause);
}

static void request_row(struct load *l, const struct job *j, int number)
{
	const struct request *r = &j->request[number];
	char text[128];

	row(l, STEP_REQUEST);
	field_long(l, j->id);
	field_int(l, r->step_id);
	field_text(l, r->name);
	field_int(l, 3 + 2 * number);
	field_int(l, number);
	field_text(l, j->partition);
	field_int(l, r->nodes);
	field_int_or_null(l, r->nodes, r->nodes > 1);
	field_int(l, r->nodes);
	field_int(l, r->cpus);
	field_long(l, r->mem_mb);
	snprintf(text, sizeof text, "{\"gpu\": %d}", r->gpus);
	field_json(l, r->gpus ? text : "{}");
	field_long(l, r->limit_s);
	field_time(l, j->cancel_at != NEVER ? j->step[r->first].begin_at : NEVER);
	field_bool(l, j->requeue);
	field_int(l, r->retry);
	field_json(l, "{\"mem\": true, \"cpus\": false, \"gres\": true, \"licenses\": true}");
	snprintf(text, sizeof text, "from=1:%d\nto=1:%d\nper_task=1:0\nstep_name=%zu:%s\n", 3 + 2 * number, 4 + 2 * number,
		 strlen(r->name), r->name);
	field_text(l, text);
	field_bytes(l, l->w->script[j->user->script], HASH); /* no order is ever signed for it */
	if (r->array) {
		int completed = 0;

		for (int i = 0; i < j->steps; i++)
			completed += j->step[i].index >= 0 && j->step[i].state == COMPLETED;
		snprintf(text, sizeof text, "[[0, %d, 1]]", r->array - 1);
		row(l, STEP_ARRAY);
		field_long(l, j->id);
		field_int(l, r->step_id);
		field_json(l, text);
		field_int(l, r->array);
		field_int_or_null(l, r->max_running, r->max_running > 0);
		field_int(l, r->array);
		field_int(l, completed);
		field_int(l, r->array - completed);
	}
	if (number > 0) {
		const struct step *s = &j->step[r->first], *peer = &j->step[j->request[number - 1].first];

		row(l, STEP_EDGE);
		field_long(l, j->id);
		field_int(l, r->step_id);
		field_int(l, 1);
		field_text(l, "after");
		field_long(l, j->id);
		field_int(l, peer->id);
		field_text(l, "ok");
		field_int(l, number);
		field_int(l, number - 1);
		field_bool(l, true);
		field_text(l, s->state == DEPENDENCY_FAILED ? "failed" : "met");
		field_time(l, peer->ended_at);
		field_int(l, 3 + 2 * number);
	}
}

static void step_row(struct load *l, const struct job *j, const struct step *s)
{
	const struct request *r = &j->request[s->request];
	bool head = r->array && s->index < 0;

	row(l, STEP);
	field_long(l, j->id);
	field_int(l, s->id);
	field_int(l, r->step_id);
	field_int_or_null(l, s->index, s->index >= 0);
	field_text(l, STATES[s->state]);
	field_int(l, s->attempts);
	field_int(l, s->state == DEPENDENCY_FAILED);
	field_long(l, -(j->submit_at / 1000 + 946684800000)); /* milliseconds since 1970 */
	field_time(l, s->begin_at);
	field_time(l, s->eligible_at);
	field_int(l, s->retries);
	field_int(l, s->requeues);
	field_time(l, s->ordered_at);
	field_time(l, s->started_at);
	field_time(l, s->ended_at);
	field_int_or_null(l, s->exit_code, s->exit_code >= 0);
	field_int_or_null(l, s->signal, s->signal > 0);
	field_text(l, s->cause);
	field_text(l, s->message);
	field_text(l, s->attempts && s->state == CANCELLED ? "cancel" : s->attempts && s->state == PREEMPTED ? "preempt" : NULL);
	field_text(l, j->partition);
	field_bool(l, head);
}

static void allocation_row(struct load *l, const struct job *j, const struct attempt *t, int number)
{
	const struct step *s = &j->step[t->step];
	const struct request *r = &j->request[s->request];
	const struct placed *p = &j->placed[t->placed + number];
	char gres[64] = "{}";

	for (int unit = 0, size = 0; unit < GPUS && p->gpus; unit++)
		if (p->gpus >> unit & 1)
			size += snprintf(gres + size, sizeof gres - (size_t)size, "%s%d]}", size ? ", " : "{\"gpu\": [", unit) -
				2;
	row(l, ALLOCATION);
	field_long(l, j->id);
	field_int(l, s->id);
	field_int(l, t->number);
	field_int(l, l->w->node[p->node].id);
	field_int(l, number);
	field_int(l, r->cpus);
	field_long(l, r->mem_mb);
	field_json(l, gres);
	field_int(l, 1);
	field_text(l, "ended");
	field_int(l, 0);
	field_time(l, t->ordered_at);
	field_time(l, t->ended_at);
	field_time(l, t->ended_at);
	if (t->lost == number) {
		null(l);
		null(l);
	} else {
		field_long(l, number ? 0 : t->rss_kb / 1024);
		field_long(l, number ? 0 : (int64_t)((t->user_s + t->system_s) * SECOND));
	}
	field_time(l, t->lost == number ? t->ended_at : NEVER);
}

static void task_row(struct load *l, const struct job *j, const struct attempt *t)
{
	row(l, TASK_END);
	field_long(l, j->id);
	field_int(l, j->step[t->step].id);
	field_int(l, t->number);
	field_int(l, 0);
	field_int(l, l->w->node[j->placed[t->placed].node].id);
	field_int(l, 2000 + (int)(j->id * 7 % 30000));
	field_time(l, t->started_at);
	field_time(l, t->ended_at - 300);
	field_int_or_null(l, t->exit_code, t->signal == 0);
	field_int_or_null(l, t->signal, t->signal > 0);
	field_text(l, t->cause);
	field_long(l, (int64_t)(t->user_s * SECOND));
	field_long(l, (int64_t)(t->system_s * SECOND));
	field_long(l, t->rss_kb);
	field_long(l, t->rss_kb / 4 + 200);
	field_long(l, (int64_t)(t->user_s * 20000));
	field_long(l, (int64_t)(t->user_s * 5000));
}

static void attempt_row(struct load *l, const struct job *j, const struct attempt *t)
{
	bool lost = t->lost >= 0;

	row(l, ATTEMPT);
	field_long(l, j->id);
	field_int(l, j->step[t->step].id);
	field_int(l, t->number);
	field_text(l, STATES[t->end]);
	field_long(l, j->request[j->step[t->step].request].limit_s);
	field_nodes(l, j, t, false);
	field_nodes(l, j, t, true);
	field_time(l, t->ordered_at);
	field_time(l, t->started_at);
	field_time(l, lost ? NEVER : t->ended_at - 200);
	field_time(l, t->ended_at);
	field_text(l, END_EVENTS[t->end]);
	field_int_or_null(l, t->exit_code, !lost);
	field_int_or_null(l, t->signal, t->signal > 0);
	field_text(l, t->cause);
	field_int_or_null(l, 2000 + (int)(j->id * 7 % 30000), t->started_at != NEVER);
	field_bool(l, true);
	if (!lost)
		task_row(l, j, t);
	for (int i = 0; i < t->nodes; i++)
		allocation_row(l, j, t, i);
}

static void event_row(struct load *l, const struct job *j, const struct event *e)
{
	row(l, EVENT);
	field_long(l, j->id);
	field_long(l, e->id);
	field_int(l, j->step[e->step].id);
	field_int(l, e->attempt);
	field_time(l, e->at);
	field_text(l, STATES[e->from]);
	field_text(l, e->event);
	field_text(l, STATES[e->to]);
	field_text(l, e->actor);
	field_text(l, e->cause);
	field_text(l, e->detail);
}

/* ---- batches and ranges */

static void copy(struct load *l, enum table table)
{
	static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", tail[] = "\377\377";
	char statement[512];
	PGresult *result;

	snprintf(statement, sizeof statement, "copy rota.%s_%lld (%s) from stdin (format binary%s)", TABLE[table].name,
		 (long long)l->range, TABLE[table].columns, l->frozen ? ", freeze" : "");
	result = PQexec(l->db, statement);
	if (PQresultStatus(result) != PGRES_COPY_IN)
		fail(l->db, statement);
	PQclear(result);
	if (PQputCopyData(l->db, head, sizeof head - 1) != 1 ||
	    PQputCopyData(l->db, l->table[table].bytes, (int)l->table[table].size) != 1 ||
	    PQputCopyData(l->db, tail, sizeof tail - 1) != 1 || PQputCopyEnd(l->db, NULL) != 1)
		fail(l->db, statement);
	while ((result = PQgetResult(l->db))) {
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			fail(l->db, statement);
		PQclear(result);
	}
	l->table[table].size = 0;
}

static void flush(struct load *l)
{
	for (int table = 0; table < TABLES; table++)
		if (l->table[table].size)
			copy(l, table);
	l->jobs = 0;
}

/* Each foreign key of the range's tables, in one statement: what it names is there, in the same range where that table has ranges. And
 * what rota.step_bound and rota.step_edge_bound ask of rows that come the usual way. */
static const char CHECK[] =
	"do $$\n"
	"declare v record; v_bad boolean;\n"
	"begin\n"
	"	for v in\n"
	"		select c.conname, k.relname as child, coalesce(to_regclass('rota.' || p.relname || '_%lld'), "
	"p.oid::regclass) as parent,\n"
	"			(select string_agg(format('p.%%I = c.%%I', f.attname, a.attname), ' and ') from unnest(c.conkey, "
	"c.confkey) x (k, f)\n"
	"				join pg_attribute a on a.attrelid = c.conrelid and a.attnum = x.k join pg_attribute f on "
	"f.attrelid = c.confrelid and f.attnum = x.f) as same,\n"
	"			(select string_agg(format('c.%%I is not null', a.attname), ' and ') from unnest(c.conkey) x (k)\n"
	"				join pg_attribute a on a.attrelid = c.conrelid and a.attnum = x.k) as given\n"
	"		from pg_constraint c join pg_class k on k.oid = c.conrelid join pg_class p on p.oid = c.confrelid\n"
	"		where c.contype = 'f' and (c.conparentid = 0 or not p.relispartition) and k.relnamespace = "
	"'rota'::regnamespace and k.relname ~ '_%lld$' and "
	"k.relispartition\n"
	"	loop\n"
	"		execute format('select exists (select from rota.%%I c where %%s and not exists (select from %%s p where "
	"%%s))', v.child, v.given, v.parent, v.same)\n"
	"			into v_bad;\n"
	"		if v_bad then raise exception '%% of %% does not hold', v.conname, v.child; end if;\n"
	"	end loop;\n"
	"	if exists (select from rota.step_%lld s left join rota.step_request_%lld r on r.job_id = s.job_id and r.step_id "
	"= "
	"s.request_id left join rota.job_%lld j on j.job_id = r.job_id where j.job_id is null)\n"
	"		or exists (select from rota.step_edge_%lld e left join rota.step_request_%lld r on r.job_id = e.job_id "
	"and "
	"r.step_id = e.step_id and r.topo = e.topo where r.job_id is null) then\n"
	"		raise exception 'a step or an edge refers to nothing';\n"
	"	end if;\n"
	"end $$";

static void range_close(struct load *l)
{
	if (l->range < 0)
		return;
	long long from = l->range;
	flush(l);
	load_run(l->db, CHECK, from, from, from, from, from, from, from);
	load_run(l->db, "commit");
	fprintf(stderr, "history: jobs from %lld on are there\n", (long long)l->range);
}

static void range_open(struct load *l, int64_t job)
{
	range_close(l);
	l->range = job / l->range_size * l->range_size;
	load_run(l->db, "begin");
	l->frozen = load_value(l->db, "select to_regclass('rota.job_%lld') is null", (long long)l->range)[0] == 't';
	/* Whoever owns the others: an upgrade grants on all of them. */
	load_run(l->db, "set local role rota_owner; select rota.range_make(%lld, %lld); set local role none", (long long)l->range,
		 (long long)(l->range + l->range_size));
}

struct load *load_new(PGconn *db, const struct world *w)
{
	struct load *l = calloc(1, sizeof *l);

	l->db = db;
	l->w = w;
	l->range = -1;
	l->range_size = atoll(load_value(db, "select value from rota.setting where name = 'range_size'"));
	return l;
}

void load_job(struct load *l, const struct job *j)
{
	if (l->range < 0 || j->id >= l->range + l->range_size)
		range_open(l, j->id);
	job_row(l, j);
	for (int i = 0; i < j->requests; i++)
		request_row(l, j, i);
	for (int i = 0; i < j->steps; i++)
		step_row(l, j, &j->step[i]);
	for (int i = 0; i < j->attempts; i++)
		attempt_row(l, j, &j->attempt[i]);
	for (int i = 0; i < j->events; i++)
		event_row(l, j, &j->event[i]);
	if (++l->jobs == BATCH)
		flush(l);
}

void load_end(struct load *l)
{
	range_close(l);
	for (int table = 0; table < TABLES; table++)
		free(l->table[table].bytes);
	free(l);
}
