/* rota-credd.c - the main of rota-credd, which keeps credentials of users: one event loop.
 *
 * Called by: `rota up` or systemd.
 * Invariants:
 * - rota-credd is unprivileged, and the only process that has the keys of credentials. */
#include "credmgr/credd.h"
#include "lib/conf.h"
#include "lib/daemon.h"
#include "lib/db.h"
#include "lib/loop.h"

static const char usage[] =
	"usage: rota-credd [--config FILE] [--name NAME] [--verbose]\n\n"
	"The keeper of credentials: seals what users add with \"rota cred\", renews it while jobs need it, and\n"
	"seals it for the nodes on which they run.\n\n" DAEMON_NAME_OPTIONS;

static void *part_open(struct event_base *base, const struct conf *conf, const char *name)
{
	return credd_open(base, conf, name);
}

static void part_close(void *part)
{
	credd_close(part);
}

static const struct loop_part part = {part_open, part_close};

static bool credd_run(const struct conf *conf, const char *name, int launcher_fd, struct err *e)
{
	(void)launcher_fd;
	if (!*conf->credentials_keys)
		return err_set(e, "credentials.keys is empty in rota.conf, so this cluster holds no credentials");
	return db_conninfo_check(conf, e) && daemon_become(conf_credentials_account(conf), e) &&
	       daemon_lock_instance(conf, "rota-credd", name, e) && loop_serve(&part, "rota-credd", conf, name, e);
}

int main(int argc, char **argv)
{
	static const struct daemon_program program = {"rota-credd", usage, "name", credd_run};
	return daemon_main(&program, argc, argv);
}
