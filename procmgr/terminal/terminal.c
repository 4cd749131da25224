/* terminal.c - the loop of a terminal: output of the command to the screen and the clients, input and signals to the command.
 *
 * Called by: bin/rota-terminal.c, which the step manager starts as the task of a sub-step.
 * Invariants:
 * - The output of the command is read, unless a client that keeps up has not taken its queue yet (viewer.c): then the command
 *   waits for that client.
 * - A client that attaches within END_SECONDS of the command's start gets its screen, even if the command ended at once.
 * - At most INPUT_MOST bytes and one frame for each client wait for a command that does not read.
 * - Only the user of this process, and root, can attach. */
#include "procmgr/terminal/terminal.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/socket_peer.h"
#include "procmgr/terminal/pty.h"
#include "procmgr/terminal/viewer.h"

enum { INPUT_MOST = 1 << 20, READ_MOST = 65536, END_SECONDS = 2, BACKLOG = 64, ACTIVITY_SECONDS = 1 };

static const int forwarded[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM, SIGTSTP, SIGWINCH, SIGXCPU};
enum { FORWARDED = sizeof forwarded / sizeof *forwarded };

static struct {
	struct event_base *base;
	struct pty pty;
	struct screen *screen;
	struct viewer_set *viewers;
	struct evbuffer *input;
	struct event *readable, *writable;
	struct event *paced;	   /* timer: while it is pending, output of the program is not read */
	struct event *activity;	   /* timer: while it is pending, the clients have the times of the last ACTIVITY_SECONDS */
	int64_t key_at, output_at; /* clock_boot_us; 0: never */
	bool has_activity;	   /* key_at or output_at has changed since the clients were last sent both */
	int status;		   /* wait status of the command */
	int64_t started_at;	   /* clock_boot_us */
} terminal;

/* --- activity ------------------------------------------------------------------------------------------------------------------ */

static void send_activity(void)
{
	struct timeval pause = {ACTIVITY_SECONDS, 0};
	terminal.has_activity = false;
	viewer_send_activity(terminal.viewers, terminal.key_at, terminal.output_at);
	event_add(terminal.activity, &pause);
}

/* Set the time of the last key or output, *at, to now. Clients are sent the times at once, or ACTIVITY_SECONDS after the last
 * sending. */
static void note_activity(int64_t *at)
{
	*at = clock_boot_us();
	terminal.has_activity = true;
	if (!event_pending(terminal.activity, EV_TIMEOUT, NULL))
		send_activity();
}

static void activity_pending(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	if (terminal.has_activity)
		send_activity();
}

/* --- the command -------------------------------------------------------------------------------------------------------------- */

/* Read at most READ_MOST bytes of output of the command, and pass them to the screen and the clients. Returns their number. */
static size_t take_output(void)
{
	static char bytes[READ_MOST];
	size_t size = 0;
	while (size < sizeof bytes) {
		ssize_t got = read(terminal.pty.master, bytes + size, sizeof bytes - size);
		if (got > 0)
			size += (size_t)got;
		else if (got == 0 || errno != EINTR)
			break;
	}
	if (size > 0) {
		screen_feed(terminal.screen, bytes, size);
		viewer_send_live(terminal.viewers, bytes, size);
		note_activity(&terminal.output_at);
	}
	return size;
}

static void output_ready(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	take_output();
	int64_t pause = viewer_pace_usec(terminal.viewers);
	if (pause > 0) {
		struct timeval after = {.tv_usec = (suseconds_t)pause};
		event_del(terminal.readable);
		event_add(terminal.paced, &after);
	}
}

/* Called when a pause is over: reads output again. If a client lags after that, another pause may follow. */
static void output_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	event_add(terminal.readable, NULL);
}

static void clients_have_room(void)
{
	if (event_pending(terminal.paced, EV_TIMEOUT, NULL) && viewer_pace_usec(terminal.viewers) == 0) {
		event_del(terminal.paced);
		event_add(terminal.readable, NULL);
	}
}

static void write_input(void)
{
	while (evbuffer_get_length(terminal.input) > 0) {
		int sent = evbuffer_write_atmost(terminal.input, terminal.pty.master, 4096);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0) {
			event_add(terminal.writable, NULL);
			break;
		}
	}
}

static void input_ready(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	write_input();
	if (evbuffer_get_length(terminal.input) < INPUT_MOST / 2)
		viewer_resume_input(terminal.viewers);
}

/* --- requests of the clients and of the screen
 * -------------------------------------------------------------------------------- */

static bool add_input(const char *bytes, size_t size)
{
	evbuffer_add(terminal.input, bytes, size);
	write_input();
	return evbuffer_get_length(terminal.input) < INPUT_MOST;
}

static bool take_keys(const char *bytes, size_t size)
{
	note_activity(&terminal.key_at);
	return add_input(bytes, size);
}

static void set_size(int rows, int cols)
{
	int old_rows, old_cols;
	screen_clamp(&rows, &cols);
	screen_size(terminal.screen, &old_rows, &old_cols);
	if (rows == old_rows && cols == old_cols)
		return;
	take_output(); /* handle output that was written for the old size first */
	screen_resize(terminal.screen, rows, cols);
	pty_resize(&terminal.pty, rows, cols);
	viewer_send_screen(terminal.viewers);
}

