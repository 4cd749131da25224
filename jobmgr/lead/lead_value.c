/* lead_value.c - reads PostgreSQL's text forms of numbers, arrays and jsonb.
 *
 * Called by: lead_load.c, through its tables of columns.
 * Invariants:
 *  - A reader uses the whole text, or returns false.
 *  - Nothing that a reader stores refers to the PGresult. */
#include "jobmgr/lead/lead_value.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/schedule/schedule.h"
#include "jobmgr/schedule/schedule_arena.h"
#include "jobmgr/schedule/schedule_change.h"

static void list_set(void *target, const void *items, size_t count)
{
	memcpy(target, &items, sizeof items);
	memcpy((char *)target + sizeof items, &count, sizeof count);
}

static bool read_number(const char *text, int64_t lowest, int64_t highest, int64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoll(text, &end, 10);
	return end != text && *end == '\0' && errno == 0 && *number >= lowest && *number <= highest;
}

static bool read_int(const char *text, int otherwise, int *target)
{
	int64_t number = otherwise;

	if (text && !read_number(text, INT_MIN, INT_MAX, &number))
		return false;
	*target = (int)number;
	return true;
}

bool lead_read_int(struct schedule_arena *arena, const char *text, void *target)
{
	(void)arena;
	return read_int(text, 0, target);
}

bool lead_read_int_or_none(struct schedule_arena *arena, const char *text, void *target)
{
	(void)arena;
	return read_int(text, -1, target);
}

bool lead_read_int64(struct schedule_arena *arena, const char *text, void *target)
{
	(void)arena;
	*(int64_t *)target = 0;
	return !text || read_number(text, INT64_MIN, INT64_MAX, target);
}

static bool read_double(const char *text, double otherwise, double *target)
{
	char *end;

	*target = otherwise;
	if (!text)
		return true;
	*target = strtod(text, &end);
	return end != text && *end == '\0';
}

bool lead_read_double(struct schedule_arena *arena, const char *text, void *target)
{
	(void)arena;
	return read_double(text, 0, target);
}

bool lead_read_time(struct schedule_arena *arena, const char *text, void *target)
{
	(void)arena;
	return read_double(text, INFINITY, target);
}

bool lead_read_bool(struct schedule_arena *arena, const char *text, void *target)
{
	(void)arena;
	*(bool *)target = text && strcmp(text, "t") == 0;
	return !text || strcmp(text, "t") == 0 || strcmp(text, "f") == 0;
}

bool lead_read_text(struct schedule_arena *arena, const char *text, void *target)
{
	const char *copy = text ? schedule_arena_print(arena, "%s", text) : NULL;

	memcpy(target, &copy, sizeof copy);
	return true;
}

bool lead_read_usable(struct schedule_arena *arena, const char *text, void *target)
{
	(void)arena;
	*(bool *)target = text && strcmp(text, "up") == 0;
	return true;
}

bool lead_read_power(struct schedule_arena *arena, const char *text, void *target)
{
	(void)arena;
	if (text)
		*(enum schedule_power *)target = schedule_power_of(text);
	return text != NULL;
}

bool lead_read_state(struct schedule_arena *arena, const char *text, void *target)
{
	(void)arena;
	*(enum schedule_state *)target = schedule_state_of(text ? text : "");
	return true;
}

/* Returns an upper bound of the number of elements in an array literal. */
static size_t array_bound(const char *text)
{
	size_t bound = 1;

	for (; *text; text++)
		bound += *text == ',';
	return bound;
}

bool lead_read_ints(struct schedule_arena *arena, const char *text, void *target)
{
	int *items;
	size_t count = 0;
	char *end;

	list_set(target, NULL, 0);
	if (!text || strcmp(text, "{}") == 0)
		return true;
	items = schedule_arena_take(arena, array_bound(text), sizeof *items);
	if (*text != '{')
		return false;
	do {
		long number = strtol(++text, &end, 10);

		if (end == text || number < INT_MIN || number > INT_MAX)
			return false;
		items[count++] = (int)number;
		text = end;
	} while (*text == ',');
	list_set(target, items, count);
	return strcmp(text, "}") == 0;
}

/* Copy one element of a text[] literal to `to`. Returns the text after the element, or NULL if it is malformed. */
static const char *array_text(const char *text, char *to)
{
	bool quoted = *text == '"';

	if (quoted)
		text++;
	for (; *text && (quoted ? *text != '"' : *text != ',' && *text != '}'); text++) {
		if (*text == '\\' && *++text == '\0')
			return NULL;
		*to++ = *text;
	}
	*to = '\0';
	return quoted ? (*text == '"' ? text + 1 : NULL) : text;
}

bool lead_read_texts(struct schedule_arena *arena, const char *text, void *target)
{
	const char **items;
	char *space;
	size_t count = 0;

	list_set(target, NULL, 0);
	if (!text || strcmp(text, "{}") == 0)
		return true;
	items = schedule_arena_take(arena, array_bound(text), sizeof *items);
	space = schedule_arena_take(arena, strlen(text) + 1, 1);
	if (*text != '{')
		return false;
	do {
		text = array_text(text + 1, space);
		if (!text)
			return false;
		items[count++] = space;
		space += strlen(space) + 1;
	} while (*text == ',');
	list_set(target, items, count);
	return strcmp(text, "}") == 0;
}

