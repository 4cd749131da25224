/* energy.h - measures the energy that the node uses, by the kernel's counters of the processors (powercap) or by a program of
 * the site, and returns how much was used between two moments. */
#ifndef ROTA_PROCMGR_ENERGY_H
#define ROTA_PROCMGR_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

/* Energy counters of the kernel (Linux, Documentation/power/powercap/powercap.rst). */
struct energy_zones;

/* Find the counters below a folder, which is "/sys/class/powercap" outside tests. Returns NULL if none can be read. */
struct energy_zones *energy_zones_open(const char *folder);
void energy_zones_close(struct energy_zones *z);

/* Energy in microjoules that all counters have counted since energy_zones_open; -1 if a counter cannot be read. A counter must be
 * read before it has gone round twice, which takes some minutes at least. */
int64_t energy_zones_read(struct energy_zones *z);

/* Energy by readings of the site's program: a counter in joules, or the present power in watts. */
struct energy_meter {
	int64_t at;	      /* time of the last reading of the counters; 0: none */
	double joules, watts; /* joules and watts of the last reading; NAN: not given */
	double total_uj;      /* energy since the first reading */
};

/* Take a reading. `at` is its time (clock_boot_us); a figure of NAN is not given. Energy is counted between two readings of the same
 * kind: between two counters their difference, unless the counter went back; else the mean of both powers. Returns false if the
 * reading tells nothing, because a figure is negative or not plausible. */
bool energy_meter_read(struct energy_meter *m, int64_t at, double joules, double watts);

/* The energy that the node has used, over time. */
struct energy_curve;

struct energy_curve *energy_curve_new(void);
void energy_curve_free(struct energy_curve *c);

/* Add a reading: the energy counted so far, in microjoules. `at` (clock_boot_us) and `total` never decrease. */
void energy_curve_add(struct energy_curve *c, int64_t at, int64_t total);

/* Energy in microjoules between two moments (clock_boot_us). Between readings, and for a minute after the last one, power is taken
 * to be constant. If the readings cover only a part of the time, but half of it or more, the energy of that part stands for the
 * whole. Returns -1 if the energy is unknown. */
int64_t energy_curve_between(const struct energy_curve *c, int64_t from, int64_t until);

#endif
