/* hosts_fold.c - node names as Slurm writes them: "n[1-3,5],m[07-09]".
 *
 * Called by: the keeper for SLURM_JOB_NODELIST, `rota up`.
 * Invariants: node names keep their order, which tells where tasks run; a number keeps its width, since n07 and n7 are two
 * nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hosts.h"

enum { DIGITS_MOST = 9 };

/* One node name in a comma-separated list. */
struct name {
	const char *text;
	int length; /* length of the part of the name before the number */
	int digits; /* number of digits at the end of the name */
	int number;
};

static struct name name_at(const char *text)
{
	struct name n = {text, (int)strcspn(text, ","), 0, 0};
	while (n.length > 0 && n.digits < DIGITS_MOST && text[n.length - 1] >= '0' && text[n.length - 1] <= '9')
		n.length--, n.digits++;
	n.number = n.digits > 0 ? atoi(text + n.length) : 0;
	return n;
}

static const char *name_behind(const struct name *n)
{
	const char *end = n->text + n->length + n->digits;
	return *end ? end + 1 : end;
}

static bool is_padded(const struct name *n)
{
	return n->digits > 1 && n->text[n->length] == '0';
}

static bool same_kind(const struct name *a, const struct name *b)
{
	return a->digits > 0 && b->digits > 0 && a->length > 0 && a->length == b->length &&
	       memcmp(a->text, b->text, (size_t)a->length) == 0;
}

static bool name_follows(const struct name *a, const struct name *b)
{
	bool width = a->digits == b->digits || (!is_padded(a) && !is_padded(b));
	return same_kind(a, b) && b->number == a->number + 1 && width;
}

/* Returns the last of the consecutive node names that count up by one from `n` on. */
static struct name run_end(struct name n)
{
	for (struct name next = name_at(name_behind(&n)); name_follows(&n, &next); next = name_at(name_behind(&n)))
		n = next;
	return n;
}

/* Write consecutive node names that differ only in their numbers as one item. Returns the rest of the list after these names. */
static const char *write_kind(FILE *out, const char *text)
{
	struct name first = name_at(text), last, next = name_at(name_behind(&first));
	bool several = same_kind(&first, &next);
	fprintf(out, "%.*s%s", first.length, first.text, several ? "[" : "");
	for (;; first = next) {
		last = run_end(first);
		fprintf(out, "%.*s", first.digits, first.text + first.length);
		if (last.text != first.text)
			fprintf(out, "-%.*s", last.digits, last.text + last.length);
		next = name_at(name_behind(&last));
		if (!same_kind(&last, &next))
			break;
		fputc(',', out);
	}
	fputs(several ? "]" : "", out);
	return name_behind(&last);
}

char *hosts_fold(const char *names)
{
	char *folded = NULL;
	size_t size;
	FILE *out = open_memstream(&folded, &size);
	if (!out)
		die("out of memory");
	while (*names) {
		names = write_kind(out, names);
		if (*names)
			fputc(',', out);
	}
	if (fclose(out) != 0)
		die("out of memory");
	return folded;
}
