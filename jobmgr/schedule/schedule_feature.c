/* schedule_feature.c - evaluates constraint expressions over node features, by recursive descent on whole sets of nodes.
 *
 * Called by: schedule_request.c, once for each distinct request.
 * Invariants:
 *  - A malformed expression matches no node. Submissions with a malformed expression are refused, so a stored one was altered in
 *    the database. */
#include "jobmgr/schedule/schedule_feature.h"

#include <string.h>

#include "jobmgr/schedule/schedule_bits.h"

enum { DEEPEST = 64, LONGEST = 256 };

struct parse {
	const struct schedule_cluster *cluster;
	const char *at;
	int depth;
};

static bool parse_any(struct parse *p, uint64_t *set);

static char parse_peek(struct parse *p)
{
	p->at += strspn(p->at, " \t");
	return *p->at;
}

static bool parse_name(struct parse *p, uint64_t *set)
{
	char name[LONGEST];
	size_t length = strcspn(p->at, "&|!() \t");
	if (!length || length >= sizeof name)
		return false;
	memcpy(name, p->at, length);
	name[length] = '\0';
	p->at += length;
	int feature = schedule_names_find(&p->cluster->features, name);
	if (feature >= 0)
		memcpy(set, p->cluster->with_feature[feature], p->cluster->words * sizeof *set);
	else
		memset(set, 0, p->cluster->words * sizeof *set);
	return true;
}

static bool parse_one(struct parse *p, uint64_t *set)
{
	bool well = false;
	if (p->depth++ >= DEEPEST)
		return false;
	switch (parse_peek(p)) {
	case '!':
		p->at++;
		well = parse_one(p, set);
		for (size_t w = 0; w < p->cluster->words; w++)
			set[w] = ~set[w];
		break;
	case '(':
		p->at++;
		well = parse_any(p, set) && parse_peek(p) == ')';
		p->at += well;
		break;
	default:
		well = parse_name(p, set);
	}
	p->depth--;
	return well;
}

static bool parse_all(struct parse *p, uint64_t *set)
{
	if (!parse_one(p, set))
		return false;
	uint64_t *other = NULL;
	while (parse_peek(p) == '&') {
		p->at++;
		other = other ? other : schedule_cluster_bits(p->cluster);
		if (!parse_one(p, other))
			return false;
		for (size_t w = 0; w < p->cluster->words; w++)
			set[w] &= other[w];
	}
	return true;
}

static bool parse_any(struct parse *p, uint64_t *set)
{
	if (!parse_all(p, set))
		return false;
	uint64_t *other = NULL;
	while (parse_peek(p) == '|') {
		p->at++;
		other = other ? other : schedule_cluster_bits(p->cluster);
		if (!parse_all(p, other))
			return false;
		for (size_t w = 0; w < p->cluster->words; w++)
			set[w] |= other[w];
	}
	return true;
}

bool schedule_feature_match(const struct schedule_cluster *cluster, const char *expression, uint64_t *set)
{
	struct parse p = {.cluster = cluster, .at = expression};
	uint64_t *match = schedule_cluster_bits(cluster);
	bool well = parse_any(&p, match) && !parse_peek(&p);
	for (size_t w = 0; w < cluster->words; w++)
		set[w] = well ? set[w] & match[w] : 0;
	return well;
}
