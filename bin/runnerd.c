/* runnerd.c - the main of the script runner: the supervisor process, and one event loop with the runner on it.
 *
 * Called by: `rota up` or systemd.
 * Invariants:
 * - runnerd is unprivileged and stores nothing. SIGTERM ends runnerd and its hooks at once. */
#include "lib/conf.h"
#include "lib/daemon.h"
#include "lib/db.h"
#include "lib/loop.h"
#include "lib/trust.h"
#include "runner/runner.h"
#include "runner/supervisor.h"

static const char usage[] =
	"usage: runnerd [--config FILE] [--name NAME] [--verbose]\n\n"
	"The script runner: runs the controller's prolog and epilog of each attempt of a step, sends mail about\n"
	"jobs, runs programs that power nodes, and calls functions of the site's Lua scripts.\n\n" DAEMON_NAME_OPTIONS;

static void *part_open(struct event_base *base, const struct conf *conf, const char *name)
{
	return runner_open(base, conf, name);
}

static void part_close(void *part)
{
	runner_close(part);
}

static const struct loop_part part = {part_open, part_close};

/* Verify, as the account of runnerd, that no other user can change the programs and scripts that runnerd runs. */
static bool check_programs(const struct conf *conf, struct err *e)
{
	const char *const paths[] = {conf->controller_prolog, conf->controller_epilog,	conf->mail_program,
				     conf->hooks_job_submit,  conf->hooks_burst_buffer, conf->hooks_power_off,
				     conf->hooks_power_on,    conf->hooks_reboot,	NULL};
	return trust_programs(paths, e);
}

static bool runnerd_run(const struct conf *conf, const char *name, int launcher_fd, struct err *e)
{
	(void)launcher_fd;
	return db_conninfo_check(conf, e) && daemon_become(conf_controller_account(conf), e) && check_programs(conf, e) &&
	       supervisor_start(e) && daemon_lock_instance(conf, "runnerd", name, e) &&
	       loop_serve(&part, "runnerd", conf, name, e);
}

int main(int argc, char **argv)
{
	static const struct daemon_program program = {"runnerd", usage, "name", runnerd_run};
	return daemon_main(&program, argc, argv);
}
