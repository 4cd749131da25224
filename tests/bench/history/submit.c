/* submit.c - submissions of users: more by day than by night, fewer at weekends, more from year to year, sometimes a batch of
 * similar jobs; most jobs are small and short, a few wide or long. */
#include "submit.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_LOW = 2, BATCH_HIGH = 40 };
static const double BATCH_CHANCE = 0.1;

/* Relative rate of submissions at `at`; 1 is the mean. */
static double busy(const struct submit *s, int64_t at)
{
	int64_t hour = at / SECOND / 3600;
	int of_day = (int)(hour % 24), day = (int)((hour / 24 + 5) % 7); /* 2000-01-01 was a Saturday; 0: Monday */
	double by_hour = of_day < 7 ? 0.4 : of_day < 19 ? 1.5 : 0.8;

	return by_hour * (day >= 5 ? 0.5 : 1.2) * (0.7 + 0.6 * (double)(at - s->from) / (double)s->length);
}

void submit_begin(struct submit *s, struct world *w, struct draw *d, int64_t from, double days, int64_t jobs)
{
	double sum = 0, batch = 1 + BATCH_CHANCE * ((BATCH_LOW + BATCH_HIGH) / 2.0 - 1);
	int hours = (int)(days * 24);

	*s = (struct submit){.w = w, .d = d, .from = from, .length = (int64_t)(days * 86400 * SECOND), .most = 1.5 * 1.2 * 1.3};
	for (int i = 0; i < hours; i++)
		sum += busy(s, from + (int64_t)i * 3600 * SECOND);
	s->gap = (double)s->length * (sum / hours) / ((double)jobs / batch) / s->most;
}

int64_t submit_next(struct submit *s, int64_t at)
{
	if (s->left > 0)
		return at + (int64_t)draw_between(s->d, 0.05 * SECOND, 0.5 * SECOND);
	do
		at += 1 + (int64_t)draw_exponential(s->d, s->gap);
	while (!draw_chance(s->d, busy(s, at) / s->most));
	return at;
}

static int64_t limit_for(struct draw *d, int64_t run_us)
{
	static const int choices[] = {900, 1800, 3600, 7200, 14400, 28800, 86400, 172800};
	double wanted = (double)run_us / SECOND * draw_between(d, 1.5, 5);
	unsigned i = 0;

	while (i < sizeof choices / sizeof *choices - 1 && choices[i] < wanted)
		i++;
	return choices[i];
}

static int64_t run_draw(struct draw *d, const struct user *u)
{
	double run_s = draw_skewed(d, u->median_s, 1.6);

	return (int64_t)((run_s < 1 ? 1 : run_s > 165000 ? 165000 : run_s) * SECOND);
}

static void request_draw(struct submit *s, struct job *j, struct request *r)
{
	struct draw *d = s->d;
	static const int mem_per_cpu_mb[] = {1000, 2000, 4000};

	*r = (struct request){.name = "script", .nodes = 1, .cpus = j->user->cpus, .run_us = run_draw(d, j->user)};
	if (draw_chance(d, 0.3))
		r->cpus = draw_chance(d, 0.5) ? 1 : r->cpus * 2 <= s->w->cpus ? r->cpus * 2 : r->cpus;
	r->mem_mb = (long)r->cpus * mem_per_cpu_mb[draw_int(d, 0, 2)];
	r->mem_mb = r->mem_mb < s->w->mem_mb ? r->mem_mb : s->w->mem_mb;
	r->limit_s = limit_for(d, r->run_us);
	r->retry = draw_chance(d, 0.02);
}

/* Draw the kind of the job: a pipeline of steps, several nodes, an array, or GPUs; most jobs have none of these. */
static void kind_draw(struct submit *s, struct job *j)
{
	static const char *const parts[] = {"prepare", "solve", "render", "tidy"};
	double kind = draw_part(s->d);
	struct request *r = j->request;

	j->requests = kind < 0.02 ? draw_int(s->d, 2, 4) : 1;
	for (int i = 0; i < j->requests; i++) {
		request_draw(s, j, &r[i]);
		r[i].step_id = r[i].first = i;
		if (j->requests > 1)
			r[i].name = parts[i];
	}
	if (kind >= 0.02 && kind < 0.05) {
		static const int widths[] = {2, 2, 2, 3, 4, 4, 8};

		r->nodes = widths[draw_int(s->d, 0, 6)];
		r->nodes = r->nodes < s->w->nodes ? r->nodes : s->w->nodes;
	} else if (kind < 0.065 && kind >= 0.05) {
		r->array = draw_int(s->d, 2, 12);
		r->max_running = draw_chance(s->d, 0.3) ? 4 : 0;
	} else if (kind < 0.115 && kind >= 0.065) {
		r->gpus = draw_chance(s->d, 0.7) ? 1 : draw_int(s->d, 2, GPUS);
	}
	j->partition = r->gpus ? "gpu" : r->nodes > 1 ? "wide" : r->limit_s <= 3600 ? "short" : "batch";
}

static void batch_begin(struct submit *s)
{
	struct job *j = &s->like;
	double qos = draw_part(s->d);

	*j = (struct job){.user = world_user(s->w, s->d)};
	j->account = draw_chance(s->d, 0.8) ? j->user->account : j->user->other_account;
	j->qos = qos < 0.1 ? "low" : qos < 0.15 ? "urgent" : "normal";
	j->requeue = draw_chance(s->d, 0.8);
	kind_draw(s, j);
	s->left = draw_chance(s->d, BATCH_CHANCE) ? draw_int(s->d, BATCH_LOW, BATCH_HIGH) : 1;
}

struct job *submit_job(struct submit *s, int64_t id, int64_t at)
{
	struct job *j = malloc(sizeof *j);

	if (s->left == 0)
		batch_begin(s);
	s->left--;
	*j = s->like;
	j->id = id;
	j->submit_at = at;
	j->requests_left = j->requests;
	j->name = SCRIPT_NAMES[j->user->script];
	for (int i = 0; i < j->requests; i++)
		j->request[i].run_us = (int64_t)((double)j->request[i].run_us * draw_between(s->d, 0.6, 1.4));
	if (j->requests == 1 && !j->request->array && draw_chance(s->d, 0.012))
		j->cancel_at = at + (int64_t)draw_between(s->d, 60, 80000) * SECOND;
	return j;
}
