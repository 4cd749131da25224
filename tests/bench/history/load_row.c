/* load_row.c - the rows of a job: the columns of each table, and their values. */
#include "load_row.h"

#include <stdio.h>
#include <string.h>

const struct load_table load_tables[LOAD_TABLES] = {
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
	{"step_edge", "job_id,step_id,edge,kind,peer_job_id,peer_step_id,condition,topo,peer_topo,gates,state,resolved_at,line",
	 13},
	{"attempt",
	 "job_id,step_id,attempt,state,time_limit_s,node_ids,nodes,ordered_at,started_at,done_at,ended_at,outcome,exit_code,"
	 "signal,cause,"
	 "session_id,ends_on_node_loss",
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

static void row(struct load_rows *l, enum load_table_id table)
{
	l->to = &l->table[table];
	copy_row(l->to, load_tables[table].fields);
}

/* An array of the nodes of an attempt: their ids, or their names. */
static void field_nodes(struct load_rows *l, const struct job *j, const struct attempt *t, bool names)
{
	size_t size = 0;

	for (int i = 0; i < t->nodes; i++)
		size += names ? strlen(l->w->node[j->placed[t->placed + i].node].name) : 4;
	copy_array(l->to, t->nodes, size, names);
	for (int i = 0; i < t->nodes; i++) {
		const struct node *n = &l->w->node[j->placed[t->placed + i].node];

		if (names)
			copy_text(l->to, n->name);
		else
			copy_int(l->to, n->id);
	}
}

static const struct step *worst_step(const struct job *j)
{
	const struct step *worst = &j->step[j->request[0].first];

	for (int i = 1; i < j->requests; i++)
		if (j->step[j->request[i].first].state > worst->state)
			worst = &j->step[j->request[i].first];
	return worst;
}

static void job_row(struct load_rows *l, const struct job *j)
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
	copy_long(l->to, j->id);
	copy_text(l->to, j->name);
	copy_int(l->to, j->user->uid);
	copy_int(l->to, j->user->uid);
	copy_text(l->to, j->user->name);
	copy_text(l->to, l->w->account[j->account]);
	copy_text(l->to, j->qos);
	copy_int(l->to, 0);
	copy_int(l->to, 0);
	copy_bytes(l->to, l->w->script[j->user->script], HASH);
	copy_bytes(l->to, l->w->environment, HASH);
	copy_text(l->to, SCRIPT_NAMES[j->user->script]);
	copy_text(l->to, workdir);
	copy_time(l->to, j->submit_at);
	copy_int(l->to, j->requests);
	copy_int(l->to, 0);
	copy_time(l->to, started_at);
	copy_time(l->to, ended_at);
	copy_text(l->to, STATES[worst->state]);
	copy_int_or_null(l->to, exit_code, exit_code >= 0);
	copy_int_or_null(l->to, worst->signal, worst->signal > 0);
	copy_text(l->to, worst->cause);
}

static void request_row(struct load_rows *l, const struct job *j, int number)
{
	const struct request *r = &j->request[number];
	char text[128];

	row(l, STEP_REQUEST);
	copy_long(l->to, j->id);
	copy_int(l->to, r->step_id);
	copy_text(l->to, r->name);
	copy_int(l->to, 3 + 2 * number);
	copy_int(l->to, number);
	copy_text(l->to, j->partition);
	copy_int(l->to, r->nodes);
	copy_int_or_null(l->to, r->nodes, r->nodes > 1);
	copy_int(l->to, r->nodes);
	copy_int(l->to, r->cpus);
	copy_long(l->to, r->mem_mb);
	snprintf(text, sizeof text, "{\"gpu\": %d}", r->gpus);
	copy_json(l->to, r->gpus ? text : "{}");
	copy_long(l->to, r->limit_s);
	copy_time(l->to, j->cancel_at != NEVER ? j->step[r->first].begin_at : NEVER);
	copy_bool(l->to, j->requeue);
	copy_int(l->to, r->retry);
	copy_json(l->to, "{\"mem\": true, \"cpus\": false, \"gres\": true, \"licenses\": true}");
	snprintf(text, sizeof text, "from=1:%d\nto=1:%d\nper_task=1:0\nstep_name=%zu:%s\n", 3 + 2 * number, 4 + 2 * number,
		 strlen(r->name), r->name);
	copy_text(l->to, text);
	/* auth: no order is signed for an ended job, so any hash will do. */
	copy_bytes(l->to, l->w->script[j->user->script], HASH);
	if (r->array) {
		int completed = 0;

		for (int i = 0; i < j->steps; i++)
			completed += j->step[i].index >= 0 && j->step[i].state == COMPLETED;
		snprintf(text, sizeof text, "[[0, %d, 1]]", r->array - 1);
		row(l, STEP_ARRAY);
		copy_long(l->to, j->id);
		copy_int(l->to, r->step_id);
		copy_json(l->to, text);
		copy_int(l->to, r->array);
		copy_int_or_null(l->to, r->max_running, r->max_running > 0);
		copy_int(l->to, r->array);
		copy_int(l->to, completed);
		copy_int(l->to, r->array - completed);
	}
	if (number > 0) {
		const struct step *s = &j->step[r->first], *peer = &j->step[j->request[number - 1].first];

		row(l, STEP_EDGE);
		copy_long(l->to, j->id);
		copy_int(l->to, r->step_id);
		copy_int(l->to, 1);
		copy_text(l->to, "after");
		copy_long(l->to, j->id);
		copy_int(l->to, peer->id);
		copy_text(l->to, "ok");
		copy_int(l->to, number);
		copy_int(l->to, number - 1);
		copy_bool(l->to, true);
		copy_text(l->to, s->state == DEPENDENCY_FAILED ? "failed" : "met");
		copy_time(l->to, peer->ended_at);
		copy_int(l->to, 3 + 2 * number);
	}
}

static void step_row(struct load_rows *l, const struct job *j, const struct step *s)
{
	const struct request *r = &j->request[s->request];
	bool head = r->array && s->index < 0;

	row(l, STEP);
	copy_long(l->to, j->id);
	copy_int(l->to, s->id);
	copy_int(l->to, r->step_id);
	copy_int_or_null(l->to, s->index, s->index >= 0);
	copy_text(l->to, STATES[s->state]);
	copy_int(l->to, s->attempts);
	copy_int(l->to, s->state == DEPENDENCY_FAILED);
	copy_long(l->to, -(j->submit_at / 1000 + 946684800000)); /* milliseconds since 1970 */
	copy_time(l->to, s->begin_at);
	copy_time(l->to, s->eligible_at);
	copy_int(l->to, s->retries);
	copy_int(l->to, s->requeues);
	copy_time(l->to, s->ordered_at);
	copy_time(l->to, s->started_at);
	copy_time(l->to, s->ended_at);
	copy_int_or_null(l->to, s->exit_code, s->exit_code >= 0);
	copy_int_or_null(l->to, s->signal, s->signal > 0);
	copy_text(l->to, s->cause);
	copy_text(l->to, s->message);
	copy_text(l->to, s->attempts && s->state == CANCELLED	? "cancel"
			 : s->attempts && s->state == PREEMPTED ? "preempt"
								: NULL);
	copy_text(l->to, j->partition);
	copy_bool(l->to, head);
}

static void allocation_row(struct load_rows *l, const struct job *j, const struct attempt *t, int number)
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
	copy_long(l->to, j->id);
	copy_int(l->to, s->id);
	copy_int(l->to, t->number);
	copy_int(l->to, l->w->node[p->node].id);
	copy_int(l->to, number);
	copy_int(l->to, r->cpus);
	copy_long(l->to, r->mem_mb);
	copy_json(l->to, gres);
	copy_int(l->to, 1);
	copy_text(l->to, "ended");
	copy_int(l->to, 0);
	copy_time(l->to, t->ordered_at);
	copy_time(l->to, t->ended_at);
	copy_time(l->to, t->ended_at);
	if (t->lost == number) {
		copy_null(l->to);
		copy_null(l->to);
	} else {
		copy_long(l->to, number ? 0 : t->rss_kb / 1024);
		copy_long(l->to, number ? 0 : (int64_t)((t->user_s + t->system_s) * SECOND));
	}
	copy_time(l->to, t->lost == number ? t->ended_at : NEVER);
}

