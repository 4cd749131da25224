/* agent.c - procmgrd: start, connection, bells and timers.
 *
 * bin/procmgrd.c calls agent_run; the launcher starts that program. What always holds: bell and timer do the same; nothing is
 * kept that a new start would not find again in the database or the journal. */
#include "procmgr/agent/agent.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/agent/agent_parts.h"

/* Of api.sample_look, with the node's number behind it. */
static const char look_channel[] = "rota_look_";

enum { TICK_S = 1, ASK_TICKS = 5, QUIET_TICKS = 6, STOP_S = 2, CACHE_S = 600, CACHE_UNUSED_S = 3600 };

static const int64_t cache_most = 256LL * 1024 * 1024;

/* A call whose answer matters only where it fails. */
static void plain(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	if (!result)
		log_warning("%s: %s", (const char *)arg, e->message);
}

static void introduce(struct agent *a)
{
	char *pid = xasprintf("%ld", (long)getpid());
	const struct db_param params[] = {{"procmgrd", -1}, {a->node, -1}, {pid, -1}, {agent_version(a->conf), -1}};
	db_call(a->db, API_daemon_register, params, 4, plain, (void *)"daemon_register");
	free(pid);
}

/* A question about the lease, with the time at which it was sent. */
struct asked {
	struct agent *agent;
	int64_t sent;
};

static struct asked *asked_now(struct agent *a)
{
	struct asked *asked = xmalloc(sizeof *asked);
	*asked = (struct asked){a, clock_boot_us()};
	return asked;
}

/* Take the answer's context apart. */
static struct agent *asked_take(void *arg, int64_t *sent)
{
	struct asked *asked = arg;
	struct agent *a = asked->agent;
	*sent = asked->sent;
	free(asked);
	return a;
}

/* Look each second from now on, for as long as there is something in hand. */
static void wake(struct agent *a)
{
	struct timeval period = {TICK_S, 0};
	a->quiet_ticks = 0;
	if (!event_pending(a->tick_timer, EV_TIMEOUT, NULL))
		event_add(a->tick_timer, &period);
}

/* node_register has answered: the nodes that the database knows. */
static void registered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	int64_t sent;
	struct agent *a = asked_take(arg, &sent);
	a->registering = false;
	if (!result) {
		log_warning("could not register node \"%s\": %s", a->node, e->message);
		return;
	}
	if (PQntuples(result) == 0) {
		if (!a->unknown)
			log_warning("the database has no node \"%s\"", a->node);
		a->unknown = true;
		return;
	}
	a->unknown = false;
	char channel[64];
	int before = a->node_count;
	agent_lease_granted(a, sent);
	agent_order_drop(a); /* some may have been given up with a lease before */
	agent_node_set(a, result);
	snprintf(channel, sizeof channel, "rota_node_%lld", (long long)agent_node_bell(a));
	db_listen(db, channel);
	snprintf(channel, sizeof channel, "%s%lld", look_channel, (long long)agent_node_bell(a));
	db_listen(db, channel);
	if (a->node_count > before && a->conf->launcher_virtual > 0)
		log_info("%d virtual nodes are registered", a->node_count);
	else if (before == 0)
		log_info("node \"%s\" is registered", a->node);
	agent_order_ask(a);
	agent_sample_registered(a);
	wake(a);
}

static void do_register(struct agent *a)
{
	if (a->registering)
		return;
	json_t *facts = agent_node_facts(a);
	char *text = json_dumps(facts, JSON_COMPACT);
	const struct db_param params[] = {{text, -1}};
	a->registering = true;
	db_call(a->db, API_node_register, params, 1, registered, asked_now(a));
	free(text);
	json_decref(facts);
}

static void up(struct db *db, void *arg)
{
	(void)db;
	struct agent *a = arg;
	introduce(a);
	do_register(a);
}

static void down(struct db *db, const struct err *e, void *arg)
{
	(void)db;
	struct agent *a = arg;
	log_warning("no database: %s", e->message);
	agent_node_clear(a);
	a->orders_known = a->orders_asked = a->orders_again = a->blobs_asked = false;
	agent_report_lost(a);
	if (a->stop)
		event_base_loopbreak(a->base);
}

static void bell(struct db *db, const char *channel, void *arg)
{
	(void)db;
	struct agent *a = arg;
	if (strncmp(channel, look_channel, sizeof look_channel - 1) == 0) {
		agent_sample_looked(a);
		return;
	}
	agent_order_ask(a);
	wake(a);
}

static void renewed(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	int64_t sent;
	struct agent *a = asked_take(arg, &sent);
	if (!result)
		log_warning("could not renew the lease: %s", e->message);
	else if (PQntuples(result) < a->node_count || !agent_node_all(a))
		do_register(a);
	else
		agent_lease_granted(a, sent);
}

