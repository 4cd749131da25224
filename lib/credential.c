/* credential.c - reads names, kinds and lists of credentials, and makes the contexts of uploads and deliveries.
 *
 * Called by: order.c, the translator, rota-credd, procmgrd and keepers.
 * Invariants:
 * - The name of a credential begins with a letter and has no slash, so it is a valid file name, and differs from the names of
 *   other files in the same folder. */
#include "lib/credential.h"

#include <inttypes.h>
#include <string.h>

#include "lib/err.h"

static const char *const kinds[CREDENTIAL_KINDS] = {"krb5", "token", "ssh-key", "x509", "file", "command"};

static bool credential_owner_valid(const char *owner)
{
	size_t length = strlen(owner);
	return length > 0 && length < CREDENTIAL_OWNER_SIZE && *owner != '-' && *owner != '.' &&
	       strspn(owner, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == length;
}

bool credential_name_valid(const char *name)
{
	size_t length = strcspn(name, "@");
	return length < CREDENTIAL_OWN_NAME_SIZE && *name >= 'a' && *name <= 'z' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length &&
	       (!name[length] || credential_owner_valid(name + length + 1));
}

const char *credential_kind_name(enum credential_kind kind)
{
	return kinds[kind];
}

bool credential_kind_read(const char *name, enum credential_kind *kind)
{
	for (int i = 0; i < CREDENTIAL_KINDS; i++) {
		*kind = (enum credential_kind)i;
		if (strcmp(kinds[i], name) == 0)
			return true;
	}
	return false;
}

/* Read one name, of `length` bytes, from a list of credentials. The kind of the credential stays unknown (CREDENTIAL_KINDS). */
static bool credential_read(const char *text, size_t length, struct credential *credential)
{
	char part[CREDENTIAL_NAME_SIZE];
	if (length >= sizeof part)
		return false;
	memcpy(part, text, length);
	part[length] = '\0';
	if (!credential_name_valid(part))
		return false;
	strcpy(credential->name, part);
	credential->kind = CREDENTIAL_KINDS;
	return true;
}

int credential_list_read(const char *text, struct credential list[CREDENTIALS_MOST])
{
	int count = 0;
	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ",");
		if (count == CREDENTIALS_MOST || !credential_read(at, length, &list[count]))
			return -1;
		for (int i = 0; i < count; i++)
			if (strcmp(list[i].name, list[count].name) == 0)
				return -1;
		count++;
		at += length;
		if (!*at)
			return count;
	}
}

char *credential_upload_context(const char *instance, uid_t uid, const char *name, const char *kind)
{
	return xasprintf("rota upload 1\n%s\n%ld\n%s\n%s", instance, (long)uid, name, kind);
}

char *credential_grant_text(const char *instance, uid_t owner, const char *name, const char *origin, uid_t grantee, int64_t until)
{
	return xasprintf("rota grant 1\n%s\n%ld\n%s\n%s\n%ld\n%" PRId64, instance, (long)owner, name, origin, (long)grantee,
			 until);
}

char *credential_delivery_context(const struct credential_delivery *d)
{
	return xasprintf("rota delivery 1\n%s\n%s\n%" PRId64 ".%d.%d\n%ld\n%s\n%s\n%" PRId64, d->instance, d->node, d->job_id,
			 d->step_id, d->attempt, (long)d->uid, d->credential->name, credential_kind_name(d->credential->kind),
			 d->version);
}
