/* gate_quota.c - the quota of each client: connections, requests, bytes.
 *
 * Called by: gate_connection.c for connections; gate_dispatch.c and gate_call.c for requests.
 * Invariants:
 * - A client without a valid credential has few connections. A user of this host who has sent a valid credential in the last hour may
 *   have as many connections as any user, from the first byte on.
 * - Some connections are reserved for root, and more of them for known clients and root.
 * - A request counts until it has ended, even if its client hangs up.
 * - Requests of all clients may have GATE_QUOTAS times the bytes of one client; small requests are accepted beyond that. */
#include "jobmgr/gate/gate_quota.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "jobmgr/gate/gate_answer.h"
#include "lib/clock.h"
#include "lib/socket_peer.h"

enum {
	QUOTA_KNOWN = 3600 * 1000, /* milliseconds for which a client is known after a valid credential */
	QUOTA_MOST = 4000,	   /* number of quotas above which the oldest known clients are dropped */
	ROOT_PART = 32,		   /* one in so many connections is reserved for root */
	KNOWN_PART = 4		   /* one in so many connections is reserved for known clients and root */
};

struct gate_quotas {
	const struct conf *conf;
	TAILQ_HEAD(quota_list, gate_quota) list;
	unsigned count, bound;
	size_t most, request_bytes;
};

struct gate_quotas *gate_quotas_new(const struct conf *conf, unsigned bound, size_t most)
{
	struct gate_quotas *all = xcalloc(1, sizeof *all);

	TAILQ_INIT(&all->list);
	all->conf = conf;
	all->bound = bound;
	all->most = most;
	return all;
}

void gate_quotas_free(struct gate_quotas *all)
{
	struct gate_quota *quota;

	while ((quota = TAILQ_FIRST(&all->list))) {
		TAILQ_REMOVE(&all->list, quota, link);
		free(quota);
	}
	free(all);
}

/* Set `name` to the name of the client at the other end of connection `fd`, and *uid to its user on this host, or -1. Returns
 * true if the client is an address. An IPv6 network of /64 is one client, since providers give each customer at least a /64. */
static bool quota_read_name(int fd, char name[GATE_QUOTA_NAME], uid_t *uid)
{
	struct sockaddr_storage address = {0};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&address;
	struct ucred who = {.uid = (uid_t)-1};
	socklen_t length = sizeof address;

	*uid = (uid_t)-1;
	if (getpeername(fd, (struct sockaddr *)&address, &length) == 0 && address.ss_family == AF_INET6) {
		if (!IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
			memset(in6->sin6_addr.s6_addr + 8, 0, 8);
		inet_ntop(AF_INET6, &in6->sin6_addr, name, GATE_QUOTA_NAME);
		return true;
	}
	if (address.ss_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, name, GATE_QUOTA_NAME);
		return true;
	}
	socket_peer_read(fd, &who);
	snprintf(name, GATE_QUOTA_NAME, "uid %d", (int)who.uid);
	*uid = who.uid;
	return false;
}

void gate_quota_drop_unused(struct gate_quota *quota)
{
	if (quota->connections > 0 || quota->requests > 0 || quota->known_until > clock_ms())
		return;
	TAILQ_REMOVE(&quota->all->list, quota, link);
	quota->all->count--;
	free(quota);
}

void gate_quotas_sweep(struct gate_quotas *all)
{
	struct gate_quota *quota, *before;

	for (quota = TAILQ_LAST(&all->list, quota_list); quota; quota = before) {
		before = TAILQ_PREV(quota, quota_list, link);
		if (all->count > QUOTA_MOST) /* too many quotas: drop known clients, from the oldest quota on */
			quota->known_until = 0;
		gate_quota_drop_unused(quota);
	}
}

static struct gate_quota *quota_find(struct gate_quotas *all, const char *name, bool is_remote, uid_t uid)
{
	struct gate_quota *quota;

