/* peers.c - describes how a step is bound to its peers, in the same words for `rota show`, `rota watch` (picture.c) and `rota
 * check`. */
#include "bin/rota/print/peers.h"

#include <stdio.h>
#include <string.h>

#include "bin/rota/print/format.h"
#include "lib/err.h"

const char *peers_kind(const char *kind)
{
	if (!strcmp(kind, "same_nodes"))
		return "same nodes as";
	return strcmp(kind, "other_nodes") ? kind : "other nodes than";
}

/* Returns the label of a peer, without the job number if step and peer belong to the same job. */
static const char *peer_name(const json_t *step, const json_t *peer)
{
	const char *label = format_text(peer, "label"), *dot = strchr(label, '.');

	return dot && !strncmp(label, format_text(step, "label"), (size_t)(dot - label + 1)) ? dot + 1 : label;
}

char *peers_text(const json_t *step, bool waiting)
{
	char *text = NULL;
	size_t size, i;
	FILE *out = open_memstream(&text, &size);
	const json_t *peer;
	const char *separator = "";
	bool any = json_is_true(json_object_get(step, "deps_any")), said = !waiting, behind = false;

	if (!out)
		die("out of memory");
	json_array_foreach (json_object_get(step, "after"), i, peer) {
		const char *kind = format_text(peer, "kind"), *condition = format_text(peer, "condition");
		bool after = !strcmp(kind, "after");

		if (waiting && format_state_final(format_text(peer, "state")))
			continue;
		/* As in --after, "?" between dependencies means that one of them is enough. */
		fprintf(out, "%s%s%s%s", any && after && behind ? "?" : separator, after && said ? "" : peers_kind(kind),
			after && said ? "" : " ", peer_name(step, peer));
		if (after && condition[0] && strcmp(condition, "ok"))
			fprintf(out, ":%s", condition);
		said |= after;
		behind = after;
		separator = ", ";
	}
	if (fclose(out))
		die("out of memory");
	return text;
}
