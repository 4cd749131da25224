/* option_features.c - the expression of --constraint: features with & (binds tighter), |, ! and parentheses.
 *
 * Called by: option_value.c.
 * Invariants:
 * - A valid expression is a sentence of
 *     or = and {"|" and};  and = unit {"&" unit};  unit = {"!"} (feature | "(" or ")")
 *   without blanks around the operators, and at most DEEPEST parentheses and ! deep, so evaluating it by recursion is safe. */
#include <string.h>

#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/option_value.h"

enum { LONGEST = 1024, DEEPEST = 32 };

struct features_parser {
	const char *at;
	int depth;
};

static bool features_parse_or(struct features_parser *p);

static bool features_parse_name(struct features_parser *p)
{
	char name[80];
	size_t length = 0;
	while (p->at[length] && !strchr("&|!()", p->at[length]))
		length++;
	if (length == 0 || length >= sizeof name)
		return false;
	memcpy(name, p->at, length);
	name[length] = '\0';
	if (!option_text_name(name, "_.-", ""))
		return false;
	p->at += length;
	return true;
}

static bool features_parse_unit(struct features_parser *p)
{
	int outside = p->depth;
	for (; *p->at == '!'; p->at++)
		p->depth++;
	bool good;
	if (*p->at == '(') {
		p->at++;
		good = ++p->depth <= DEEPEST && features_parse_or(p) && *p->at == ')';
		p->at += good;
	} else {
		good = p->depth <= DEEPEST && features_parse_name(p);
	}
	p->depth = outside;
	return good;
}

static bool features_parse_list(struct features_parser *p, char separator, bool (*part)(struct features_parser *p))
{
	while (part(p)) {
		if (*p->at != separator)
			return true;
		p->at++;
	}
	return false;
}

static bool features_parse_and(struct features_parser *p)
{
	return features_parse_list(p, '&', features_parse_unit);
}

static bool features_parse_or(struct features_parser *p)
{
	return features_parse_list(p, '|', features_parse_and);
}

json_t *option_features(const char *text, struct err *e)
{
	char packed[LONGEST + 1];
	size_t length = 0;
	if (strcmp(text, "none") == 0)
		return json_string("");
	if (strlen(text) > LONGEST) {
		err_set(e, "the expression is longer than %d bytes", LONGEST);
		return NULL;
	}
	for (const char *c = text; *c; c++)
		if (*c != ' ' || (length > 0 && c[1] && !strchr("&|!() ", c[1]) && !strchr("&|!(", packed[length - 1])))
			packed[length++] = *c;
	packed[length] = '\0';
	struct features_parser p = {packed, 0};
	if (features_parse_or(&p) && !*p.at)
		return json_string(packed);
	err_set(e, "\"%s\" is not an expression, at \"%s\"", OPTION_QUOTE(text), OPTION_QUOTE(p.at));
	err_hint(e, "features have letters, digits and _ . -, with & (and), | (or), ! (not) and parentheses between");
	return NULL;
}
