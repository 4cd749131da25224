/* translate_feature.c - whether a node with given features meets an expression of --constraint.
 *
 * Called by translate_fit with expressions that option_features.c let pass. The scheduler has an evaluation of its own, over sets of
 * nodes (schedule_feature.c). */
#include <string.h>

#include "jobmgr/translate/translate_parts.h"

struct reader {
	const char *at;
	const json_t *features;
};

static bool read_or(struct reader *r);

static bool read_unit(struct reader *r)
{
	if (*r->at == '!') {
		r->at++;
		return !read_unit(r);
	}
	if (*r->at == '(') {
		r->at++;
		bool met = read_or(r);
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

static bool read_and(struct reader *r)
{
	bool met = read_unit(r);
	while (*r->at == '&') {
		r->at++;
		met = read_unit(r) && met;
	}
	return met;
}

static bool read_or(struct reader *r)
{
	bool met = read_and(r);
	while (*r->at == '|') {
		r->at++;
		met = read_and(r) || met;
	}
	return met;
}

bool translate_feature_met(const char *expression, const json_t *features)
{
	struct reader r = {expression, features};
	return read_or(&r);
}
