/* energy.c - counts the energy that the node uses.
 *
 * Called by: agent_energy.c.
 * Invariants:
 * - Energy is counted once: a zone is left out if it is part of another one. If there is a zone of the whole platform, only that
 *   zone counts.
 * - The memory of a curve is bounded: thinned out, the readings of a century are fewer than POINTS_MOST. */
#include "procmgr/agent/energy.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/log.h"

enum {
	POINTS_MOST = 8192,
	AGE_PARTS = 256,
	DISTANCE_USEC = 100000,
	AFTER_LAST_USEC = 60000000,
	FIGURE_MOST = 1000000000,
	NAME_SIZE = 64,
	PATH_SIZE = 512
};

/* A counter that begins at 0 again after `range` microjoules. */
struct zone {
	int fd;
	int64_t last, range;
};

struct energy_zones {
	struct zone *list;
	int count;
	int64_t total;
};

/* Read a file of a zone, without its newline. Returns false if the file cannot be read. */
static bool read_text(const char *folder, const char *zone, const char *name, char text[NAME_SIZE])
{
	char path[PATH_SIZE];
	snprintf(path, sizeof path, "%s/%s/%s", folder, zone, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, NAME_SIZE - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

static int64_t read_counter(int fd)
{
	char text[NAME_SIZE];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	return strtoll(text, NULL, 10);
}

/* Does the zone count towards the energy of the node? A package's zone covers its cores and graphics, and not its memory. */
static bool is_counted(const char *name, bool has_platform)
{
	return has_platform ? strcmp(name, "psys") == 0 : strncmp(name, "package-", 8) == 0 || strcmp(name, "dram") == 0;
}

static void add_zone(struct energy_zones *z, const char *folder, const char *zone)
{
	char path[PATH_SIZE], range[NAME_SIZE];
	snprintf(path, sizeof path, "%s/%s/energy_uj", folder, zone);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t now = fd >= 0 ? read_counter(fd) : -1;
	if (now < 0 || !read_text(folder, zone, "max_energy_range_uj", range)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	z->list = xrealloc(z->list, (unsigned long)(z->count + 1) * sizeof *z->list);
	z->list[z->count++] = (struct zone){fd, now, strtoll(range, NULL, 10)};
}

/* Add each zone that counts to `z`, unless that is NULL. Returns true if there is a zone of the whole platform. Sets `has_zones` if
 * there is any zone. */
static bool scan_zones(struct energy_zones *z, const char *folder, bool has_platform, bool *has_zones)
{
	char name[NAME_SIZE];
	bool found = false;
	DIR *dir = opendir(folder);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		if (strncmp(d->d_name, "intel-rapl:", 11) != 0 || !read_text(folder, d->d_name, "name", name))
			continue;
		*has_zones = true;
		found |= strcmp(name, "psys") == 0;
		if (z && is_counted(name, has_platform))
			add_zone(z, folder, d->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

struct energy_zones *energy_zones_open(const char *folder)
{
	struct energy_zones *z = xcalloc(1, sizeof *z);
	bool has_zones = false, has_platform = scan_zones(NULL, folder, false, &has_zones);
	scan_zones(z, folder, has_platform, &has_zones);
	if (z->count > 0)
		return z;
	if (has_zones)
		log_info("energy is not measured: the counters energy_uj below \"%s\" cannot be read", folder);
	energy_zones_close(z);
	return NULL;
}

void energy_zones_close(struct energy_zones *z)
{
	if (!z)
		return;
	for (int i = 0; i < z->count; i++)
		close(z->list[i].fd);
	free(z->list);
	free(z);
}

int64_t energy_zones_read(struct energy_zones *z)
{
	for (int i = 0; i < z->count; i++) {
		struct zone *zone = &z->list[i];
		int64_t now = read_counter(zone->fd);
		if (now < 0)
			return -1;
		z->total += now - zone->last + (now < zone->last ? zone->range : 0);
		zone->last = now;
	}
	return z->total;
}

/* Is the figure of the site's program within 0 and the limit? With larger ones, sums would not stay exact. */
static bool is_plausible(double figure)
{
	return figure >= 0 && figure <= FIGURE_MOST;
}

bool energy_meter_read(struct energy_meter *m, int64_t at, double joules, double watts)
{
	bool has_joules = is_plausible(joules), has_watts = is_plausible(watts);
	if (!has_joules && !has_watts)
		return false;
	if (m->at > 0 && has_joules && !isnan(m->joules))
		m->total_uj += joules > m->joules ? 1e6 * (joules - m->joules) : 0;
	else if (m->at > 0 && has_watts && !isnan(m->watts))
		m->total_uj += (m->watts + watts) / 2 * (double)(at - m->at);
	m->at = at;
	m->joules = has_joules ? joules : NAN;
	m->watts = has_watts ? watts : NAN;
	return true;
}

struct point {
	int64_t at, total;
};

struct energy_curve {
	struct point points[POINTS_MOST];
	int count;
};

struct energy_curve *energy_curve_new(void)
{
	return xcalloc(1, sizeof(struct energy_curve));
}

void energy_curve_free(struct energy_curve *c)
{
	free(c);
}

/* Drop readings that are closer together than 1 / AGE_PARTS of their age. The readings before and after any moment are then about
 * that far apart. */
static void thin_out(struct energy_curve *c)
{
	int last = c->count - 1, first = last;
	for (int i = last - 1; i >= 0; i--) {
		int64_t distance = c->points[first].at - c->points[i].at, age = c->points[last].at - c->points[i].at;
		if (i == last - 1 || i == 0 || distance >= age / AGE_PARTS)
			c->points[--first] = c->points[i];
	}
	c->count -= first;
	memmove(c->points, c->points + first, (unsigned long)c->count * sizeof *c->points);
}

void energy_curve_add(struct energy_curve *c, int64_t at, int64_t total)
{
	/* If the last two readings would be within DISTANCE_USEC of the new one, the last one is replaced. */
	if (c->count > 1 && at - c->points[c->count - 2].at < DISTANCE_USEC)
		c->count--;
	if (c->count == POINTS_MOST)
		thin_out(c);
	c->points[c->count++] = (struct point){at, total};
}

/* Returns the node's energy up to a moment, interpolated from the two readings around it, or extrapolated from the last two. */
static double total_at(const struct energy_curve *c, int64_t at)
{
	int low = 0, high = c->count - 1;
	while (high - low > 1) {
		int middle = (low + high) / 2;
		if (c->points[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	const struct point *a = &c->points[low], *b = &c->points[high];
	double span = (double)(b->at - a->at);
	return (double)a->total + (span > 0 ? (double)(b->total - a->total) * (double)(at - a->at) / span : 0);
}

int64_t energy_curve_between(const struct energy_curve *c, int64_t from, int64_t until)
{
	if (c->count < 2 || until < from || until > c->points[c->count - 1].at + AFTER_LAST_USEC)
		return -1;
	int64_t begin = from > c->points[0].at ? from : c->points[0].at, covered = until - begin;
	if (covered < (until - from) - covered)
		return -1;
	double energy = total_at(c, until) - total_at(c, begin);
	return (int64_t)(covered > 0 ? energy * (double)(until - from) / (double)covered : 0);
}
