/* substep_journal_fuzz.c - recovery of a step manager: the input is the journal. Processes that it names are looked at, and none is
 * started or signalled (substep_stub.h). */
#include <signal.h>
#include <stdint.h>

#include "procmgr/stepmgr/substep_usage.h"
#include "tests/fuzz/substep_stub.h"

static void no_substep(struct substep *s)
{
	(void)s;
}

static void nothing(void)
{
}

static void no_stream(struct bufferevent *stream)
{
	(void)stream;
}

static const struct substep_handlers handlers = {.waits = no_substep,
						 .started = no_substep,
						 .ended = no_substep,
						 .output = no_substep,
						 .connected = no_stream,
						 .drained = nothing,
						 .input = no_substep};

static void free_engine(struct substep_engine *m)
{
	stub_reset(m);
	event_free(m->schedule);
	event_free(m->room);
	event_free(m->children);
	event_free(m->term);
	close(m->null);
	substep_pool_free(m->pool);
	substep_events_free(m->events);
	substep_usage_free(m->usage);
	substep_nodes_free(m->nodes);
	json_decref(m->keys);
	free(m->all);
	free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char ends[] = "7 7 0 0 0 0 0 0 0 0\n8 8 256 1 1 1 1 1 1 1\n9 9 9 1 1 1 1 1 1 1\n";
	struct event_base *base = event_base_new();
	int journal = stub_file(), orphans = stub_file();
	struct substep_engine *m = stub_engine(base, journal, orphans, &handlers);
	if (write(journal, data, size) != (ssize_t)size || write(orphans, ends, sizeof ends - 1) < 0)
		abort();
	substep_recovery_run(m);
	event_base_loop(base, EVLOOP_NONBLOCK);
	event_base_loop(base, EVLOOP_NONBLOCK);
	free_engine(m);
	event_base_free(base);
	close(journal);
	close(orphans);
	return 0;
}
