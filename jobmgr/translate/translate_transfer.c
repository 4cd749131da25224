/* translate_transfer.c - writes the transfers of a job into the plan and into the specs of steps.
 *
 * Called by: the stages that read transfers and make steps of them, translation.c, translate_plan.c and translate_spec.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/translate_parts.h"
#include "lib/arguments.h"
#include "lib/order.h"

const char *const translate_directions[TRANSLATE_DIRECTIONS] = {"in", "out", "drop"};
const char *const translate_modes[TRANSLATE_MODES] = {"copy", "rsync", "link", "command"};
const char *const translate_policies[TRANSLATE_POLICIES] = {"keep", "out", "drop"};

struct translate_transfer *translate_transfer_add(struct translation *t)
{
	t->transfers = xrealloc(t->transfers, (size_t)(t->transfer_count + 1) * sizeof *t->transfers);
	struct translate_transfer *x = &t->transfers[t->transfer_count++];
	memset(x, 0, sizeof *x);
	x->number = t->transfer_count;
	x->step = x->made_by = -1;
	return x;
}

void translate_transfers_clear(struct translation *t)
{
	for (int i = 0; i < t->transfer_count; i++) {
		free(t->transfers[i].source);
		free(t->transfers[i].destination);
		json_decref(t->transfers[i].time);
		json_decref(t->transfers[i].mem);
	}
	free(t->transfers);
}

bool translate_transfer_in_scratch(const char *path)
{
	static const char scratch[] = "$ROTA_SCRATCH";
	size_t length = sizeof scratch - 1;
	return strncmp(path, scratch, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool translate_transfer_is_about(const struct translation *t, const struct translate_transfer *x, int step)
{
	if (x->step >= 0)
		return x->step == step;
	return x->direction == TRANSLATE_STAGE_IN ? t->steps[step].is_first : t->steps[step].is_last;
}

bool translate_transfer_is_of(const struct translation *t, const struct translate_transfer *x, int step)
{
	return x->made_by >= 0 ? x->made_by == step : translate_transfer_is_about(t, x, step);
}

void translate_transfers_json(const struct translation *t, json_t *job)
{
	const struct translate_step nobody = {0};
	json_t *list;
	if (t->transfer_count == 0)
		return;
	list = json_array();
	for (int i = 0; i < t->transfer_count; i++) {
		const struct translate_transfer *x = &t->transfers[i];
		json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:i}", "transfer", x->number, "direction",
					 translate_directions[x->direction], "mode", translate_modes[x->mode], "on_fail",
					 translate_policies[x->on_fail], "source", x->source, "destination", x->destination,
					 "checksum", x->checksum, "reuse", x->reuse, "line", x->line);
		if (x->made_by >= 0)
			option_put(json, "step_id", json_integer(t->steps[x->made_by].id));
		if (x->for_job > 0) {
			option_put(json, "for_job", json_integer(x->for_job));
			option_put(json, "for_transfer", json_integer(x->for_number));
		}
		option_append(list, json);
	}
	if (json_is_false(translate_value(t, &nobody, OPTION_ID_PREFER_DATA)))
		option_put(job, "prefer_data", json_false());
	option_put(job, "transfers", list);
	option_put(job, "scratch", json_string(t->request->scratch ? t->request->scratch : ""));
}

char *translate_transfers_spec(const struct translation *t, const struct translate_step *s)
{
	enum { MOST = 1 + ORDER_TRANSFER_ITEMS * (TRANSLATE_TRANSFERS_MOST + 1) };
	const char *items[MOST];
	char texts[TRANSLATE_TRANSFERS_MOST + 1][3][48];
	int count = 0, index = (int)(s - t->steps);
	if (t->transfer_count == 0)
		return NULL;
	items[count++] = t->request->scratch ? t->request->scratch : "";
	for (int i = 0; i < t->transfer_count; i++) {
		const struct translate_transfer *x = &t->transfers[i];
		if (!translate_transfer_is_of(t, x, index))
			continue;
		snprintf(texts[i][0], sizeof texts[i][0], "%d", x->number);
		snprintf(texts[i][1], sizeof texts[i][1], "%" PRId64 ".%d", x->for_job, x->for_number);
		snprintf(texts[i][2], sizeof texts[i][2], "%s%s%s", translate_policies[x->on_fail],
			 x->checksum ? ",checksum" : "", x->reuse ? ",reuse" : "");
		items[count++] = translate_directions[x->direction];
		items[count++] = texts[i][0];
		items[count++] = x->for_job ? texts[i][1] : "";
		items[count++] = translate_modes[x->mode];
		items[count++] = texts[i][2];
		items[count++] = x->source;
		items[count++] = x->destination;
	}
	return arguments_write(items, count);
}
