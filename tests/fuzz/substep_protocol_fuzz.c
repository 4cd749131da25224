/* substep_protocol_fuzz.c - the step protocol: the input is what a program of the job sends on a connection or, behind the byte HEAD, what
 * the step manager sends an agent. Sub-steps are queued, but no process is started (substep_stub.h). */
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "procmgr/stepmgr/substep_client.h"
#include "tests/fuzz/substep_stub.h"

enum { LOOPS = 4, HEAD = '@' };

static struct sockaddr_un address;
static socklen_t address_size = sizeof address;
static struct event_base *base;
static struct substep_engine *engine;

/* Serve at a socket whose name the kernel chooses. */
static void serve(void)
{
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	address.sun_family = AF_UNIX;
	if (bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 || listen(listener, 4) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &address_size) < 0)
		abort();
	base = event_base_new();
	engine = stub_engine(base, stub_file(), stub_file(), &substep_client_handlers);
	substep_client_serve(base, engine, listener, NULL);
}

/* Returns a connection to the engine as a program of the job. */
static int connect_program(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&address, address_size) < 0)
		abort();
	return fd;
}

static void head_gone(void)
{
}

/* Returns a connection to the engine, an agent, as its step manager. */
static int connect_head(void)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 || evutil_make_socket_nonblocking(ends[1]) < 0)
		abort();
	substep_client_take_head(bufferevent_socket_new(base, ends[1], BEV_OPT_CLOSE_ON_FREE), head_gone);
	return ends[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!base)
		serve();
	bool is_head = size > 0 && data[0] == HEAD;
	int fd = is_head ? connect_head() : connect_program();
	if (send(fd, data + is_head, size - is_head, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && size > 0)
		abort();
	for (int i = 0; i < LOOPS; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	close(fd);
	for (int i = 0; i < LOOPS; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	stub_reset(engine);
	return 0;
}