/* Everything that a bell or a change of the journal does, whether or not they came. */
static void look(struct agent *a)
{
	int64_t now = clock_boot_us() / 1000000;
	if (now - a->cache_looked_at >= CACHE_S) {
		a->cache_looked_at = now;
		agent_cache_evict(cache_most, CACHE_UNUSED_S);
	}
	if (a->strays > 0 && a->node_count > 0)
		do_register(a);
	agent_order_work(a);
	agent_report_turn(a);
}

/* With nothing in hand, and the journal watched by the kernel, the lease's beat is often enough. */
static bool is_quiet(const struct agent *a)
{
	return a->watch && a->node_count > 0 && a->orders_known && a->order_count == 0 && a->strays == 0 && !a->reporting;
}

static void tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent *a = arg;
	a->quiet_ticks = is_quiet(a) ? a->quiet_ticks + 1 : 0;
	if (clock_boot_us() / 1000000 % ASK_TICKS == 0) {
		/* Nobody rings for a node that is not there yet. */
		if (a->node_count == 0 && db_is_up(a->db))
			do_register(a);
		agent_order_ask(a);
	}
	look(a);
	if (a->quiet_ticks >= QUIET_TICKS)
		event_del(a->tick_timer);
}

static void renew(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent *a = arg;
	agent_report_idle(a);
	if (!db_is_up(a->db))
		return;
	if (a->node_count == 0) {
		do_register(a);
		return;
	}
	struct db_array *nodes = agent_node_array(a);
	const struct db_param params[] = {{db_array_literal(nodes), -1}};
	db_call(a->db, API_node_renew, params, 1, renewed, asked_now(a));
	db_array_free(nodes);
	agent_order_ask(a);
	look(a);
}

static void stop_now(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(((struct agent *)arg)->base);
}

/* Say what is in the journal, for a moment at most, and go. */
static void stop(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent *a = arg;
	struct timeval most = {STOP_S, 0};
	a->stop = true;
	if (!db_is_up(a->db) || a->node_count == 0) {
		event_base_loopbreak(a->base);
		return;
	}
	event_add(a->stop_timer, &most);
	event_del(a->report_timer);
	agent_report_turn(a);
}

static struct event *every(struct agent *a, int seconds, event_callback_fn call)
{
	struct timeval period = {seconds, 0};
	struct event *timer = event_new(a->base, -1, EV_PERSIST, call, a);
	event_add(timer, &period);
	return timer;
}

static bool enter(const struct agent *a, struct err *e)
{
	char *dir = xasprintf("%s/%s", a->conf->node_state, a->node);
	bool entered = chdir(dir) == 0 || err_sys(e, "could not enter folder \"%s\"", dir);
	free(dir);
	return entered;
}

static bool open_all(struct agent *a, int launcher_fd, const struct db_watcher *watcher, struct err *e)
{
	static const char *const channels[] = {NULL};
	if (!enter(a, e) || !agent_launcher_open(a, launcher_fd, e) || !agent_report_open(a, e))
		return false;
	agent_cache_open();
	agent_lease_open(a);
	agent_sample_open(a);
	int third = a->conf->node_lease / 3;
	a->tick_timer = every(a, TICK_S, tick);
	a->lease_timer = every(a, third > 0 ? third : 1, renew);
	a->stop_timer = evtimer_new(a->base, stop_now, a);
	char *name = xasprintf("procmgrd %s", a->node);
	char *conninfo = db_conninfo(a->conf, "rota_node", name);
	a->db = db_open(a->base, conninfo, API_NODE, channels, watcher);
	free(conninfo);
	free(name);
	return true;
}

static void close_all(struct agent *a)
{
	struct event *const timers[] = {a->tick_timer, a->lease_timer, a->stop_timer};
	if (a->db)
		db_close(a->db);
	agent_sample_close(a);
	agent_report_close(a);
	agent_launcher_close(a);
	agent_order_free(a);
	agent_node_clear(a);
	for (size_t i = 0; i < sizeof timers / sizeof *timers; i++)
		if (timers[i])
			event_free(timers[i]);
}

bool agent_run(const struct conf *conf, const char *node, int launcher_fd, struct err *e)
{
	struct agent a = {.conf = conf, .node = node, .base = event_base_new()};
	const struct db_watcher watcher = {up, down, bell, &a};
	if (!a.base)
		return err_set(e, "could not make an event loop");
	struct event *term = evsignal_new(a.base, SIGTERM, stop, &a);
	event_add(term, NULL);
	bool opened = open_all(&a, launcher_fd, &watcher, e);
	if (opened)
		event_base_dispatch(a.base);
	close_all(&a);
	event_free(term);
	event_base_free(a.base);
	return opened;
}
