/* agent.c - procmgrd: start, registration, notifications and timers.
 *
 * Called by: bin/procmgrd.c, which the launcher starts.
 * Invariants:
 * - Every action that a notification causes is also caused by a timer.
 * - All state can be read again from the database and the journal: a restarted procmgrd continues where the last one ended. A
 *   launch request is done only when its answer is in the journal, a control message only when the launcher has answered. The
 *   journal is truncated only up to the records that the database has acknowledged. */
#include "procmgr/agent/agent.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/db_seen.h"
#include "lib/log.h"
#include "procmgr/agent/agent_cache.h"
#include "procmgr/agent/agent_credential.h"
#include "procmgr/agent/agent_db.h"
#include "procmgr/agent/agent_energy.h"
#include "procmgr/agent/agent_hardware.h"
#include "procmgr/agent/agent_incarnation.h"
#include "procmgr/agent/agent_inventory.h"
#include "procmgr/agent/agent_launcher.h"
#include "procmgr/agent/agent_lease.h"
#include "procmgr/agent/agent_node.h"
#include "procmgr/agent/agent_order.h"
#include "procmgr/agent/agent_report.h"
#include "procmgr/agent/agent_sample.h"
#include "procmgr/agent/agent_substep.h"
#include "procmgr/record/restart_facts.h"

/* Prefix of a NOTIFY channel; the node's id follows. On it, internal.sample_poll asks the agent for samples of resource use. */
static const char watch_channel[] = "rota_look_";

enum { TICK_S = 1, ASK_TICKS = 5, QUIET_TICKS = 6, STOP_S = 2, CACHE_S = 600, CACHE_UNUSED_S = 3600 };

static const int64_t cache_most = 256LL * 1024 * 1024;

struct agent {
	struct agent_context context;
	struct agent_order_watcher watcher;
	struct agent_orders *orders;
	struct agent_samples *samples;
	struct agent_energy *energy;
	struct agent_report *report;
	struct agent_substeps *substeps;
	struct agent_incarnation *incarnation;
	struct agent_clock clock;
	json_t *restart; /* properties of the node that checkpoint images need (restart_facts); NULL: not read yet */
	bool is_registering;
	bool is_unknown; /* a missing node in the database has been logged */
	int quiet_ticks; /* ticks in a row with nothing to do */
	int64_t cache_evicted_at;
	struct event *tick_timer, *lease_timer, *stop_timer;
};

/* Log the failure of a database call whose result is not needed. `arg` is the name of the called function. */
static void log_failure(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	if (!result)
		log_warning("the database call %s failed: %s", (const char *)arg, e->message);
}

static void register_daemon(struct agent *a)
{
	const struct agent_context *c = &a->context;
	char *pid = xasprintf("%ld", (long)getpid());
	const struct db_param params[] = {{"procmgrd", -1}, {c->node, -1}, {pid, -1}, {agent_version(c->conf), -1}};
	db_call(c->db, API_daemon_register, params, 4, log_failure, (void *)"daemon_register");
	free(pid);
}

/* A database call that extends the lease, with the time when the call was sent. */
struct lease_call {
	struct agent *agent;
	int64_t sent;
};

static struct lease_call *lease_call_new(struct agent *a)
{
	struct lease_call *call = xmalloc(sizeof *call);
	*call = (struct lease_call){a, clock_boot_us()};
	return call;
}

/* Free the lease call that has been answered, and compare the node's clock with the database's. Returns the agent of the call. */
static struct agent *lease_call_end(void *arg, const PGresult *result, int64_t *sent)
{
	struct lease_call *call = arg;
	struct agent *a = call->agent;
	*sent = call->sent;
	if (result && PQntuples(result) > 0)
		agent_clock_compare(&a->clock, *sent, clock_boot_us(), strtoll(agent_db_text(result, 0, "server_us"), NULL, 10));
	free(call);
	return a;
}

/* Start the timer that ticks every second, until the node has had nothing to do for some ticks. */
static void start_ticks(struct agent *a)
{
	struct timeval period = {TICK_S, 0};
	a->quiet_ticks = 0;
	if (!event_pending(a->tick_timer, EV_TIMEOUT, NULL))
		event_add(a->tick_timer, &period);
}

static void listen_channels(struct agent *a)
{
	char channel[64];
	long long id = agent_node_first_id(a->context.nodes);
	snprintf(channel, sizeof channel, "rota_node_%lld", id);
	db_listen(a->context.db, channel);
	snprintf(channel, sizeof channel, "%s%lld", watch_channel, id);
	db_listen(a->context.db, channel);
}

