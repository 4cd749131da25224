/* launcher_order.c - verifies a launch message and starts a keeper for each of its attempts.
 *
 * Called by: launcher_control.c for each launch message; launcher.c when a keeper has ended.
 * Invariants:
 * - No keeper is started unless signature, node, owner and expiry of the launch request are valid and the attempt is new.
 * - The attempt is in the journal (record `used`) before its keeper is forked, so not even a crash makes the attempt run twice.
 * - Each attempt of a launch message gets a record, `used` or `refused`. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/crash.h"
#include "lib/log.h"
#include "lib/seal.h"
#include "lib/text.h"
#include "procmgr/keeper/keeper.h"
#include "procmgr/launcher/launcher_parts.h"

/* Make the name of the real node (number 0) or of a virtual node. Returns false if this launcher has no node with the number. */
static bool make_node_name(const struct launcher *l, int number, char *name, size_t size)
{
	if (number > 0)
		snprintf(name, size, "%s%d", l->node, number);
	else
		snprintf(name, size, "%s", l->node);
	return number <= l->conf->launcher_virtual && (number > 0) == (l->conf->launcher_virtual > 0);
}

/* Compare a signed launch request with this node, with procmgrd's message and with the attempts accepted before. */
static bool verify_order(const struct launcher *l, struct order *o, const struct record_key *asked, int64_t now,
			 enum launcher_fault *fault, struct err *e)
{
	char node[256];
	if (o->job_id != asked->job_id || o->attempt != asked->attempt || !order_pick(o, asked->step_id))
		return err_set(e, "the launch request is for another step than procmgrd's message says");
	if (!make_node_name(l, asked->node, node, sizeof node) || !order_pick_node(o, node))
		return err_set(e, "the launch request is for node \"%s\", this is \"%s\"", o->node, node);
	if (geteuid() != 0 && o->uid != geteuid())
		return err_set(
			e,
			"the launch request is for uid %ld, and only a launcher that runs as root can start steps of other users",
			(long)o->uid);
	if (o->uid < conf_min_uid(l->conf))
		return err_set(e, "the launch request is for uid %ld, and launcher.min_uid of this node is %ld", (long)o->uid,
			       (long)conf_min_uid(l->conf));
	if (*fault != LAUNCHER_FAULT_ORDER)
		return err_set(e, "the launch request was accepted before");
	if (attempt_set_newest(l->accepted, asked) > asked->attempt) {
		*fault = LAUNCHER_FAULT_GONE;
		return err_set(e, "the launch request is for an old attempt, attempt %d was accepted here",
			       attempt_set_newest(l->accepted, asked));
	}
	if (o->expires_at > now)
		return true;
	*fault = LAUNCHER_FAULT_LATE;
	return err_set(e, "the launch request expired %lld second%s ago", (long long)(now - o->expires_at),
		       text_plural(now - o->expires_at));
}

/* Returns false if the message of procmgrd names a file that the database does not have. */
static bool has_files(const struct fields *message, struct err *e)
{
	const char *lacks = fields_get(message, "lacks");
	if (!lacks || strcmp(lacks, "room") == 0)
		return true;
	return err_set(e, strcmp(lacks, "script") == 0
				  ? "the database does not have the script of the job that the launch request names"
				  : "the database does not have the environment of the job that the launch request names");
}

static bool read_signature(const char *hex, struct seal_proof *signature)
{
	signature->size = strlen(hex) / 2;
	return signature->size >= SEAL_SIGNATURE_SIZE && signature->size <= sizeof signature->bytes &&
	       seal_unhex(hex, signature->bytes, signature->size);
}

bool launcher_order_read(struct launcher *l, const struct fields *message, struct order *order, struct err *e)
{
	struct seal_proof signature;
	const char *text = fields_get(message, "order"), *hex = fields_get(message, "signature");
	if (!text || !hex || !read_signature(hex, &signature))
		return err_set(e, "the message has no launch request or no signature");
	if (!seal_tree_verify(l->key, &l->root, text, strlen(text), &signature))
		return err_set(e, "the signature does not match the launch request");
	if (!order_parse(text, strlen(text), order, e))
		return false;
	if (has_files(message, e))
		return true;
	order_free(order);
	return false;
}

/* Was the attempt accepted before? An attempt leaves the spool after its end is in the journal. In a dry run, none is in the spool. */
static enum launcher_fault find_before(const struct launcher *l, const struct record_key *asked)
{
	if (launcher_spool_has(asked))
		return LAUNCHER_FAULT_AGAIN;
	if (!attempt_set_has(l->accepted, asked))
		return LAUNCHER_FAULT_ORDER;
	return l->dry ? LAUNCHER_FAULT_AGAIN : LAUNCHER_FAULT_GONE;
}

