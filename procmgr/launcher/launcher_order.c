/* launcher_order.c - from a launch message to a keeper.
 *
 * Called by the launcher for each message `launch`, which is about one attempt or several. What always holds: nothing is forked for an
 * order whose signature, node, owner, expiry or novelty is in doubt; an attempt is in the journal as used before its keeper is forked, so
 * not even a crash in between lets it run twice; each attempt of a launch message leaves a record, `used` or `refused`. */
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
#include "procmgr/keeper/keeper.h"
#include "procmgr/launcher/launcher_parts.h"

/* Our name, or that of one of our virtual nodes; false where there is none of this number. */
static bool name_node(const struct launcher *l, int number, char *name, size_t size)
{
	if (number > 0)
		snprintf(name, size, "%s%d", l->node, number);
	else
		snprintf(name, size, "%s", l->node);
	return number <= l->conf->launcher_virtual && (number > 0) == (l->conf->launcher_virtual > 0);
}

/* What the signed order says, held against who we are and what was before. */
static bool is_wanted(const struct launcher *l, struct order *o, const struct record_key *asked, int64_t now,
		      enum launcher_fault *fault, struct err *e)
{
	char node[256];
	if (o->job_id != asked->job_id || o->attempt != asked->attempt || !order_pick(o, asked->step_id))
		return err_set(e, "order is for another step than the message says");
	if (!name_node(l, asked->node, node, sizeof node) || !order_pick_node(o, node))
		return err_set(e, "order is for node \"%s\", this is \"%s\"", o->node, node);
	if (geteuid() != 0 && o->uid != geteuid())
		return err_set(e, "order is for uid %ld, and only root can launch for others", (long)o->uid);
	if (*fault == LAUNCHER_FAULT_AGAIN)
		return err_set(e, "order was used before");
	if (attempt_set_newest(l->accepted, asked) > asked->attempt)
		return err_set(e, "order is for an old attempt, attempt %d was ordered here", attempt_set_newest(l->accepted, asked));
	if (o->expires_at > now)
		return true;
	*fault = LAUNCHER_FAULT_LATE;
	return err_set(e, "order has expired %lld seconds ago", (long long)(now - o->expires_at));
}

/* procmgrd says what it could not get: no file of the cache stands for it. */
static bool has_all(const struct fields *message, struct err *e)
{
	const char *lacks = fields_get(message, "lacks");
	if (!lacks || strcmp(lacks, "room") == 0)
		return true;
	return err_set(e, "the database does not have the %s that the order names",
		       strcmp(lacks, "script") == 0 ? lacks : "environment");
}

static bool read_proof(const char *hex, struct seal_proof *proof)
{
	proof->size = strlen(hex) / 2;
	return proof->size >= SEAL_SIGNATURE_SIZE && proof->size <= sizeof proof->bytes &&
	       seal_unhex(hex, proof->bytes, proof->size);
}

bool launcher_order_read(struct launcher *l, const struct fields *message, struct order *order, struct err *e)
{
	struct seal_proof proof;
	const char *text = fields_get(message, "order"), *hex = fields_get(message, "signature");
	if (!text || !hex || !read_proof(hex, &proof))
		return err_set(e, "message has no order or no signature");
	if (!seal_tree_verify(l->key, &l->root, text, strlen(text), &proof))
		return err_set(e, "signature does not fit the order");
	if (!order_parse(text, strlen(text), order, e))
		return false;
	if (has_all(message, e))
		return true;
	order_free(order);
	return false;
}

bool launcher_order_believe(const struct launcher *l, struct order *order, const struct record_key *asked, int64_t now,
			    enum launcher_fault *fault, struct err *e)
{
	bool again = attempt_set_has(l->accepted, asked) || launcher_spool_has(asked);
	*fault = again ? LAUNCHER_FAULT_AGAIN : LAUNCHER_FAULT_ORDER;
	return order->fields && is_wanted(l, order, asked, now, fault, e);
}

static void refuse(struct launcher *l, const struct record_key *key, enum launcher_fault fault, const struct err *why)
{
	char name[RECORD_KEY_SIZE];
	record_key_text(key, name);
	log_warning("order for %s refused: %s", name, why->message);
	struct fields *record = record_new("refused", key);
	fields_add(record, "reason", why->message);
	fields_add_int(record, "again", fault == LAUNCHER_FAULT_AGAIN);
	fields_add_int(record, "retry", fault >= LAUNCHER_FAULT_LATE);
	fields_add(record, "drain", fault == LAUNCHER_FAULT_NODE ? why->message : "");
	fields_add(record, "cause", fault == LAUNCHER_FAULT_WITHDRAWN ? "withdrawn" : "");
	record_write(l->journal, record);
}

void launcher_order_reaped(struct launcher *l, pid_t pid)
{
	struct launcher_child child;
	if (!launcher_child_remove(l, pid, NULL, &child)) {
		launcher_spare_reaped(l, pid);
		return;
	}
	if (launcher_spool_has(&child.key))
		launcher_lost_recover(l, &child.key);
	if (child.ctl >= 0) {
		close(child.ctl);
		launcher_spool_clear("spare", &child.key);
	}
}