/* Called with the answer of the screen to a query of the program. The answer is used only without a live client, whose own
 * terminal answers otherwise. */
static void screen_answered(const char *bytes, size_t size, void *arg)
{
	(void)arg;
	if (!viewer_any_live(terminal.viewers) && evbuffer_get_length(terminal.input) < INPUT_MOST)
		add_input(bytes, size);
}

static void line_ended(const char *text, size_t size, void *arg)
{
	(void)arg;
	viewer_send_line(terminal.viewers, text, size);
}

static void terminal_connected(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int size, void *arg)
{
	struct ucred peer;
	(void)listener, (void)address, (void)size, (void)arg;
	if (socket_peer_read(fd, &peer) && (peer.uid == geteuid() || peer.uid == 0))
		viewer_add(terminal.viewers, fd);
	else
		evutil_closesocket(fd);
}

/* --- start and end ------------------------------------------------------------------------------------------------------------ */

static void check_viewers(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	bool early = clock_boot_us() - terminal.started_at < END_SECONDS * INT64_C(1000000);
	if (!viewer_any(terminal.viewers) && (viewer_was_any(terminal.viewers) || !early))
		event_base_loopbreak(terminal.base);
}

/* Called when the command has ended: sends the clients the rest of its output, and waits until they have it. Early after the
 * start, waits for a first client too. */
static void command_ended(void)
{
	struct timeval most = {END_SECONDS, 0}, often = {0, 10000};
	for (int i = 0; i < 1024 && take_output() > 0; i++) /* a process of the command's session may write for ever */
		;
	event_del(terminal.readable);
	event_del(terminal.paced);
	event_del(terminal.writable);
	viewer_end(terminal.viewers);
	event_base_loopexit(terminal.base, &most);
	event_add(event_new(terminal.base, -1, EV_PERSIST, check_viewers, NULL), &often);
	check_viewers(-1, 0, NULL);
}

static void child_ended(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	if (terminal.pty.pid > 0 && waitpid(terminal.pty.pid, &terminal.status, WNOHANG) == terminal.pty.pid) {
		terminal.pty.pid = 0;
		command_ended();
	}
}

static void signal_came(evutil_socket_t number, short what, void *arg)
{
	(void)what, (void)arg;
	if (terminal.pty.pid > 0)
		pty_signal(&terminal.pty, number);
}

static bool listen_at(const char *name, struct err *e)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t size = strlen(name);
	if (size == 0 || size >= sizeof address.sun_path)
		return err_set(e, "the name of the socket must have 1 to %zu bytes", sizeof address.sun_path - 1);
	memcpy(address.sun_path + 1, name, size);
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
	unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC;
	if (!evconnlistener_new_bind(terminal.base, terminal_connected, NULL, flags, BACKLOG, (struct sockaddr *)&address,
				     (int)length))
		return err_sys(e, "could not listen at \"%s\"", name);
	return true;
}

static void watch_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < FORWARDED; i++)
		event_add(evsignal_new(terminal.base, forwarded[i], signal_came, NULL), NULL);
	event_add(evsignal_new(terminal.base, SIGCHLD, child_ended, NULL), NULL);
}

static void make_parts(int rows, int cols)
{
	static const struct viewer_handlers viewer_handlers = {take_keys, set_size, clients_have_room};
	static const struct screen_handlers screen_handlers = {screen_answered, line_ended, NULL};
	terminal.screen = screen_new(rows, cols, &screen_handlers);
	terminal.viewers = viewer_set_new(terminal.base, &viewer_handlers);
	viewer_set_screen(terminal.viewers, terminal.screen);
	terminal.activity = evtimer_new(terminal.base, activity_pending, NULL);
	terminal.input = evbuffer_new();
	terminal.readable = event_new(terminal.base, terminal.pty.master, EV_READ | EV_PERSIST, output_ready, NULL);
	terminal.paced = evtimer_new(terminal.base, output_again, NULL);
	terminal.writable = event_new(terminal.base, terminal.pty.master, EV_WRITE, input_ready, NULL);
	event_add(terminal.readable, NULL);
}

static int terminal_fail(const struct err *e, int code)
{
	fprintf(stderr, "rota-terminal: %s\n", e->message);
	return code;
}

int terminal_run(const struct terminal_options *options)
{
	struct err e;
	int failure, rows = options->rows, cols = options->cols;
	setlocale(LC_CTYPE, "C.UTF-8");
	setenv("TERM", "xterm-256color", 0);
	screen_clamp(&rows, &cols);
	terminal.base = event_base_new();
	if (!terminal.base)
		die("could not make an event loop");
	if (!listen_at(options->name, &e))
		return terminal_fail(&e, 1);
	watch_signals();
	terminal.started_at = clock_boot_us();
	if (!pty_start(&terminal.pty, options->argv, rows, cols, &failure, &e))
		return terminal_fail(&e, failure == 0 ? 1 : failure == ENOENT ? 127 : 126);
	make_parts(rows, cols);
	child_ended(-1, 0, NULL);
	event_base_dispatch(terminal.base);
	if (WIFSIGNALED(terminal.status)) {
		pty_end_by(WTERMSIG(terminal.status));
		return 128 + WTERMSIG(terminal.status);
	}
	return WEXITSTATUS(terminal.status);
}