static void handle_registered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	int64_t sent;
	struct agent *a = lease_call_end(arg, result, &sent);
	const struct agent_context *c = &a->context;
	a->is_registering = false;
	if (!result) {
		log_warning("could not register node \"%s\" in the database: %s", c->node, e->message);
		return;
	}
	if (PQntuples(result) == 0) {
		if (!a->is_unknown)
			log_warning("the database has no node \"%s\"; run \"rota admin node create\", or correct the name",
				    c->node);
		a->is_unknown = true;
		return;
	}
	a->is_unknown = false;
	int before = agent_node_count(c->nodes);
	agent_lease_grant(c->lease, sent);
	agent_report_registered(a->report, sent, strtoll(agent_db_text(result, 0, "server_us"), NULL, 10));
	/* the database may have ended attempts of unsent orders when an earlier lease ran out */
	agent_order_drop_waiting(a->orders);
	agent_node_set(c->nodes, result);
	listen_channels(a);
	if (agent_node_count(c->nodes) > before && c->conf->launcher_virtual > 0)
		log_info("%d virtual nodes are registered", agent_node_count(c->nodes));
	else if (before == 0)
		log_info("node \"%s\" is registered", c->node);
	agent_order_ask(a->orders);
	agent_sample_registered(a->samples);
	start_ticks(a);
}

/* Read the facts that checkpoint images need, once, and again while DMTCP or CRIU does not print its version. */
static void find_restart_facts(struct agent *a)
{
	const char *dmtcp = a->context.conf->node_checkpoint_dmtcp, *criu = a->context.conf->node_checkpoint_criu;
	if (a->restart && !restart_facts_lacking(a->restart, dmtcp, criu))
		return;
	json_decref(a->restart);
	a->restart = restart_facts(dmtcp, criu);
	const char *lacking = restart_facts_lacking(a->restart, dmtcp, criu);
	if (lacking)
		log_warning("\"%s --version\" failed (node.checkpoint_%s); this node restores none of its images until it "
			    "registers again",
			    lacking, *lacking == 'd' ? "dmtcp" : "criu");
}

/* Does launcher.device_files name the files of GPUs? */
static bool has_gpu_files(const char *files)
{
	for (const char *at = files; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strncmp(at, "gpu:", 4) == 0)
			return true;
	return false;
}

static json_t *node_facts(struct agent *a)
{
	const struct agent_context *c = &a->context;
	json_t *facts = agent_hardware_facts(c->conf, c->node), *node = json_array_get(json_object_get(facts, "nodes"), 0);
	if (c->conf->launcher_virtual > 0) {
		agent_node_add_virtual(c->nodes, facts);
		return facts;
	}
	find_restart_facts(a);
	json_object_set(json_object_get(node, "found"), "restart", a->restart);
	/* this procmgrd can hold steps that are sent ahead */
	json_object_set_new(json_object_get(node, "found"), "ahead", json_true());
	/* suspended steps of this node can give their GPUs back */
	json_object_set_new(json_object_get(node, "found"), "gives_gpus",
			    json_boolean(*c->conf->node_checkpoint_cuda && has_gpu_files(c->conf->launcher_device_files)));
	json_object_set_new(node, "margin_s", json_integer(c->conf->node_lease_margin));
	agent_inventory_add(a->report, node);
	return facts;
}

static void register_nodes(struct agent *a)
{
	if (!agent_incarnation_is_known(a->incarnation))
		agent_incarnation_ask(a->incarnation);
	if (a->is_registering || !agent_incarnation_is_known(a->incarnation))
		return;
	json_t *facts = node_facts(a);
	char *text = json_dumps(facts, JSON_COMPACT);
	const struct db_param params[] = {{text, -1}};
	a->is_registering = true;
	db_call(a->context.db, API_node_register, params, 1, handle_registered, lease_call_new(a));
	free(text);
	json_decref(facts);
}

static void handle_incarnation_known(void *arg)
{
	register_nodes(arg);
}

static void handle_connected(struct db *db, void *arg)
{
	(void)db;
	struct agent *a = arg;
	register_daemon(a);
	register_nodes(a);
}

