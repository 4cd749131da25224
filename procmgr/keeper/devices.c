/* devices.c - which devices a step may use (devices.h).
 *
 * Called by: keeper.c; keeper_devices.c; task_environment.c for the numbers of the devices of a step.
 * Invariants: a device file is found by its path when a step starts, since drivers choose the numbers of their devices. Only root
 * can change the paths, which are in rota.conf. */
#include "procmgr/keeper/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Numbers of the devices that every process needs; they are the same on every Linux. */
static const struct device standard[] = {
	{'c', 1, 3},		       /* null */
	{'c', 1, 5},		       /* zero */
	{'c', 1, 7},		       /* full */
	{'c', 1, 8},		       /* random */
	{'c', 1, 9},		       /* urandom */
	{'c', 5, 0},		       /* tty */
	{'c', 5, 2},		       /* ptmx */
	{'c', 136, DEVICES_ANY_MINOR}, /* pts */
};

enum { STANDARD_COUNT = sizeof standard / sizeof *standard };

char *devices_of_gres(const char *gres, const char *kind)
{
	size_t length = strlen(kind);
	for (const char *at = gres; *at; at += strcspn(at, ","), at += *at == ',') {
		if (strncmp(at, kind, length) != 0 || at[length] != ':')
			continue;
		char *units = xstrndup(at + length + 1, strcspn(at + length + 1, ","));
		for (char *c = units; *c; c++)
			if (*c == '+')
				*c = ',';
		return units;
	}
	return NULL;
}

char *devices_without(const char *gres, const char *kind)
{
	size_t length = strlen(kind), used = 0, size;
	char *left = xstrdup(gres);
	for (const char *at = gres; *at; at += size, at += *at == ',') {
		size = strcspn(at, ",");
		if (strncmp(at, kind, length) == 0 && at[length] == ':')
			continue;
		if (used > 0)
			left[used++] = ',';
		memcpy(left + used, at, size);
		used += size;
	}
	left[used] = '\0';
	return left;
}

struct granted {
	struct device *list;
	int count;
};

/* Add the device with this path to the granted devices. Returns false if there is no such device. */
static bool add_file(struct granted *g, const char *path)
{
	struct stat st;
	if (g->count == DEVICES_MOST || stat(path, &st) < 0 || !(S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
		return false;
	g->list[g->count++] = (struct device){S_ISCHR(st.st_mode) ? 'c' : 'b', (int)major(st.st_rdev), (int)minor(st.st_rdev)};
	return true;
}

/* Add to the granted devices the one whose path is `pattern` with `unit` in place of '%'. */
static bool add_unit(struct granted *g, const char *pattern, const char *unit, struct err *e)
{
	const char *sign = strchrnul(pattern, '%');
	char *path = xasprintf("%.*s%s%s", (int)(sign - pattern), pattern, *sign ? unit : "", *sign ? sign + 1 : "");
	bool added = add_file(g, path) || err_set(e, "there is no device \"%.256s\", which launcher.device_files names", path);
	free(path);
	return added;
}

/* Add the devices that one word of launcher.device_files grants. KIND:PATH grants a device file for each device of that generic
 * resource that the step has; PATH grants that device to every step, if the node has it. */
static bool add_word(struct granted *g, char *word, const char *gres, struct err *e)
{
	char *colon = *word == '/' ? NULL : strchr(word, ':'), *rest = NULL;
	bool added = true;
	if (!colon) {
		add_file(g, word);
		return true;
	}
	*colon = '\0';
	char *units = devices_of_gres(gres, word);
	for (char *unit = units ? strtok_r(units, ",", &rest) : NULL; added && unit; unit = strtok_r(NULL, ",", &rest))
		added = add_unit(g, colon + 1, unit, e);
	free(units);
	return added;
}

int devices_granted(const char *files, const char *gres, struct device list[DEVICES_MOST], struct err *e)
{
	struct granted g = {list, STANDARD_COUNT};
	char *copy = xstrdup(files), *rest = NULL;
	bool added = true;
	memcpy(list, standard, sizeof standard);
	for (char *word = strtok_r(copy, " ", &rest); added && word; word = strtok_r(NULL, " ", &rest))
		added = add_word(&g, word, gres, e);
	free(copy);
	return added ? g.count : -1;
}

int devices_of_kind(const char *files, const char *gres, const char *kind, struct device list[DEVICES_MOST], struct err *e)
{
	struct granted g = {list, 0};
	size_t length = strlen(kind);
	char *copy = xstrdup(files), *rest = NULL;
	bool added = true;
	for (char *word = strtok_r(copy, " ", &rest); added && word; word = strtok_r(NULL, " ", &rest))
		if (strncmp(word, kind, length) == 0 && word[length] == ':')
			added = add_word(&g, word, gres, e);
	free(copy);
	return added ? g.count : -1;
}

int devices_remove(struct device *list, int count, const struct device *others, int other_count)
{
	int left = 0;
	for (int i = 0; i < count; i++) {
		bool other = false;
		for (int k = 0; k < other_count; k++)
			other = other || (list[i].type == others[k].type && list[i].major == others[k].major &&
					  list[i].minor == others[k].minor);
		if (!other)
			list[left++] = list[i];
	}
	return left;
}
