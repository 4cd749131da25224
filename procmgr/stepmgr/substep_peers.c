/* substep_peers.c - parses and evaluates dependencies between sub-steps.
 *
 * Called by: substep_engine.c.
 * Invariants: a sub-step depends only on earlier ones, so there is no cycle. */
#include "procmgr/stepmgr/substep_peers.h"

#include <stdlib.h>
#include <string.h>

static const char *const conditions[] = {"ok", "any", "fail", "start"};

static int find_name(struct substep_engine *m, const char *name)
{
	for (int number = substep_table_count(m); number >= 1; number--) {
		const struct substep *s = substep_table_find(m, number);
		if (s && strcmp(s->name, name) == 0)
			return number;
	}
	return 0;
}

static bool parse_peer(struct substep_engine *m, char *text, struct substep_peer *peer, struct err *e)
{
	char *colon = strrchr(text, ':'), *end;
	const char *condition = colon ? colon + 1 : "ok";
	size_t i = 0, count = sizeof conditions / sizeof *conditions;
	if (colon)
		*colon = '\0';
	while (i < count && strcmp(conditions[i], condition) != 0)
		i++;
	if (i == count)
		return err_set(e, "\"after\": \"%.32s\" is not ok, any, fail or start", condition);
	long number = strtol(text, &end, 10);
	if (!*text || *end)
		number = find_name(m, text);
	if (!substep_table_find(m, number))
		return err_set(e, "\"after\": there is no sub-step \"%.64s\"", text);
	*peer = (struct substep_peer){(int)number, *condition};
	return true;
}

bool substep_peers_parse(struct substep_engine *m, const char *after, struct substep_peer **peers, int *count, bool *any,
			 struct err *e)
{
	char *copy = xstrdup(after), *save;
	bool good = true;
	*any = strchr(after, '?') != NULL;
	*count = 0;
	*peers = NULL;
	if (*any && strchr(after, ','))
		good = err_set(e, "\"after\": \",\" and \"?\" cannot be mixed");
	for (char *part = strtok_r(copy, ",?", &save); good && part; part = strtok_r(NULL, ",?", &save)) {
		*peers = xrealloc(*peers, (unsigned long)(*count + 1) * sizeof **peers);
		good = parse_peer(m, part, &(*peers)[(*count)++], e);
	}
	if (!good) {
		free(*peers);
		*peers = NULL;
		*count = 0;
	}
	free(copy);
	return good;
}

static enum substep_peers_state peer_state(const struct substep *s, char condition)
{
	bool ended = substep_has_ended(s), good = s->state == SUBSTEP_COMPLETED;
	if (condition == 's')
		return s->run > 0 ? SUBSTEP_PEERS_MET : ended ? SUBSTEP_PEERS_NEVER : SUBSTEP_PEERS_OPEN;
	if (!ended)
		return SUBSTEP_PEERS_OPEN;
	if (condition == 'f')
		return !good ? SUBSTEP_PEERS_MET : SUBSTEP_PEERS_NOT_NEEDED;
	return condition == 'a' || good ? SUBSTEP_PEERS_MET : SUBSTEP_PEERS_NEVER;
}

enum substep_peers_state substep_peers_state(struct substep_engine *m, const struct substep *s)
{
	int met = 0, never = 0, not_needed = 0;
	for (int i = 0; i < s->peer_count; i++) {
		enum substep_peers_state state = peer_state(substep_table_find(m, s->peers[i].number), s->peers[i].condition);
		met += state == SUBSTEP_PEERS_MET;
		never += state == SUBSTEP_PEERS_NEVER;
		not_needed += state == SUBSTEP_PEERS_NOT_NEEDED;
	}
	if (s->any_peer ? met > 0 : met == s->peer_count)
		return SUBSTEP_PEERS_MET;
	if (s->any_peer ? never + not_needed < s->peer_count : never + not_needed == 0)
		return SUBSTEP_PEERS_OPEN;
	return never > 0 ? SUBSTEP_PEERS_NEVER : SUBSTEP_PEERS_NOT_NEEDED;
}
