/* gate_hosts.c - a list of addresses and networks, as in gate.admin_hosts.
 *
 * Called by: gate_admin.c; gate_relay.c.
 * Invariants:
 * - All addresses are stored as IPv6. 10.0.0.5 is ::ffff:10.0.0.5, as at a socket that accepts IPv4 and IPv6. */
#include "jobmgr/gate/gate_hosts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { IPV4_BITS = 32, IPV6_BITS = 128 };

/* A network: the hosts whose addresses begin with the same `bits` bits as `address`. */
struct network {
	struct in6_addr address;
	int bits;
};

struct gate_hosts {
	size_t count;
	struct network *networks;
};

static struct in6_addr address_map(struct in_addr address)
{
	struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	memcpy(mapped.s6_addr + 12, &address, sizeof address);
	return mapped;
}

static bool address_begins(const struct in6_addr *address, const struct network *network)
{
	int bytes = network->bits / 8, mask = 0xff00 >> network->bits % 8 & 0xff;

	return memcmp(address, &network->address, (size_t)bytes) == 0 &&
	       (!mask || ((address->s6_addr[bytes] ^ network->address.s6_addr[bytes]) & mask) == 0);
}

/* Read the number of bits of a network, at most `most`. Returns -1 if the text is not such a number. */
static int bits_read(const char *text, int most)
{
	size_t length = strlen(text);

	if (length < 1 || length > 3 || strspn(text, "0123456789") != length || atoi(text) > most)
		return -1;
	return atoi(text);
}

/* Read "ADDRESS" or "ADDRESS/BITS". The slash in `text` is overwritten. */
static bool network_read(char *text, struct network *network)
{
	char *slash = strchr(text, '/');
	struct in_addr ipv4;
	int most = strchr(text, ':') ? IPV6_BITS : IPV4_BITS;

	if (slash)
		*slash = '\0';
	if (most == IPV6_BITS ? inet_pton(AF_INET6, text, &network->address) != 1 : inet_pton(AF_INET, text, &ipv4) != 1)
		return false;
	if (most == IPV4_BITS)
		network->address = address_map(ipv4);
	network->bits = slash ? bits_read(slash + 1, most) : most;
	if (network->bits < 0)
		return false;
	network->bits += IPV6_BITS - most;
	return true;
}

struct gate_hosts *gate_hosts_new(const char *text, struct err *e)
{
	struct gate_hosts *hosts = xcalloc(1, sizeof *hosts);
	char *copy = xstrdup(text), *rest = copy, *item;
	bool good = true;

	while (good && (item = strsep(&rest, ", \t"))) {
		char *given;

		if (!*item)
			continue;
		given = xstrdup(item);
		hosts->networks = xrealloc(hosts->networks, (hosts->count + 1) * sizeof *hosts->networks);
		good = network_read(item, &hosts->networks[hosts->count++]) ||
		       err_set(e, "\"%.80s\" is neither an address nor a network", given);
		free(given);
	}
	free(copy);
	if (good)
		return hosts;
	gate_hosts_free(hosts);
	return NULL;
}

void gate_hosts_free(struct gate_hosts *hosts)
{
	if (!hosts)
		return;
	free(hosts->networks);
	free(hosts);
}

bool gate_hosts_are_none(const struct gate_hosts *hosts)
{
	return hosts->count == 0;
}

bool gate_hosts_have_address(const struct gate_hosts *hosts, const struct sockaddr *host)
{
	struct in6_addr address;

	if (host->sa_family == AF_INET)
		address = address_map(((const struct sockaddr_in *)host)->sin_addr);
	else if (host->sa_family == AF_INET6)
		address = ((const struct sockaddr_in6 *)host)->sin6_addr;
	else
		return false;
	for (size_t i = 0; i < hosts->count; i++) {
		if (address_begins(&address, &hosts->networks[i]))
			return true;
	}
	return false;
}

bool gate_hosts_have(const struct gate_hosts *hosts, int fd)
{
	struct sockaddr_storage peer = {0};
	socklen_t size = sizeof peer;

	return getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
	       gate_hosts_have_address(hosts, (const struct sockaddr *)&peer);
}
