/* loop.c - the event loop of nodemgrd and runnerd. These daemons have no state to save, so SIGTERM or SIGINT ends them at once.
 *
 * Called by: nodemgrd and runnerd, after the change of user and the lock of the pid file. */
#include "lib/loop.h"

#include <signal.h>

#include "lib/db_seen.h"
#include "lib/log.h"

static void loop_end(evutil_socket_t number, short what, void *arg)
{
	(void)what;
	log_info("ending on signal %d", (int)number);
	event_base_loopbreak(arg);
}

bool loop_serve(const struct loop_part *part, const char *program, const struct conf *conf, const char *name, struct err *e)
{
	struct event_base *base = event_base_new();
	struct event *term, *interrupt;
	void *opened;

	if (!base)
		return err_set(e, "could not make an event loop; raise the limit of open files (ulimit -n)");
	db_seen_keep_account(conf);
	opened = part->open(base, conf, name);
	term = evsignal_new(base, SIGTERM, loop_end, base);
	interrupt = evsignal_new(base, SIGINT, loop_end, base);
	evsignal_add(term, NULL);
	evsignal_add(interrupt, NULL);
	log_info("%s %s \"%s\" started", program, ROTA_VERSION, name);
	event_base_dispatch(base);
	part->close(opened);
	event_free(term);
	event_free(interrupt);
	event_base_free(base);
	return true;
}
