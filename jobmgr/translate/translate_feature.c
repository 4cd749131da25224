/* translate_feature.c - decides whether a node with given features meets an expression of --constraint.
 *
 * Called by: translate_fit*.c, with expressions that option_features.c has checked. The scheduler evaluates expressions over sets
 * of nodes (schedule_feature.c). */
#include <string.h>

#include "jobmgr/translate/translate_parts.h"

struct feature_reader {
	const char *at;
	const json_t *features;
};

static bool feature_read_or(struct feature_reader *r);

static bool feature_read_unit(struct feature_reader *r)
{
	if (*r->at == '!') {
		r->at++;
		return !feature_read_unit(r);
	}
	if (*r->at == '(') {
		r->at++;
		bool met = feature_read_or(r);
		r->at += *r->at == ')';
		return met;
	}
	size_t length = strcspn(r->at, "&|!()"), i;
	const char *name = r->at;
	const json_t *feature;
	r->at += length;
	json_array_foreach ((json_t *)r->features, i, feature) {
		const char *text = json_string_value(feature);
		if (text && strlen(text) == length && memcmp(text, name, length) == 0)
			return true;
	}
	return false;
}

static bool feature_read_and(struct feature_reader *r)
{
	bool met = feature_read_unit(r);
	while (*r->at == '&') {
		r->at++;
		met = feature_read_unit(r) && met;
	}
	return met;
}

static bool feature_read_or(struct feature_reader *r)
{
	bool met = feature_read_and(r);
	while (*r->at == '|') {
		r->at++;
		met = feature_read_and(r) || met;
	}
	return met;
}

bool translate_feature_met(const char *expression, const json_t *features)
{
	struct feature_reader r = {expression, features};
	return feature_read_or(&r);
}

int64_t translate_feature_nodes(const struct translate_partition *partition, const char *expression)
{
	const json_t *some;
	int64_t nodes = 0;
	size_t i;
	json_array_foreach ((json_t *)partition->features, i, some) {
		if (translate_feature_met(expression, json_object_get(some, "features")))
			nodes += json_integer_value(json_object_get(some, "nodes"));
	}
	return nodes;
}
