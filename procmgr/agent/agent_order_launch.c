/* agent_order_launch.c - when launch requests in the list of orders are sent to the launcher, and for which of their attempts.
 *
 * Called by: agent_order.c. Most launch requests are sent at once. Elements of an array that were pre-dispatched, and a step that
 * was sent ahead, wait until other attempts on this node have ended.
 * Invariants:
 * - No more pre-dispatched elements start than the concurrency limit of their order allows.
 * - A step that was sent ahead starts when the attempt that it waits for has completed.
 * - The launcher refuses an attempt that waits for too long, or is cancelled or withdrawn before it is sent. So the journal answers
 *   each attempt. */
#include "procmgr/agent/agent_order_launch.h"

#include <stdlib.h>

#include "lib/clock.h"
#include "procmgr/agent/agent_order_message.h"
#include "procmgr/record/attempt_set.h"

enum { PREDISPATCH_USEC = 10 * 1000000, ANSWERED_S = 60 };

struct agent_order_launches {
	const struct agent_context *context;
	struct agent_order_list *list;
	/* attempts whose launch request the journal answered lately, before all of its order was sent */
	struct attempt_set *answered;
	struct agent_predispatch *predispatch;
	int waiting_count; /* attempts that wait for free CPUs or for another attempt */
};

static void set_answered(struct agent_order *o, struct agent_start *start)
{
	o->unanswered -= !start->answered;
	start->answered = true;
}

void agent_order_launch_recall(const struct agent_order_launches *ls, struct agent_order *o)
{
	for (int i = 0; i < o->start_count; i++) {
		struct record_key key = agent_order_key(o, &o->starts[i]);
		if (attempt_set_has(ls->answered, &key))
			set_answered(o, &o->starts[i]);
	}
}

/* Mark the attempts of a launch request that need not be sent: they are answered, or were sent before the request was listed again. */
static void recall_sent(const struct agent_order_launches *ls, struct agent_order *o)
{
	agent_order_launch_recall(ls, o);
	for (int i = 0; i < o->start_count; i++) {
		struct record_key key = agent_order_key(o, &o->starts[i]);
		o->starts[i].sent |= o->starts[i].answered || agent_predispatch_runs(ls->predispatch, &key);
	}
}

/* Let the launcher refuse the elements of a launch request that an order names and that have not been sent. */
static void withdraw_from(const struct agent_order_launches *ls, struct agent_order *launch, const struct agent_order *o)
{
	struct agent_start *back = xmalloc((unsigned long)launch->start_count * sizeof *back);
	int left;
	recall_sent(ls, launch);
	int count = agent_order_take_unsent(launch, o, back, &left);
	agent_order_send(ls->context->launcher, launch, back, count, true);
	free(back);
	if (left == 0)
		agent_order_set_sent(launch);
}

void agent_order_launch_withdraw(const struct agent_order_launches *ls, const struct agent_order *o)
{
	for (int i = 0; i < ls->list->count; i++) {
		struct agent_order *launch = &ls->list->item[i];
		if (launch->state == AGENT_ORDER_WAITING && agent_order_is_held(launch) && launch->key.job_id == o->key.job_id)
			withdraw_from(ls, launch, o);
	}
}

void agent_order_launch_cancel(const struct agent_order_launches *ls, const struct agent_order *launch, struct agent_start *start)
{
	agent_order_send(ls->context->launcher, launch, start, 1, true);
	start->sent = true;
}

void agent_order_launch_adopt(const struct agent_order_launches *ls, struct agent_order *o)
{
	agent_predispatch_adopt(ls->predispatch, &o->array);
}

/* Raise the concurrency limits of earlier orders of the array when an element starts with CPUs of its own. Later orders count the
 * element already. */
static void raise_limits(const struct agent_order_launches *ls, const struct agent_order *starting, const struct record_key *key)
{
	for (int i = 0; &ls->list->item[i] != starting; i++)
		if (ls->list->item[i].array.last > 0)
			agent_predispatch_raise(&ls->list->item[i].array, key);
}

/* Has a launch request waited for so long that its pre-dispatched elements are given back to the database? */
static bool is_late(const struct agent_order *o)
{
	return clock_boot_us() - o->received_at > PREDISPATCH_USEC + o->hold_s * 1000000LL;
}

