/* agent_energy_test.c - energy counted by a made-up /sys/class/powercap, and between the readings of a curve. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/err.h"
#include "procmgr/agent/energy.h"

static void write_file(const char *zone, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", unit_folder, zone);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/%s/%s", unit_folder, zone, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void make_zone(const char *zone, const char *name, const char *energy)
{
	write_file(zone, "name", name);
	write_file(zone, "energy_uj", energy);
	write_file(zone, "max_energy_range_uj", "1000\n");
}

static void test_zones(void **state)
{
	(void)state;
	assert_null(energy_zones_open(unit_folder));
	make_zone("intel-rapl:0", "package-0\n", "100\n");
	make_zone("intel-rapl:0:0", "core\n", "500\n"); /* part of the package */
	make_zone("intel-rapl:0:1", "dram\n", "10\n");
	make_zone("intel-rapl:1", "package-1\n", "900\n");
	make_zone("intel-rapl-mmio:0", "package-0\n", "100\n"); /* the same package again */
	make_zone("dtpm", "package-9\n", "100\n");
	struct energy_zones *z = energy_zones_open(unit_folder);
	assert_non_null(z);
	assert_int_equal(energy_zones_read(z), 0);
	write_file("intel-rapl:0", "energy_uj", "150\n");
	write_file("intel-rapl:0:0", "energy_uj", "999\n");
	write_file("intel-rapl-mmio:0", "energy_uj", "150\n");
	assert_int_equal(energy_zones_read(z), 50);
	write_file("intel-rapl:1", "energy_uj", "30\n"); /* the counter has wrapped */
	write_file("intel-rapl:0:1", "energy_uj", "11\n");
	assert_int_equal(energy_zones_read(z), 50 + 130 + 1);
	assert_int_equal(energy_zones_read(z), 181);
	write_file("intel-rapl:0", "energy_uj", "");
	assert_int_equal(energy_zones_read(z), -1);
	energy_zones_close(z);
}

static void test_platform(void **state)
{
	(void)state;
	make_zone("intel-rapl:0", "package-0\n", "100\n");
	make_zone("intel-rapl:2", "psys\n", "7\n");
	struct energy_zones *z = energy_zones_open(unit_folder);
	write_file("intel-rapl:0", "energy_uj", "400\n");
	write_file("intel-rapl:2", "energy_uj", "9\n");
	assert_int_equal(energy_zones_read(z), 2);
	energy_zones_close(z);
}

static void test_unreadable(void **state)
{
	(void)state;
	write_file("intel-rapl:0", "name", "package-0\n");
	assert_null(energy_zones_open(unit_folder));
	write_file("intel-rapl:0", "energy_uj", "1\n");
	assert_null(energy_zones_open(unit_folder)); /* the value at which the counter wraps is unknown */
}

enum { S = 1000000 };

static void test_curve(void **state)
{
	(void)state;
	struct energy_curve *c = energy_curve_new();
	assert_int_equal(energy_curve_between(c, 0, S), -1);
	energy_curve_add(c, 10LL * S, 0);
	assert_int_equal(energy_curve_between(c, 10LL * S, 11LL * S), -1);
	energy_curve_add(c, 20LL * S, 1000);
	energy_curve_add(c, 30LL * S, 5000);
	assert_int_equal(energy_curve_between(c, 10LL * S, 30LL * S), 5000);
	assert_int_equal(energy_curve_between(c, 15LL * S, 25LL * S), 500 + 2000);
	assert_int_equal(energy_curve_between(c, 21LL * S, 22LL * S), 400);
	assert_int_equal(energy_curve_between(c, 25LL * S, 25LL * S), 0);
	assert_int_equal(energy_curve_between(c, 30LL * S, 90LL * S), 60 * 400); /* the last power is assumed to go on */
	assert_int_equal(energy_curve_between(c, 30LL * S, 90LL * S + 1), -1);
	assert_int_equal(energy_curve_between(c, 22LL * S, 21LL * S), -1);
	/* A span that begins before the first reading has energy only if readings cover half of it. */
	assert_int_equal(energy_curve_between(c, 0, 20LL * S), 2000);
	assert_int_equal(energy_curve_between(c, -1, 20LL * S), -1);
	assert_int_equal(energy_curve_between(c, 0, 5LL * S), -1);
	/* A reading soon after another one. */
	energy_curve_add(c, 30LL * S + 1000, 5400);
	energy_curve_add(c, 30LL * S + 2000, 5800);
	assert_int_equal(energy_curve_between(c, 30LL * S, 30LL * S + 2000), 800);
	energy_curve_free(c);
}

static int64_t days(int count)
{
	return count * 24LL * 3600 * S;
}

static void assert_within_percent(int64_t is, int64_t wanted)
{
	assert_true(is > wanted * 99 / 100 && is < wanted * 101 / 100);
}

/* A year of readings, with twice as much power in the first half of each day. Old readings are dropped, so the energy of an older
 * period is less exact. The error is below 1 % for the last day, for its second half, and for 100 days that ended long ago. */
static void test_full_curve(void **state)
{
	(void)state;
	struct energy_curve *c = energy_curve_new();
	int64_t total = 0, half = days(1) / S / 2;
	for (int64_t second = 0; second <= days(365) / S; second += 30) {
		energy_curve_add(c, second * S, total);
		total += 30 * (second / 3600 % 24 < 12 ? 200 : 100);
	}
	assert_int_equal(energy_curve_between(c, 0, days(365)), 365 * half * 300);
	assert_within_percent(energy_curve_between(c, days(364), days(365)), half * 300);
	assert_within_percent(energy_curve_between(c, days(365) - days(1) / 2, days(365)), half * 100);
	assert_within_percent(energy_curve_between(c, days(100), days(200)), 100 * half * 300);
	energy_curve_free(c);
}

static void test_meter(void **state)
{
	(void)state;
	struct energy_meter m = {0};
	assert_false(energy_meter_read(&m, 10LL * S, NAN, NAN));
	assert_false(energy_meter_read(&m, 10LL * S, NAN, -1));
	assert_false(energy_meter_read(&m, 10LL * S, -1, NAN));
	assert_false(energy_meter_read(&m, 10LL * S, 1e18, INFINITY));
	assert_true(energy_meter_read(&m, 10LL * S, NAN, 100));
	assert_true(m.total_uj == 0);
	assert_true(energy_meter_read(&m, 20LL * S, NAN, 200)); /* power rises evenly */
	assert_true(m.total_uj == 1500e6);
	assert_true(energy_meter_read(&m, 30LL * S, 3e8, NAN)); /* a counter for the first time */
	assert_true(m.total_uj == 1500e6);
	assert_true(energy_meter_read(&m, 40LL * S, 3e8 + 7, 50));
	assert_true(m.total_uj == 1507e6);
	assert_true(energy_meter_read(&m, 50LL * S, 3, 50)); /* the counter has been reset to 0 */
	assert_true(m.total_uj == 1507e6);
	assert_true(energy_meter_read(&m, 60LL * S, 5, -7));
	assert_true(m.total_uj == 1509e6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_zones, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(test_platform, unit_folder_make, unit_folder_remove),
		cmocka_unit_test_setup_teardown(test_unreadable, unit_folder_make, unit_folder_remove),
		cmocka_unit_test(test_meter),
		cmocka_unit_test(test_curve),
		cmocka_unit_test(test_full_curve),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