static void task_row(struct load_rows *l, const struct job *j, const struct attempt *t)
{
	row(l, TASK_END);
	copy_long(l->to, j->id);
	copy_int(l->to, j->step[t->step].id);
	copy_int(l->to, t->number);
	copy_int(l->to, 0);
	copy_int(l->to, l->w->node[j->placed[t->placed].node].id);
	copy_int(l->to, 2000 + (int)(j->id * 7 % 30000));
	copy_time(l->to, t->started_at);
	copy_time(l->to, t->ended_at - 300);
	copy_int_or_null(l->to, t->exit_code, t->signal == 0);
	copy_int_or_null(l->to, t->signal, t->signal > 0);
	copy_text(l->to, t->cause);
	copy_long(l->to, (int64_t)(t->user_s * SECOND));
	copy_long(l->to, (int64_t)(t->system_s * SECOND));
	copy_long(l->to, t->rss_kb);
	copy_long(l->to, t->rss_kb / 4 + 200);
	copy_long(l->to, (int64_t)(t->user_s * 20000));
	copy_long(l->to, (int64_t)(t->user_s * 5000));
}

static void attempt_row(struct load_rows *l, const struct job *j, const struct attempt *t)
{
	bool lost = t->lost >= 0;

	row(l, ATTEMPT);
	copy_long(l->to, j->id);
	copy_int(l->to, j->step[t->step].id);
	copy_int(l->to, t->number);
	copy_text(l->to, STATES[t->end]);
	copy_long(l->to, j->request[j->step[t->step].request].limit_s);
	field_nodes(l, j, t, false);
	field_nodes(l, j, t, true);
	copy_time(l->to, t->ordered_at);
	copy_time(l->to, t->started_at);
	copy_time(l->to, lost ? NEVER : t->ended_at - 200);
	copy_time(l->to, t->ended_at);
	copy_text(l->to, END_EVENTS[t->end]);
	copy_int_or_null(l->to, t->exit_code, !lost);
	copy_int_or_null(l->to, t->signal, t->signal > 0);
	copy_text(l->to, t->cause);
	copy_int_or_null(l->to, 2000 + (int)(j->id * 7 % 30000), t->started_at != NEVER);
	copy_bool(l->to, true);
	if (!lost)
		task_row(l, j, t);
	for (int i = 0; i < t->nodes; i++)
		allocation_row(l, j, t, i);
}

static void event_row(struct load_rows *l, const struct job *j, const struct event *e)
{
	row(l, EVENT);
	copy_long(l->to, j->id);
	copy_long(l->to, e->id);
	copy_int(l->to, j->step[e->step].id);
	copy_int(l->to, e->attempt);
	copy_time(l->to, e->at);
	copy_text(l->to, STATES[e->from]);
	copy_text(l->to, e->event);
	copy_text(l->to, STATES[e->to]);
	copy_text(l->to, e->actor);
	copy_text(l->to, e->cause);
	copy_text(l->to, e->detail);
}

void load_rows_add(struct load_rows *l, const struct job *j)
{
	job_row(l, j);
	for (int i = 0; i < j->requests; i++)
		request_row(l, j, i);
	for (int i = 0; i < j->steps; i++)
		step_row(l, j, &j->step[i]);
	for (int i = 0; i < j->attempts; i++)
		attempt_row(l, j, &j->attempt[i]);
	for (int i = 0; i < j->events; i++)
		event_row(l, j, &j->event[i]);
}