	TAILQ_FOREACH (quota, &all->list, link) {
		if (strcmp(quota->name, name) == 0)
			return quota;
	}
	quota = xcalloc(1, sizeof *quota);
	quota->all = all;
	quota->is_remote = is_remote;
	quota->uid = uid;
	snprintf(quota->name, sizeof quota->name, "%s", name);
	TAILQ_INSERT_HEAD(&all->list, quota, link);
	all->count++;
	return quota;
}

struct gate_quota *gate_quota_find_peer(struct gate_quotas *all, int fd)
{
	char name[GATE_QUOTA_NAME] = "";
	uid_t uid;
	bool is_remote = quota_read_name(fd, name, &uid);

	return quota_find(all, name, is_remote, uid);
}

struct gate_quota *gate_quota_find_remote_user(struct gate_quotas *all, uid_t uid)
{
	char name[GATE_QUOTA_NAME];

	snprintf(name, sizeof name, "uid %u by HTTPS", (unsigned)uid);
	return quota_find(all, name, true, uid);
}

static bool quota_is_root(const struct gate_quota *quota)
{
	return !quota->is_remote && quota->uid == 0;
}

static bool quota_is_known(const struct gate_quota *quota)
{
	return quota->known_until > clock_ms();
}

void gate_quota_set_known(struct gate_quota *quota)
{
	quota->known_until = clock_ms() + QUOTA_KNOWN;
}

static unsigned count_choose_least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned gate_quota_bound(const struct gate_quota *quota)
{
	unsigned quarter = quota->all->bound / 4;

	if (quota_is_root(quota))
		return quota->all->bound;
	return quota->uid == (uid_t)-1 ? quarter : count_choose_least(quarter, (unsigned)quota->all->conf->gate_user_connections);
}

unsigned gate_quota_unproven_bound(const struct gate_quota *quota)
{
	/* The kernel reports the user at the other end of the Unix socket, so a known user there needs no valid credential
	 * first. */
	if (quota_is_root(quota) || (!quota->is_remote && quota_is_known(quota)))
		return gate_quota_bound(quota);
	return count_choose_least(gate_quota_bound(quota), (unsigned)quota->all->conf->gate_unproven);
}

unsigned gate_quota_total_bound(const struct gate_quota *quota)
{
	unsigned bound = quota->all->bound, root = bound / ROOT_PART, known = bound / KNOWN_PART;

	return quota_is_root(quota) ? bound : quota_is_known(quota) ? bound - root : bound - root - known;
}

struct gate_quota *gate_quota_find_largest(const struct gate_quota *quota, bool remote)
{
	struct gate_quota *each, *largest = NULL;
	unsigned most = quota->connections + 1;

	TAILQ_FOREACH (each, &quota->all->list, link) {
		/* connections of a user by HTTPS are counted for their addresses, too */
		bool is_user = each->is_remote && each->uid != (uid_t)-1;

		if (each->connections <= most || is_user || quota_is_root(each) || (remote && !each->is_remote))
			continue;
		largest = each;
		most = each->connections;
	}
	return largest;
}

bool gate_quota_refuse(struct err *e)
{
	gate_refuse(e, "RT429", "too many requests or connections of this client are under way");
	return err_hint(e, "Nothing was done; try again when some of them have been answered.");
}

bool gate_quota_take(struct gate_quota *quota, size_t size, struct err *e)
{
	struct gate_quotas *all = quota->all;

	if (quota->requests >= gate_quota_bound(quota) || quota->request_bytes + size > all->most ||
	    (size > GATE_QUOTA_SMALL && all->request_bytes + size > GATE_QUOTAS * all->most))
		return gate_quota_refuse(e);
	quota->requests++;
	quota->request_bytes += size;
	all->request_bytes += size;
	return true;
}

void gate_quota_release(struct gate_quota *quota, size_t size)
{
	quota->requests--;
	quota->request_bytes -= size;
	quota->all->request_bytes -= size;
	gate_quota_drop_unused(quota);
}