bool launcher_order_verify(const struct launcher *l, struct order *order, const struct record_key *asked, int64_t now,
			   enum launcher_fault *fault, struct err *e)
{
	*fault = find_before(l, asked);
	return order->fields && verify_order(l, order, asked, now, fault, e);
}

static struct fields *make_refusal(const struct record_key *key, enum launcher_fault fault, const struct err *why)
{
	char name[RECORD_KEY_SIZE];
	record_key_text(key, name);
	log_warning("launch request for attempt %s refused: %s", name, why->message);
	struct fields *record = record_new("refused", key);
	fields_add(record, "reason", why->message);
	fields_add_int(record, "again", fault == LAUNCHER_FAULT_AGAIN || fault == LAUNCHER_FAULT_GONE);
	if (fault == LAUNCHER_FAULT_GONE)
		fields_add_int(record, "gone", 1);
	fields_add_int(record, "retry", fault >= LAUNCHER_FAULT_LATE);
	fields_add(record, "drain", fault == LAUNCHER_FAULT_NODE ? why->message : "");
	fields_add(record, "cause", fault == LAUNCHER_FAULT_CANCELLED ? "withdrawn" : "");
	return record;
}

static void refuse_attempt(struct launcher *l, const struct record_key *key, enum launcher_fault fault, const struct err *why)
{
	record_write(l->journal, make_refusal(key, fault, why));
}

/* Refuse an attempt that procmgrd cancelled before start. It counts as accepted from then on, since a procmgrd that restarts may send
 * the launch request again before it has reported the refusal. In a dry run, it would count as running. */
static void cancel_attempt(struct launcher *l, const struct order *o, const struct record_key *key)
{
	struct err e;
	err_set(&e, "cancelled before start: the attempt is to end, or no CPU was free in time");
	struct fields *record = make_refusal(key, LAUNCHER_FAULT_CANCELLED, &e);
	if (!l->dry)
		fields_add_int(record, "expires", o->expires_at);
	if (record_write(l->journal, record) && !l->dry)
		attempt_set_add(l->accepted, key, o->expires_at, time(NULL));
}

void launcher_order_reaped(struct launcher *l, pid_t pid)
{
	struct launcher_child child;
	if (!launcher_child_remove(l, pid, NULL, &child)) {
		launcher_idle_reaped(l, pid);
		return;
	}
	if (launcher_spool_has(&child.key))
		launcher_lost_recover(l, &child.key);
	if (child.ctl >= 0) {
		close(child.ctl);
		launcher_spool_clear("spare", &child.key);
	}
}

static bool write_accepted(struct launcher *l, const struct order *o, const struct record_key *key)
{
	struct fields *record = record_new("used", key);
	fields_add_int(record, "expires", o->expires_at);
	fields_add_int(record, "pid", 0);
	return record_write(l->journal, record);
}

static void fork_keeper(struct launcher *l, const struct order *o, const struct record_key *key, const char *cores, int ctl)
{
	bool idle = launcher_idle_is_wanted(l);
	struct keeper_job job = {
		l->conf, l->dir, l->journal, l->cgroups, o, cores, ctl, launcher_idle_keeper_socket(l), idle ? getpid() : 0,
		l->keys};
	pid_t pid = fork();
	if (pid == 0)
		keeper_run(&job);
	if (pid < 0)
		log_error("could not fork the keeper of an attempt: %m");
	if (pid < 0 || !idle)
		close(ctl);
	if (pid > 0)
		launcher_child_add(l, &(struct launcher_child){pid, *key, keeper_record_space(o), o->cpus, idle ? ctl : -1});
	else
		launcher_lost_recover(l, key);
}

/* Get an idle keeper with its folder, or a new folder for a new keeper, for which `pid` is 0. */
static bool find_keeper(struct launcher *l, const struct record_key *key, struct launcher_idle *keeper, struct err *e)
{
	if (launcher_idle_take(l, key, keeper))
		return true;
	*keeper = (struct launcher_idle){.ctl = launcher_spool_make(key, e)};
	return keeper->ctl >= 0;
}