static void handle_disconnected(struct db *db, const struct err *e, void *arg)
{
	(void)db;
	struct agent *a = arg;
	log_warning("no connection to the database: %s", e->message);
	agent_node_clear(a->context.nodes);
	agent_incarnation_disconnected(a->incarnation);
	agent_order_disconnected(a->orders);
	agent_report_disconnected(a->report);
	if (a->context.stopping)
		event_base_loopbreak(a->context.base);
}

static void handle_notification(struct db *db, const char *channel, void *arg)
{
	(void)db;
	struct agent *a = arg;
	if (strncmp(channel, watch_channel, sizeof watch_channel - 1) == 0) {
		agent_sample_watch(a->samples);
		return;
	}
	agent_order_ask(a->orders);
	agent_credential_ask(agent_order_credentials(a->orders));
	start_ticks(a);
}

static void handle_renewed(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	int64_t sent;
	struct agent *a = lease_call_end(arg, result, &sent);
	const struct agent_nodes *nodes = a->context.nodes;
	if (!result)
		log_warning("could not renew the lease of node \"%s\": %s", a->context.node, e->message);
	else if (PQntuples(result) < agent_node_count(nodes) || !agent_node_has_all(nodes))
		register_nodes(a);
	else
		agent_lease_grant(a->context.lease, sent);
}

/* Do everything that a notification or a growing journal causes, even if no event came. */
static void poll_all(struct agent *a)
{
	const struct agent_nodes *nodes = a->context.nodes;
	int64_t now = clock_boot_us() / 1000000;
	if (now - a->cache_evicted_at >= CACHE_S) {
		a->cache_evicted_at = now;
		agent_cache_evict(cache_most, CACHE_UNUSED_S);
	}
	if (agent_node_orphans(nodes) > 0 && agent_node_count(nodes) > 0)
		register_nodes(a);
	agent_order_poll(a->orders);
	agent_credential_poll(agent_order_credentials(a->orders));
	agent_report_poll(a->report);
	agent_substep_poll(a->substeps);
}

/* Has the node nothing to do while inotify watches the journal? The lease timer then polls often enough. */
static bool is_quiet(const struct agent *a)
{
	const struct agent_nodes *nodes = a->context.nodes;
	return agent_report_is_idle(a->report) && agent_substep_is_idle(a->substeps) && agent_node_count(nodes) > 0 &&
	       agent_order_has_all(a->orders) && agent_order_count(a->orders) == 0 &&
	       agent_credential_is_idle(agent_order_credentials(a->orders)) && agent_node_orphans(nodes) == 0;
}

static void handle_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent *a = arg;
	a->quiet_ticks = is_quiet(a) ? a->quiet_ticks + 1 : 0;
	if (clock_boot_us() / 1000000 % ASK_TICKS == 0) {
		/* Register at intervals too, since no notification reports that the node was added to the database. */
		if (agent_node_count(a->context.nodes) == 0 && db_is_up(a->context.db))
			register_nodes(a);
		agent_order_ask(a->orders);
		agent_credential_ask(agent_order_credentials(a->orders));
	}
	poll_all(a);
	if (a->quiet_ticks >= QUIET_TICKS)
		event_del(a->tick_timer);
}

static void renew_lease(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent *a = arg;
	const struct agent_context *c = &a->context;
	agent_report_truncate(a->report);
	if (!db_is_up(c->db))
		return;
	if (agent_node_count(c->nodes) == 0) {
		register_nodes(a);
		return;
	}
	struct db_array *nodes = agent_node_array(c->nodes);
	const struct db_param params[] = {{db_array_literal(nodes), -1}};
	db_call(c->db, API_node_renew, params, 1, handle_renewed, lease_call_new(a));
	db_array_free(nodes);
	agent_order_ask(a->orders);
	agent_credential_ask(agent_order_credentials(a->orders));
	poll_all(a);
}

static void stop_now(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(((struct agent *)arg)->context.base);
}

/* The handler of SIGTERM: report the rest of the journal, but end procmgrd after STOP_S seconds at most. */
static void agent_stop(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent *a = arg;
	struct timeval most = {STOP_S, 0};
	a->context.stopping = true;
	if (!db_is_up(a->context.db) || agent_node_count(a->context.nodes) == 0) {
		event_base_loopbreak(a->context.base);
		return;
	}
	event_add(a->stop_timer, &most);
	agent_report_finish(a->report);
}

static void handle_launcher_answer(int64_t id, bool taken, void *arg)
{
	struct agent *a = arg;
	agent_order_answered(a->orders, id, taken);
}

static void handle_orders_received(void *arg)
{
	struct agent *a = arg;
	agent_report_poll(a->report);
}

