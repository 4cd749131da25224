/* option_array.c - the value of --array: indices such as 0-15, 0-15:4 or 0,6,16-32, and then %2, the number of elements that may
 * run at once.
 *
 * Called by: option_value.c.
 * Invariants:
 * - Ranges [low, high, step] ascend and do not overlap, `high` is an index, and steps are at least 1.
 * - The same indices always give the same list, so two arrays have the same indices if their lists are equal. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/option_value.h"

enum { RANGES_MOST = 10000 };

struct range {
	int64_t low, step, count;
};

static int64_t range_high(const struct range *r)
{
	return r->low + (r->count - 1) * r->step;
}

static bool range_read(const char *text, struct range *r, struct err *e)
{
	const char *c = text;
	int64_t last;
	bool good = option_digits(&c, INT_MAX - 1, &r->low);
	last = r->low;
	r->step = 1;
	if (good && *c == '-') {
		good = (c++, option_digits(&c, INT_MAX - 1, &last));
		if (good && *c == ':')
			good = (c++, option_digits(&c, INT_MAX - 1, &r->step));
	}
	if (!good || *c || r->step < 1) {
		err_set(e, "\"%s\" is not an index or a range of indices", OPTION_QUOTE(text));
		if (strpbrk(text, "abcdefghijklmnopqrstuvwxyz"))
			return err_hint(e, "write indices from 0 on, as in 0-15; for a job for each line of a file, write "
					   "rota submit --each -a FILE SCRIPT");
		return err_hint(e, "write indices from 0 on, as in 0-15, 0-15:4, 1,3,7 or 0-99%%10");
	}
	if (last < r->low)
		return err_set(e, "the range \"%s\" ends before it begins", OPTION_QUOTE(text));
	r->count = (last - r->low) / r->step + 1;
	return true;
}

static int range_compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return (x->low > y->low) - (x->low < y->low);
}

/* Read and sort the index ranges of a list. Returns the number of ranges, or 0 with an error. */
static int ranges_read(const char *text, struct range *ranges, struct err *e)
{
	int count = 0;
	char *item;
	while ((item = option_item(&text, ','))) {
		bool good = count < RANGES_MOST ? range_read(item, &ranges[count], e)
						: err_set(e, "more than %d ranges of indices", RANGES_MOST);
		free(item);
		if (!good)
			return 0;
		count++;
	}
	qsort(ranges, (size_t)count, sizeof *ranges, range_compare);
	for (int i = 1; i < count; i++)
		if (range_high(&ranges[i - 1]) >= ranges[i].low) {
			err_set(e, "the ranges that begin at %lld and %lld overlap", (long long)ranges[i - 1].low,
				(long long)ranges[i].low);
			return 0;
		}
	return count;
}

static void runs_emit(json_t *list, struct range *r)
{
	option_append(list, json_pack("[I, I, I]", (json_int_t)r->low, (json_int_t)range_high(r),
				      (json_int_t)(r->count > 1 ? r->step : 1)));
	r->count = 0;
}

/* Returns the indices as a canonical list of ranges: from the lowest index on, each range is the longest of one step. */
static json_t *ranges_make_runs(const struct range *ranges, int count)
{
	json_t *list = json_array();
	struct range run = {0};
	for (int i = 0; i < count; i++) {
		struct range r = ranges[i];
		while (r.count > 0) {
			if (run.count == 0) {
				run = r;
				break;
			}
			if (run.count == 1)
				run.step = r.low - run.low;
			if (r.low != range_high(&run) + run.step) {
				runs_emit(list, &run);
				continue;
			}
			int64_t taken = r.step == run.step ? r.count : 1;
			run.count += taken;
			r.low += taken * r.step;
			r.count -= taken;
		}
	}
	runs_emit(list, &run);
	return list;
}

static json_t *array_make_value(const struct range *ranges, int count, json_t *limit, struct option_context *context,
				struct err *e)
{
	int64_t size = 0;
	for (int i = 0; i < count; i++)
		size += ranges[i].count;
	context->items_left -= count;
	if (size > context->array_max || context->items_left < 0) {
		json_decref(limit);
		if (context->items_left < 0)
			err_set(e, "too many ranges of indices");
		else
			err_set(e, "%lld elements requested; at most %lld are allowed", (long long)size,
				(long long)context->array_max);
		return NULL;
	}
	json_t *value = json_object();
	option_put(value, "indices", ranges_make_runs(ranges, count));
	option_put(value, "size", json_integer(size));
	option_put(value, "limit", limit);
	return value;
}

json_t *option_array(const char *text, struct option_context *context, struct err *e)
{
	if (strcmp(text, "none") == 0)
		return json_null();
	const char *percent = strchr(text, '%');
	int64_t limit = 0;
	if (percent && !option_number(percent + 1, 1, INT_MAX, &limit)) {
		err_set(e, "\"%s\" is not a number of elements that may run at once", OPTION_QUOTE(percent));
		return NULL;
	}
	char *list = xstrndup(text, percent ? (size_t)(percent - text) : strlen(text));
	size_t commas = 0;
	for (const char *c = list; *c; c++)
		commas += *c == ',';
	struct range *ranges = xcalloc((commas < RANGES_MOST ? commas : RANGES_MOST) + 1, sizeof *ranges);
	int count = ranges_read(list, ranges, e);
	json_t *value =
		count > 0 ? array_make_value(ranges, count, percent ? json_integer(limit) : json_null(), context, e) : NULL;
	free(ranges);
	free(list);
	return value;
}