/* Returns a jsonb object, an empty one for SQL null. Returns NULL if the value is no object. */
static json_t *read_object(const char *text)
{
	json_t *object = json_loads(text ? text : "{}", 0, NULL);

	if (json_is_object(object))
		return object;
	json_decref(object);
	return NULL;
}

static bool read_amounts(struct schedule_arena *arena, json_t *object, const struct schedule_amount **amounts, size_t *count)
{
	struct schedule_amount *items = schedule_arena_take(arena, json_object_size(object), sizeof *items);
	const char *name;
	json_t *value;
	bool good = json_is_object(object);

	*count = 0;
	*amounts = items;
	json_object_foreach (object, name, value) {
		items[(*count)++] = (struct schedule_amount){schedule_arena_print(arena, "%s", name), json_integer_value(value)};
		good = good && json_is_integer(value);
	}
	return good;
}

bool lead_read_amounts(struct schedule_arena *arena, const char *text, void *target)
{
	json_t *object = read_object(text);
	const struct schedule_amount *items;
	size_t count;
	bool good = read_amounts(arena, object, &items, &count);

	list_set(target, items, count);
	json_decref(object);
	return good;
}

static bool read_device_list(struct schedule_arena *arena, const json_t *array, const int **devices, size_t *count)
{
	int *items;
	bool good = json_is_array(array);

	*count = json_array_size(array);
	items = schedule_arena_take(arena, *count, sizeof *items);
	for (size_t i = 0; i < *count; i++) {
		items[i] = (int)json_integer_value(json_array_get(array, i));
		good = good && json_is_integer(json_array_get(array, i));
	}
	*devices = items;
	return good;
}

static bool read_devices(struct schedule_arena *arena, json_t *object, const struct schedule_devices **devices, size_t *count)
{
	struct schedule_devices *items = schedule_arena_take(arena, json_object_size(object), sizeof *items);
	const char *name;
	json_t *value;
	bool good = true;

	*count = 0;
	*devices = items;
	json_object_foreach (object, name, value) {
		items[*count].name = schedule_arena_print(arena, "%s", name);
		good = read_device_list(arena, value, &items[*count].device, &items[*count].count) && good;
		(*count)++;
	}
	return good;
}

static bool read_claim(struct schedule_arena *arena, const json_t *object, struct schedule_claim *claim)
{
	json_int_t job, mem_mb;
	json_t *gres, *licenses, *devices = NULL;

	claim->tier = 0;
	if (json_unpack((json_t *)object, "{s:I, s:i, s:i, s:i, s:I, s:o, s:o, s?o, s?i}", "job", &job, "step", &claim->step,
			"node", &claim->node_id, "cpus", &claim->cpus, "mem_mb", &mem_mb, "gres", &gres, "licenses", &licenses,
			"devices", &devices, "tier", &claim->tier) != 0)
		return false;
	claim->job = job;
	claim->mem_mb = mem_mb;
	return read_amounts(arena, gres, &claim->gres, &claim->gres_count) &&
	       read_devices(arena, devices, &claim->devices, &claim->device_count) &&
	       read_amounts(arena, licenses, &claim->licenses, &claim->license_count);
}

bool lead_read_claims(struct schedule_arena *arena, const char *text, void *target)
{
	json_t *array = json_loads(text ? text : "[]", 0, NULL);
	struct schedule_claim *items = schedule_arena_take(arena, json_array_size(array), sizeof *items);
	bool good = json_is_array(array);

	for (size_t i = 0; i < json_array_size(array); i++)
		good = good && read_claim(arena, json_array_get(array, i), &items[i]);
	list_set(target, items, json_array_size(array));
	json_decref(array);
	return good;
}

bool lead_read_devices(struct schedule_arena *arena, const char *text, void *target)
{
	json_t *object = read_object(text);
	const struct schedule_devices *items;
	size_t count;
	bool good = read_devices(arena, object, &items, &count) && object != NULL;

	list_set(target, items, count);
	json_decref(object);
	return good;
}

bool lead_read_gres_total(struct schedule_arena *arena, const char *text, void *target)
{
	json_t *object = read_object(text), *value;
	struct schedule_gres *items = schedule_arena_take(arena, json_object_size(object), sizeof *items);
	const char *name;
	size_t count = 0;
	bool good = object != NULL;

	json_object_foreach (object, name, value) {
		items[count].name = schedule_arena_print(arena, "%s", name);
		items[count++].total = (int)json_integer_value(value);
		good = good && json_is_integer(value);
	}
	list_set(target, items, count);
	json_decref(object);
	return good;
}

bool lead_read_gres_free(struct schedule_arena *arena, const char *text, void *target)
{
	json_t *object = read_object(text);
	struct schedule_gres *items;
	size_t count;
	bool good = object != NULL;

	memcpy(&items, target, sizeof items);
	memcpy(&count, (char *)target + sizeof items, sizeof count);
	for (size_t i = 0; i < count; i++) {
		const json_t *free_devices = json_object_get(object, items[i].name);

		if (free_devices)
			good = read_device_list(arena, free_devices, &items[i].free, &items[i].free_count) && good;
	}
	json_decref(object);
	return good;
}
