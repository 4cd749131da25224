/* nodemgrd.c - the main of the node manager: one event loop with the node manager on it.
 *
 * Called by: `rota up` or systemd.
 * Invariants:
 * - nodemgrd is unprivileged and stores nothing. SIGTERM ends nodemgrd at once. */
#include "lib/conf.h"
#include "lib/daemon.h"
#include "lib/db.h"
#include "lib/loop.h"
#include "nodemgr/nodemgr.h"

static const char usage[] = "usage: nodemgrd [--config FILE] [--name NAME] [--verbose]\n\n"
			    "The node manager: marks nodes as down when their leases run out, adds up usage, and makes the\n"
			    "next ranges of the job tables.\n\n" DAEMON_NAME_OPTIONS;

static void *part_open(struct event_base *base, const struct conf *conf, const char *name)
{
	return nodemgr_open(base, conf, name);
}

static void part_close(void *part)
{
	nodemgr_close(part);
}

static const struct loop_part part = {part_open, part_close};

static bool nodemgrd_run(const struct conf *conf, const char *name, int launcher_fd, struct err *e)
{
	(void)launcher_fd;
	return db_conninfo_check(conf, e) && daemon_become(conf->instance_account, e) &&
	       daemon_lock_instance(conf, "nodemgrd", name, e) && loop_serve(&part, "nodemgrd", conf, name, e);
}

int main(int argc, char **argv)
{
	static const struct daemon_program program = {"nodemgrd", usage, "name", nodemgrd_run};
	return daemon_main(&program, argc, argv);
}
