/* terminal_fuzz.c - libFuzzer on what a terminal takes: output of programs into the screen, frames of clients. No input harms it, and
 * what the screen restores can be taken by another one. */
#include <event2/event.h>
#include <fcntl.h>
#include <locale.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "procmgr/terminal/screen.h"
#include "procmgr/terminal/viewer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct screen *screen;

static bool take_input(const char *bytes, size_t size)
{
	(void)bytes;
	return size < 1000;
}

static void take_size(int rows, int cols)
{
	screen_resize(screen, rows % 50, cols % 100);
}

static void no_room(void)
{
}

/* Frames, as a client sends them. */
static void run_frames(struct event_base *base, const char *bytes, size_t size)
{
	static const struct viewer_handlers handlers = {take_input, take_size, no_room};
	struct viewer_set *set = viewer_set_new(base, &handlers);
	int ends[2];
	viewer_set_screen(set, screen);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0)
		return;
	viewer_add(set, ends[0]);
	if (write(ends[1], bytes, size) >= 0)
		event_base_loop(base, EVLOOP_NONBLOCK);
	close(ends[1]);
	viewer_resume_input(set);
	for (int i = 0; i < 10 && viewer_any(set); i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	viewer_set_free(set);
}

/* The first byte is the number of bytes of output; frames follow them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct event_base *base;
	if (!base) {
		setlocale(LC_CTYPE, "C.UTF-8");
		base = event_base_new();
	}
	if (size == 0)
		return 0;
	size_t output = data[0] < size - 1 ? data[0] : size - 1;
	screen = screen_new(10, 20, NULL);
	screen_feed(screen, (const char *)data + 1, output);
	struct evbuffer *out = evbuffer_new();
	struct screen *other = screen_new(10, 20, NULL);
	screen_restore(screen, out);
	size_t length = evbuffer_get_length(out);
	screen_feed(other, (const char *)evbuffer_pullup(out, -1), length);
	run_frames(base, (const char *)data + 1 + output, size - 1 - output);
	evbuffer_free(out);
	screen_free(other);
	screen_free(screen);
	return 0;
}