/* Send a launch request for all of its attempts, or for as many pre-dispatched elements as may start now. */
static void send_attempts(struct agent_order_launches *ls, struct agent_order *o)
{
	struct agent_start *ready = xmalloc((unsigned long)o->start_count * sizeof *ready);
	bool predispatched = o->array.last > 0, late = predispatched && is_late(o);
	bool limited = predispatched && !late;
	int count = 0, left = 0, slots = limited ? agent_predispatch_free_slots(ls->predispatch, &o->array) : o->start_count;
	for (int i = 0; i < o->start_count; i++) {
		struct record_key key = agent_order_key(o, &o->starts[i]);
		/* Once a launch request is late, an attempt that was sent but not answered has been accepted, or never will
		 * be. */
		o->starts[i].sent |= o->starts[i].answered || (limited && agent_predispatch_runs(ls->predispatch, &key));
		if (o->starts[i].sent)
			continue;
		if (count == slots) {
			left++;
			continue;
		}
		if (!predispatched && !agent_predispatch_runs(ls->predispatch, &key))
			raise_limits(ls, o, &key);
		if (!late)
			agent_predispatch_start(ls->predispatch, &key);
		o->starts[i].sent = true;
		ready[count++] = o->starts[i];
	}
	agent_order_send(ls->context->launcher, o, ready, count, late);
	free(ready);
	ls->waiting_count += left;
	if (left == 0)
		agent_order_set_sent(o);
}

/* Is the launch request of an attempt in the list, and not sent yet? */
static bool is_unsent(const struct agent_order_launches *ls, const struct record_key *key)
{
	for (int i = 0; i < ls->list->count; i++) {
		const struct agent_order *o = &ls->list->item[i];
		bool waits = o->is_launch && o->state == AGENT_ORDER_WAITING;
		const struct agent_start *start = waits ? agent_order_find_start(o, key) : NULL;
		if (start && !start->sent)
			return true;
	}
	return false;
}

/* Send the launch request of a step that was sent ahead, when the attempt that it waits for has completed. Let the launcher refuse it
 * if that attempt has left the node otherwise, or is unknown. */
static void send_step(struct agent_order_launches *ls, struct agent_order *o)
{
	struct record_key key = agent_order_key(o, &o->starts[0]);
	if (agent_predispatch_has_completed(ls->predispatch, &o->after) || agent_predispatch_runs(ls->predispatch, &key)) {
		o->after.attempt = 0;
		send_attempts(ls, o);
	} else if (!is_late(o) && (agent_predispatch_runs(ls->predispatch, &o->after) || is_unsent(ls, &o->after))) {
		ls->waiting_count++;
	} else {
		agent_order_launch_cancel(ls, o, &o->starts[0]);
		agent_order_set_sent(o);
	}
}

void agent_order_launch_send(struct agent_order_launches *ls, struct agent_order *o)
{
	if (o->after.attempt > 0)
		send_step(ls, o);
	else
		send_attempts(ls, o);
}

bool agent_order_launch_answer(struct agent_order_launches *ls, struct agent_order *o, const struct record_key *key)
{
	int64_t now = clock_boot_us() / 1000000;
	bool is_partly_sent = o->state == AGENT_ORDER_WAITING && o->array.last > 0;
	struct agent_start *start =
		o->is_launch && (o->state == AGENT_ORDER_SENT || is_partly_sent) ? agent_order_find_start(o, key) : NULL;
	if (!start)
		return false;
	set_answered(o, start);
	if (is_partly_sent) /* the order may be dropped before it is sent for all attempts, and then be listed again */
		attempt_set_add(ls->answered, key, now + ANSWERED_S + o->hold_s, now);
	return true;
}

void agent_order_launch_record(struct agent_order_launches *ls, const struct record_key *key, const struct fields *record)
{
	if (!agent_predispatch_record(ls->predispatch, key, record))
		return;
	for (int i = 0; i < ls->list->count; i++)
		agent_predispatch_lower(&ls->list->item[i].array, key);
}

void agent_order_launch_count_anew(struct agent_order_launches *ls)
{
	ls->waiting_count = 0;
}

int agent_order_launch_waiting_count(const struct agent_order_launches *ls)
{
	return ls->waiting_count;
}

struct agent_order_launches *agent_order_launch_new(const struct agent_context *c, struct agent_order_list *list)
{
	struct agent_order_launches *ls = xcalloc(1, sizeof *ls);
	ls->context = c;
	ls->list = list;
	ls->answered = attempt_set_new();
	ls->predispatch = agent_predispatch_new(c->conf->launcher_virtual > 0);
	return ls;
}

void agent_order_launch_free(struct agent_order_launches *ls)
{
	attempt_set_free(ls->answered);
	agent_predispatch_free(ls->predispatch);
	free(ls);
}
