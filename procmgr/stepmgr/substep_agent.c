/* substep_agent.c - the connection of an agent to its step manager (substep_agent.h).
 *
 * Called by: stepmgr.c at its start, and the event loop. Invariants: an agent connects again as long as it runs. A step manager
 * that was killed listens at the same port again. If it cannot, it calls its agents anew, and the keeper starts this process
 * again with the new call. */
#include "procmgr/stepmgr/substep_agent.h"

#include <event2/bufferevent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procmgr/stepmgr/substep_bridge.h"
#include "procmgr/stepmgr/substep_client.h"
#include "procmgr/stepmgr/substep_link.h"
#include "procmgr/stepmgr/substep_relay.h"

enum { AGAIN_USEC = 200000, HOST_SIZE = 256, GROWTH_SIZE = 64 };

static struct {
	struct event_base *base;
	char host[HOST_SIZE];
	int port;
	struct substep_link_key key;
	char *name; /* name of this node in the connection to the step manager */
	struct event *again;
} agent;

static void connect_later(void)
{
	static const struct timeval pause = {.tv_usec = AGAIN_USEC};
	event_add(agent.again, &pause);
}

static void connecting(struct bufferevent *stream, short what, void *arg)
{
	(void)arg;
	if (what & BEV_EVENT_CONNECTED) {
		substep_client_take_head(stream, connect_later);
		return;
	}
	bufferevent_free(stream);
	connect_later();
}

static void connect_now(evutil_socket_t fd, short what, void *arg)
{
	struct err e;
	(void)fd;
	(void)what;
	(void)arg;
	struct bufferevent *stream = substep_link_connect(agent.base, agent.host, agent.port, agent.name, &agent.key, &e);
	if (!stream) {
		connect_later();
		return;
	}
	bufferevent_setcb(stream, NULL, NULL, connecting, NULL);
	bufferevent_enable(stream, EV_READ | EV_WRITE);
}

static struct bufferevent *connect_view(int64_t number)
{
	struct err e;
	char *name = substep_link_view(agent.name, number);
	struct bufferevent *stream = substep_link_connect(agent.base, agent.host, agent.port, name, &agent.key, &e);
	free(name);
	return stream;
}

bool substep_agent_open(struct event_base *base)
{
	const char *head = getenv("ROTA_STEP_HEAD");
	char growth[GROWTH_SIZE] = "-"; /* attempt of the growth that this node belongs to; "-": none */
	if (!head || sscanf(head, "%255s %d %64s %63s", agent.host, &agent.port, agent.key.digits, growth) < 3)
		return false;
	agent.name = strcmp(growth, "-") == 0 ? xstrdup(getenv("ROTA_NODE")) : xasprintf("%s/%s", getenv("ROTA_NODE"), growth);
	unsetenv("ROTA_STEP_HEAD");
	agent.base = base;
	agent.again = evtimer_new(base, connect_now, NULL);
	substep_bridge_use(base, connect_view);
	connect_now(-1, 0, NULL);
	return true;
}

void substep_agent_relay(struct bufferevent *stream)
{
	struct err e;
	char *name = substep_link_client(agent.name);
	struct bufferevent *head = substep_link_connect(agent.base, agent.host, agent.port, name, &agent.key, &e);
	free(name);
	if (head)
		substep_relay_begin(stream, head);
	else
		bufferevent_free(stream); /* the program connects again */
}