static void handle_orders_polled(void *arg)
{
	struct agent *a = arg;
	agent_report_watch(a->report);
}

static void handle_order_done(int64_t usec, void *arg)
{
	struct agent *a = arg;
	agent_report_within(a->report, usec);
}

static void handle_order_accepted(const struct agent_order *o, const struct record_key *key, void *arg)
{
	struct agent *a = arg;
	agent_sample_expect(a->samples, o, key);
	agent_energy_begin(a->energy);
}

static struct event *start_timer(struct agent *a, int seconds, event_callback_fn call)
{
	struct timeval period = {seconds, 0};
	struct event *timer = event_new(a->context.base, -1, EV_PERSIST, call, a);
	event_add(timer, &period);
	return timer;
}

static bool enter_folder(const struct agent_context *c, struct err *e)
{
	char *dir = xasprintf("%s/%s", c->conf->node_state, c->node);
	bool entered = chdir(dir) == 0 || err_sys(e, "could not enter folder \"%s\"", dir);
	free(dir);
	return entered;
}

static void open_database(struct agent *a, const struct db_watcher *watcher)
{
	static const char *const channels[] = {NULL};
	struct agent_context *c = &a->context;
	char *name = xasprintf("procmgrd %s", c->node);
	db_seen_keep("seen/incarnation", true);
	char *conninfo = db_conninfo_node(c->conf, *c->conf->node_login ? c->conf->node_login : c->node, name);
	c->db = db_open(c->base, conninfo, API_NODE, channels, watcher);
	free(conninfo);
	free(name);
}

static bool open_all(struct agent *a, int launcher_fd, const struct db_watcher *watcher, struct err *e)
{
	struct agent_context *c = &a->context;
	if (!enter_folder(c, e) || !(c->launcher = agent_launcher_new(c->base, launcher_fd, handle_launcher_answer, a, e)))
		return false;
	a->watcher = (struct agent_order_watcher){handle_orders_received, handle_orders_polled, handle_order_done,
						  handle_order_accepted, a};
	c->nodes = agent_node_new(c->conf, c->node);
	c->lease = agent_lease_new(c->conf);
	a->orders = agent_order_new(c, &a->watcher);
	a->samples = agent_sample_new(c);
	a->energy = agent_energy_new(c);
	c->clock = &a->clock;
	a->report = agent_report_new(c, a->orders, a->samples, a->energy);
	if (!agent_report_open(a->report, e))
		return false;
	a->substeps = agent_substep_new(c);
	a->incarnation = agent_incarnation_new(c, a->orders, handle_incarnation_known, a);
	agent_cache_open();
	int third = c->conf->node_lease / 3;
	a->tick_timer = start_timer(a, TICK_S, handle_tick);
	a->lease_timer = start_timer(a, third > 0 ? third : 1, renew_lease);
	a->stop_timer = evtimer_new(c->base, stop_now, a);
	open_database(a, watcher);
	return true;
}

static void close_all(struct agent *a)
{
	struct event *const timers[] = {a->tick_timer, a->lease_timer, a->stop_timer};
	if (a->context.db)
		db_close(a->context.db);
	json_decref(a->restart);
	agent_report_free(a->report);
	agent_substep_free(a->substeps);
	agent_incarnation_free(a->incarnation);
	agent_sample_free(a->samples);
	agent_energy_free(a->energy);
	agent_order_free(a->orders);
	agent_lease_free(a->context.lease);
	agent_node_free(a->context.nodes);
	agent_launcher_free(a->context.launcher);
	for (size_t i = 0; i < sizeof timers / sizeof *timers; i++)
		if (timers[i])
			event_free(timers[i]);
}

bool agent_run(const struct conf *conf, const char *node, int launcher_fd, struct err *e)
{
	struct agent a = {.context = {.conf = conf, .node = node, .base = event_base_new()}};
	const struct db_watcher watcher = {handle_connected, handle_disconnected, handle_notification, &a};
	if (!a.context.base)
		return err_set(e, "could not make an event loop; raise the limit of open files (ulimit -n)");
	struct event *term = evsignal_new(a.context.base, SIGTERM, agent_stop, &a);
	event_add(term, NULL);
	bool opened = open_all(&a, launcher_fd, &watcher, e);
	if (opened)
		event_base_dispatch(a.context.base);
	close_all(&a);
	event_free(term);
	event_base_free(a.context.base);
	return opened;
}
