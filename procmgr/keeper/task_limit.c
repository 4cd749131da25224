/* task_limit.c - parses and sets resource limits of tasks.
 *
 * Called by: the keeper to parse the limits once, the process of each task to set them.
 * Invariants: a soft limit never exceeds the hard limit that the launcher was started with, so a job cannot raise the site's
 * limits. */
#include "procmgr/keeper/task_limit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	int resource;
} names[] = {
	{"as", RLIMIT_AS},	     {"core", RLIMIT_CORE},	    {"cpu", RLIMIT_CPU},
	{"data", RLIMIT_DATA},	     {"fsize", RLIMIT_FSIZE},	    {"locks", RLIMIT_LOCKS},
	{"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
	{"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},	    {"rss", RLIMIT_RSS},
	{"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME},	    {"sigpending", RLIMIT_SIGPENDING},
	{"stack", RLIMIT_STACK},
};

static int find_resource(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i].name) == length && memcmp(names[i].name, name, length) == 0)
			return names[i].resource;
	return -1;
}

static bool parse_value(const char *text, size_t length, rlim_t *value)
{
	if (length == strlen("unlimited") && memcmp(text, "unlimited", length) == 0) {
		*value = RLIM_INFINITY;
		return true;
	}
	if (length == 0 || length > 19 || strspn(text, "0123456789") != length)
		return false;
	*value = strtoull(text, NULL, 10);
	return true;
}

static bool parse_limit(const char *text, size_t length, struct task_limit *limit, struct err *e)
{
	const char *sign = memchr(text, '=', length);
	size_t name = sign ? (size_t)(sign - text) : length;
	limit->resource = find_resource(text, name);
	if (limit->resource < 0)
		return err_set(e, "unknown resource limit \"%.*s\"", (int)name, text);
	if (!sign || !parse_value(sign + 1, length - name - 1, &limit->soft))
		return err_set(e, "resource limit \"%.*s\" is not a number or \"unlimited\"", (int)length, text);
	return true;
}

bool task_limit_parse(const char *text, struct task_limit limits[TASK_LIMIT_MOST], int *count, struct err *e)
{
	*count = 0;
	while (*text) {
		size_t length = strcspn(text, ",");
		struct task_limit limit;
		if (!parse_limit(text, length, &limit, e))
			return false;
		for (int i = 0; i < *count; i++)
			if (limits[i].resource == limit.resource)
				return err_set(e, "resource limit \"%.*s\" is given twice", (int)length, text);
		limits[(*count)++] = limit;
		text += length + (text[length] == ',');
	}
	return true;
}

static const char *name_of(int resource)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].resource == resource)
			return names[i].name;
	return "";
}

bool task_limit_apply(const struct task_limit *limits, int count, struct err *e)
{
	for (int i = 0; i < count; i++) {
		struct rlimit r;
		if (getrlimit((__rlimit_resource_t)limits[i].resource, &r) < 0)
			return err_sys(e, "could not read resource limit \"%s\"", name_of(limits[i].resource));
		r.rlim_cur = limits[i].soft < r.rlim_max ? limits[i].soft : r.rlim_max;
		if (setrlimit((__rlimit_resource_t)limits[i].resource, &r) < 0)
			return err_sys(e, "could not set resource limit \"%s\"", name_of(limits[i].resource));
	}
	return true;
}