static bool write_used(struct launcher *l, const struct order *o, const struct record_key *key)
{
	struct fields *record = record_new("used", key);
	fields_add_int(record, "expires", o->expires_at);
	fields_add_int(record, "pid", 0);
	return record_write(l->journal, record);
}

static void fork_keeper(struct launcher *l, const struct order *o, const struct record_key *key, const char *cores, int ctl)
{
	bool spare = launcher_spare_wanted(l);
	struct keeper_job job = {l->conf, l->dir, l->journal, l->fence, o, cores, ctl, l->spare_ends[1], spare ? getpid() : 0};
	pid_t pid = fork();
	if (pid == 0)
		keeper_run(&job);
	if (pid < 0)
		log_error("could not fork a keeper: %m");
	if (pid < 0 || !spare)
		close(ctl);
	if (pid > 0)
		launcher_child_add(l, &(struct launcher_child){pid, *key, keeper_record_room(o), o->cpus, spare ? ctl : -1});
	else
		launcher_lost_recover(l, key);
}

/* Whom the attempt gets: a keeper that is free and the folder it had, or (pid 0) a new one of each. */
static bool find_keeper(struct launcher *l, const struct record_key *key, struct launcher_spare *keeper, struct err *e)
{
	if (launcher_spare_take(l, key, keeper))
		return true;
	*keeper = (struct launcher_spare){.ctl = launcher_spool_make(key, e)};
	return keeper->ctl >= 0;
}

static void start_keeper(struct launcher *l, const struct order *o, const char *text, const struct record_key *key,
			 const struct launcher_spare *keeper)
{
	char *cores = l->fence ? fence_pick(l->fence, o->cpus, l->cpus) : NULL;
	if (keeper->pid > 0 && launcher_spare_order(key, text, o->node, cores)) {
		launcher_child_add(l, &(struct launcher_child){keeper->pid, *key, keeper_record_room(o), o->cpus, keeper->ctl});
	} else {
		if (keeper->pid > 0)
			launcher_spare_end(keeper);
		fork_keeper(l, o, key, cores, keeper->ctl);
	}
	free(cores);
}

/* From here on the order is used, whatever happens to us. */
static bool use(struct launcher *l, const struct order *o, const struct record_key *key)
{
	if (!write_used(l, o, key))
		return false;
	crash_point(CRASH_order_used);
	attempt_set_add(l->accepted, key, o->expires_at, time(NULL));
	return true;
}

static void refuse_unwritten(struct launcher *l, const struct record_key *key)
{
	struct err e;
	err_set(&e, "the journal cannot be written");
	refuse(l, key, LAUNCHER_FAULT_NODE, &e);
}

static void launch_dry(struct launcher *l, const struct order *o, const struct record_key *key)
{
	if (use(l, o, key))
		launcher_dry_start(l, o, key);
	else
		refuse_unwritten(l, key);
}

/* Whatever fails before the order is in the journal is the node's fault, and nothing was run. */
static void launch(struct launcher *l, const struct order *o, const char *text, const struct record_key *key)
{
	struct err e;
	struct launcher_spare keeper;
	if (!find_keeper(l, key, &keeper, &e)) {
		refuse(l, key, LAUNCHER_FAULT_NODE, &e);
		return;
	}
	crash_point(CRASH_order_spooled);
	if (use(l, o, key)) {
		start_keeper(l, o, text, key, &keeper);
		crash_point(CRASH_order_forked);
		return;
	}
	if (keeper.pid > 0)
		launcher_spare_end(&keeper);
	close(keeper.ctl);
	launcher_spool_remove(key);
	refuse_unwritten(l, key);
}

/* Script and environment that procmgrd could not store, journal, disk. */
static bool has_room(struct launcher *l, const struct fields *message, const struct order *o, struct err *e)
{
	const char *lacks = fields_get(message, "lacks");
	return launcher_room_for(l, o, e) && (!lacks || err_set(e, "procmgrd cannot store what is to be run; see its log"));
}

/* One of the attempts that a message is about; `why`: where its order cannot be read. */
static void take_one(struct launcher *l, const struct fields *message, struct order *order, const struct record_key *key,
		     const struct err *why)
{
	struct err e = *why;
	enum launcher_fault fault;
	if (!launcher_order_believe(l, order, key, time(NULL), &fault, &e)) {
		refuse(l, key, fault, &e);
		return;
	}
	crash_point(CRASH_order_verified);
	if (fields_get(message, "withdrawn")) {
		err_set(&e, "its turn had not come");
		refuse(l, key, LAUNCHER_FAULT_WITHDRAWN, &e);
		return;
	}
	if (!has_room(l, message, order, &e))
		refuse(l, key, LAUNCHER_FAULT_NODE, &e);
	else if (l->dry)
		launch_dry(l, order, key);
	else
		launch(l, order, fields_get(message, "order"), key);
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
		log_warning("launch message ignored: %s", e.message);
		return;
	}
	if (l->end_all) {
		log_info("launch message ignored: this node is shutting down");
		return;
	}
	launcher_order_read(l, message, &order, &e);
	launcher_dry_gather(l, true);
	do
		take_one(l, message, &order, &key, &e);
	while (launcher_order_next(&also, &key.step_id) || launcher_order_next(&nodes, &key.node));
	launcher_dry_gather(l, false);
	order_free(&order);
}