static void start_keeper(struct launcher *l, const struct order *o, const char *text, const struct record_key *key,
			 const struct launcher_idle *keeper)
{
	char *cores = l->cgroups ? cgroups_pick_cores(l->cgroups, o->cpus, launcher_child_cpus(l)) : NULL;
	if (keeper->pid > 0 && launcher_idle_order(key, text, o->node, cores)) {
		launcher_child_add(l, &(struct launcher_child){keeper->pid, *key, keeper_record_space(o), o->cpus, keeper->ctl});
	} else {
		if (keeper->pid > 0)
			launcher_idle_end(keeper);
		fork_keeper(l, o, key, cores, keeper->ctl);
	}
	free(cores);
}

/* Accept a launch request by writing the record `used`. The request then stays accepted, even if the launcher dies. */
static bool accept_order(struct launcher *l, const struct order *o, const struct record_key *key)
{
	if (!write_accepted(l, o, key))
		return false;
	crash_point(CRASH_order_used);
	attempt_set_add(l->accepted, key, o->expires_at, time(NULL));
	return true;
}

static void refuse_unwritten(struct launcher *l, const struct record_key *key)
{
	struct err e;
	err_set(&e, "could not write to the journal");
	refuse_attempt(l, key, LAUNCHER_FAULT_NODE, &e);
}

static void launch_dry(struct launcher *l, const struct order *o, const struct record_key *key)
{
	if (accept_order(l, o, key))
		launcher_dry_start(l, o, key);
	else
		refuse_unwritten(l, key);
}

/* Accept a launch request and start a keeper. An error before acceptance is the node's fault, and nothing was run. */
static void launch_attempt(struct launcher *l, const struct order *o, const char *text, const struct record_key *key)
{
	struct err e;
	struct launcher_idle keeper;
	if (!find_keeper(l, key, &keeper, &e)) {
		refuse_attempt(l, key, LAUNCHER_FAULT_NODE, &e);
		return;
	}
	crash_point(CRASH_order_spooled);
	if (accept_order(l, o, key)) {
		start_keeper(l, o, text, key, &keeper);
		crash_point(CRASH_order_forked);
		return;
	}
	if (keeper.pid > 0)
		launcher_idle_end(&keeper);
	close(keeper.ctl);
	launcher_spool_remove(key);
	refuse_unwritten(l, key);
}

/* Is there space for the journal's records, and could procmgrd store the script and the environment? */
static bool has_space(struct launcher *l, const struct fields *message, const struct order *o, struct err *e)
{
	const char *lacks = fields_get(message, "lacks");
	return launcher_reservation_make(l, o, e) &&
	       (!lacks || err_set(e, "procmgrd cannot store the script or the environment; see its log"));
}

/* Handle one attempt of a launch message. `why` has the error if the launch request could not be read. */
static void take_attempt(struct launcher *l, const struct fields *message, struct order *order, const struct record_key *key,
			 const struct err *why)
{
	struct err e = *why;
	enum launcher_fault fault;
	if (!launcher_order_verify(l, order, key, time(NULL), &fault, &e)) {
		refuse_attempt(l, key, fault, &e);
		return;
	}
	crash_point(CRASH_order_verified);
	if (fields_get(message, "withdrawn")) {
		cancel_attempt(l, order, key);
		return;
	}
	if (!has_space(l, message, order, &e))
		refuse_attempt(l, key, LAUNCHER_FAULT_NODE, &e);
	else if (l->dry)
		launch_dry(l, order, key);
	else
		launch_attempt(l, order, fields_get(message, "order"), key);
}

bool launcher_order_next(const char **list, int *number)
{
	char *end;
	long value = *list ? strtol(*list, &end, 10) : -1;
	if (value < 0 || value > INT_MAX || end == *list)
		return false;
	*number = (int)value;
	*list = end + (*end == ',');
	return true;
}

void launcher_order_take(struct launcher *l, const struct fields *message)
{
	struct err e = {.code = ""};
	struct order order = {.fields = NULL};
	struct record_key key;
	const char *also = fields_get(message, "also"), *nodes = fields_get(message, "nodes");
	crash_point(CRASH_order_received);
	if (!record_key_read(message, &key, &e)) {
		log_warning("a launch request is ignored: its message is malformed: %s", e.message);
		return;
	}
	if (l->end_all) {
		log_info("a launch request is ignored: this node is shutting down");
		return;
	}
	launcher_order_read(l, message, &order, &e);
	launcher_dry_gather(l, true);
	do
		take_attempt(l, message, &order, &key, &e);
	while (launcher_order_next(&also, &key.step_id) || launcher_order_next(&nodes, &key.node));
	launcher_dry_gather(l, false);
	order_free(&order);
}
