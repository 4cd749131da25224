/* agent_energy.c - measures the energy that the node uses while attempts are on it, by the counters of its processors or by the
 * site's program (node.energy).
 *
 * Called by: agent.c for accepted launches; agent_report.c for records that are reported.
 * Invariants:
 * - The energy is that of the whole node. The database divides it among the attempts by the CPUs that they held
 *   (internal.energy_share).
 * - Without a counter or a program, no energy is measured or reported. */
#include "procmgr/agent/agent_energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/agent/agent_plugin.h"
#include "procmgr/agent/energy.h"
#include "procmgr/record/lease.h"

/* The second reading is taken soon, because energy is known between two readings only. */
enum { SECOND_S = 2, PERIOD_S = 30 };

struct agent_energy {
	const struct agent_context *context;
	struct energy_zones *zones; /* energy counters of this machine; NULL if it has none */
	struct energy_curve *curve;
	struct event *timer; /* NULL if the energy is not measured */
	bool has_read;
	struct agent_plugin *plugin; /* the site's program while it runs, else NULL */
	int64_t asked_at;	     /* time at which `plugin` was last started */
	struct energy_meter meter;   /* energy by the figures of the site's program */
	char boot[LEASE_BOOT_SIZE];
};

static void read_zones(struct agent_energy *e)
{
	int64_t total = energy_zones_read(e->zones);
	if (total >= 0)
		energy_curve_add(e->curve, clock_boot_us(), total);
}

static double figure(const json_t *figures, const char *name)
{
	const json_t *value = json_object_get(figures, name);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Take a reading of the program: `energy_j`, a counter in joules, or `power_w`, the present power in watts. */
static void take_figures(json_t *figures, void *arg)
{
	struct agent_energy *e = arg;
	e->plugin = NULL;
	if (energy_meter_read(&e->meter, e->asked_at, figure(figures, "energy_j"), figure(figures, "power_w")))
		energy_curve_add(e->curve, e->asked_at, (int64_t)e->meter.total_uj);
	json_decref(figures);
}

static void ask_program(struct agent_energy *e)
{
	if (e->plugin)
		return;
	e->asked_at = clock_boot_us();
	e->plugin = agent_plugin_start(e->context, take_figures, e);
}

static void read_energy(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent_energy *e = arg;
	if (e->zones)
		read_zones(e);
	else
		ask_program(e);
	event_add(e->timer, &(struct timeval){e->has_read ? PERIOD_S : SECOND_S, 0});
	e->has_read = true;
}

/* Is the energy measured by the site's program? */
static bool is_measured_by_program(const struct conf *conf)
{
	if (strcmp(conf->node_energy, "command") != 0)
		return false;
	if (!*conf->node_sample_command)
		log_warning("energy is not measured: node.energy is \"command\", and node.sample_command is empty");
	return *conf->node_sample_command;
}

struct agent_energy *agent_energy_new(const struct agent_context *c)
{
	const struct conf *conf = c->conf;
	struct agent_energy *e = xcalloc(1, sizeof *e);
	e->context = c;
	lease_boot_id(e->boot);
	if (strcmp(conf->node_energy, "off") == 0 || conf->launcher_dry_run || conf->launcher_virtual > 0)
		return e;
	if (strcmp(conf->node_energy, "auto") == 0)
		e->zones = energy_zones_open("/sys/class/powercap");
	if (!e->zones && !is_measured_by_program(conf))
		return e;
	e->curve = energy_curve_new();
	e->timer = evtimer_new(c->base, read_energy, e);
	read_energy(-1, 0, e);
	return e;
}

void agent_energy_free(struct agent_energy *e)
{
	if (!e)
		return;
	agent_plugin_free(e->plugin);
	energy_zones_close(e->zones);
	energy_curve_free(e->curve);
	if (e->timer)
		event_free(e->timer);
	free(e);
}

void agent_energy_begin(struct agent_energy *e)
{
	if (e->zones)
		read_zones(e);
}

void agent_energy_add(struct agent_energy *e, struct fields *record)
{
	const char *kind = e->timer ? fields_get(record, "kind") : NULL;
	if (!kind || strcmp(kind, "end") != 0)
		return;
	const char *since = fields_get(record, "since"), *at = fields_get(record, "at"), *boot = fields_get(record, "boot");
	if (!since || !at || fields_get(record, "node_uj"))
		return;
	/* The times of a record that was written before a reboot are of another clock. */
	if (!boot || strcmp(boot, e->boot) != 0)
		return;
	if (e->zones)
		read_zones(e);
	int64_t energy = energy_curve_between(e->curve, strtoll(since, NULL, 10), strtoll(at, NULL, 10));
	if (energy >= 0)
		fields_add_int(record, "node_uj", energy);
}
