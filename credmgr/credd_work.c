/* credd_work.c - uploads, renewals and tests under way: their secrets, and their processes of rota-credential.
 *
 * Called by: credd_upload.c, credd_renew.c, credd_test.c.
 * Invariants:
 * - This process has one copy of the secret of an upload, renewal or test, and wipes it at the end.
 * - Each upload, and each renewal of a credential, is under way at most once. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credmgr/credd_parts.h"

enum { WORK_ARGUMENTS = 10 };

int credd_work_free_slots(const struct credd *c)
{
	return c->conf->credentials_calls - c->work_count;
}

bool credd_work_has_upload(const struct credd *c, int64_t id)
{
	for (const struct credd_work *w = c->works; w; w = w->next)
		if (w->what == WORK_UPLOAD && w->id == id)
			return true;
	return false;
}

int credd_work_count_tests(const struct credd *c)
{
	int count = 0;
	for (const struct credd_work *w = c->works; w; w = w->next)
		count += w->what == WORK_TEST;
	return count;
}

struct credd_work *credd_work_new(struct credd *c, int what, int64_t id, const struct credd_row *r, unsigned char *secret,
				  size_t size)
{
	struct credd_work *w = xcalloc(1, sizeof *w);
	*w = (struct credd_work){.next = c->works,
				 .credd = c,
				 .what = what,
				 .id = id,
				 .uid = r->uid,
				 .name = xstrdup(r->name),
				 .kind = xstrdup(r->kind),
				 .origin = xstrdup(r->origin),
				 .version = r->version,
				 .secret = secret,
				 .size = size};
	c->works = w;
	c->work_count++;
	return w;
}

void credd_work_end(struct credd_work *w)
{
	struct credd *c = w->credd;
	struct credd_work **link = &c->works;
	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
	c->work_count--;
	if (w->child)
		child_free(w->child);
	xfree_wiped(w->secret, w->size);
	free(w->name);
	free(w->kind);
	free(w->origin);
	free(w);
}

void credd_work_answered(struct credd_work *w, const PGresult *result)
{
	struct credd *c = w->credd;
	credd_work_end(w);
	if (result)
		c->due[CREDD_UPLOAD] = c->due[CREDD_RENEW] = c->due[CREDD_TEST] = true;
}

/* Add the argument --NAME=VALUE, if `value` is not empty. */
static void work_add(char **arguments, int *count, const char *name, const char *value)
{
	if (value && *value)
		arguments[(*count)++] = xasprintf("--%s=%s", name, value);
}

void credd_work_start(struct credd_work *w, const char *action, struct credd_said said, child_done *done)
{
	struct credd *c = w->credd;
	/* the user's name comes from the uid, not from the database, since a secret belongs to a uid */
	const struct passwd *user = getpwuid((uid_t)w->uid);
	char *arguments[WORK_ARGUMENTS + 1] = {xstrdup(action), xstrdup(w->kind)};
	int count = 2;
	work_add(arguments, &count, "now", said.now);
	work_add(arguments, &count, "user", user ? user->pw_name : NULL);
	work_add(arguments, &count, "refresh-url", said.refresh_url);
	work_add(arguments, &count, "refresh-allowed", c->conf->credentials_refresh_allowed);
	work_add(arguments, &count, "curl", c->conf->hooks_webhook_program);
	work_add(arguments, &count, "command", said.command);
	work_add(arguments, &count, "command-folder", c->conf->credentials_command_folder);
	work_add(arguments, &count, "expires", said.expires);
	w->child = child_start(c->base, arguments, w->secret, w->size, c->conf->credentials_timeout, done, w);
	for (int i = 0; i < count; i++)
		free(arguments[i]);
}

bool credd_work_seal(const struct credd_work *w, const void *secret, size_t size, unsigned char nonce[KEYRING_NONCE],
		     unsigned char **sealed, size_t *sealed_size, struct err *e)
{
	struct credd_row r = {.name = w->name, .kind = w->kind, .origin = w->origin, .uid = w->uid, .version = w->version};
	char *context = credd_row_context(&r);
	bool good = keyring_seal(w->credd->ring, context, secret, size, nonce, sealed, sealed_size, e);
	free(context);
	return good;
}
