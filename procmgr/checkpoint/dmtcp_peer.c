/* dmtcp_peer.c - finds the user at the other end of a TCP connection on this machine, by the kernel's socket diagnosis
 * (sock_diag(7)).
 *
 * Called by: dmtcp_guard.c, rota-link.c.
 * Invariants:
 * - Only a connection that is established has an owner: the kernel shows user 0 for one that its owner has closed. */
#include "procmgr/checkpoint/dmtcp_peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Ask the kernel for the socket at the other end: the one whose own address is `peer`, and whose peer is `own`. Returns false if
 * that fails. */
static bool peer_ask(int link, const struct sockaddr_in *peer, const struct sockaddr_in *own)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 ask;
	} message = {
		.head = {.nlmsg_len = sizeof message, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
		.ask = {.sdiag_family = AF_INET,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = ~0U,
			.id = {.idiag_sport = peer->sin_port,
			       .idiag_dport = own->sin_port,
			       .idiag_src = {peer->sin_addr.s_addr},
			       .idiag_dst = {own->sin_addr.s_addr},
			       .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
	};
	return send(link, &message, sizeof message, 0) == (ssize_t)sizeof message;
}

static bool peer_answer_is_own(int link)
{
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	struct inet_diag_msg found;
	ssize_t size = recv(link, answer.bytes, sizeof answer.bytes, 0);
	if (size < (ssize_t)NLMSG_LENGTH(sizeof found) || answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return false;
	memcpy(&found, answer.bytes + NLMSG_HDRLEN, sizeof found);
	return found.idiag_state == TCP_ESTABLISHED && found.idiag_uid == getuid();
}

bool dmtcp_peer_is_own(int fd)
{
	struct sockaddr_in peer, own;
	socklen_t peer_size = sizeof peer, own_size = sizeof own;
	if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) < 0 || getsockname(fd, (struct sockaddr *)&own, &own_size) < 0)
		return false;
	int link = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	bool own_peer = link >= 0 && peer_ask(link, &peer, &own) && peer_answer_is_own(link);
	if (link >= 0)
		close(link);
	return own_peer;
}
