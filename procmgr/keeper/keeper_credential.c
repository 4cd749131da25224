/* keeper_credential.c - the credentials of an attempt: opens their boxes, writes them where the owner's programs find them, replaces them
 * when they are renewed, and destroys them at the end.
 *
 * Called by: keeper.c before the prologs and after the epilogs; keeper_control.c, when procmgrd has changed a box.
 * Invariants:
 * - A box is opened only as what the signed launch request says: this node, attempt, user and name. procmgrd, which writes the boxes,
 *   can withhold one, and can neither read nor make one. The kind comes with the first box, and stays.
 * - A version is never older than one that the attempt had before, and none that was removed.
 * - The bytes of a secret are in no message and no record, and are wiped before their memory is freed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/box.h"
#include "lib/crash.h"
#include "lib/log.h"
#include "procmgr/keeper/credential_folder.h"
#include "procmgr/keeper/keeper_parts.h"
#include "procmgr/record/credential_box.h"

/* A credential of the step. */
struct held {
	struct credential credential;
	int64_t version; /* oldest version that the attempt takes: the newest it had, or the next if that was removed; 0: any */
	bool there;	 /* the owner can use the credential now */
};

struct keeper_credentials {
	struct held list[CREDENTIALS_MOST];
	int count, ssh_count; /* count: number of all credentials; ssh_count: number of those of kind ssh-key */
	struct credential_folder folder;
	struct task_credentials variables;
};

static const char agent_socket[] = ".agent";

/* Returns the name of the step's first credential of a kind, or NULL. */
static const char *first_of(const struct keeper_credentials *c, enum credential_kind kind)
{
	for (int i = 0; i < c->count; i++)
		if (c->list[i].credential.kind == kind)
			return c->list[i].credential.name;
	return NULL;
}

static struct keeper_credentials *credentials_new(const char *text)
{
	struct credential list[CREDENTIALS_MOST];
	struct keeper_credentials *c = xcalloc(1, sizeof *c);
	c->folder.fd = -1;
	c->count = credential_list_read(text, list); /* the list is valid: the parser of the launch request has checked it */
	for (int i = 0; i < c->count; i++)
		c->list[i].credential = list[i];
	return c;
}

/* Store the name of the first credential of each kind, for the variables of the tasks. Call when all boxes were opened, which
 * gives the kinds. */
static bool credentials_name(struct keeper_credentials *c, struct err *e)
{
	for (int i = 0; i < c->count; i++)
		c->ssh_count += c->list[i].credential.kind == CREDENTIAL_SSH_KEY;
	if (c->ssh_count > KEEPER_SSH_KEYS_MOST)
		return err_set(e, "a step can have at most %d credentials of kind ssh-key", KEEPER_SSH_KEYS_MOST);
	c->variables = (struct task_credentials){.folder = c->folder.path,
						 .krb5 = first_of(c, CREDENTIAL_KRB5),
						 .x509 = first_of(c, CREDENTIAL_X509),
						 .token = first_of(c, CREDENTIAL_TOKEN),
						 .agent = c->ssh_count > 0 ? agent_socket : NULL};
	return true;
}

/* The secret of a credential, from an opened box, and its version. */
struct secret {
	unsigned char *bytes;
	size_t size;
	int64_t version;
};

static void secret_wipe(struct secret *s)
{
	xfree_wiped(s->bytes, s->size);
	s->bytes = NULL;
}

/* Read the file of a credential's box. Returns NULL if there is none; errno is then ENOENT. */
static char *read_box(const struct keeper *k, const struct held *h, size_t *size, struct err *e)
{
	char name[CREDENTIAL_BOX_NAME], path[sizeof "cache/" + CREDENTIAL_BOX_NAME];
	credential_box_name(&k->key, h->credential.name, name);
	snprintf(path, sizeof path, "cache/%s", name);
	return keeper_file_plain(path, CREDENTIAL_BOX_HEADER + BOX_OVERHEAD + CREDENTIAL_SECRET_LARGEST, size, e);
}

static bool open_box(const struct keeper *k, struct held *h, const char *file, size_t size, struct secret *s, struct err *e)
{
	const struct order *o = k->order;
	struct credential credential = h->credential;
	struct credential_delivery d = {
		k->job->conf->instance_name, o->node, o->job_id, o->step_id, o->attempt, o->uid, &credential, 0};
	if (size >= CREDENTIAL_BOX_HEADER)
		d.version = credential_box_version((const unsigned char *)file, &credential.kind);
	if (d.version == 0)
		return err_set(e, "its file in the cache is malformed");
	if (h->credential.kind != CREDENTIAL_KINDS && h->credential.kind != credential.kind)
		return err_set(e, "its new box has a secret of kind %s, but the attempt has kind %s",
			       credential_kind_name(credential.kind), credential_kind_name(h->credential.kind));
	char *context = credential_delivery_context(&d);
	bool opened =
		box_open(k->job->keys->node, k->job->keys->credd, context, (const unsigned char *)file + CREDENTIAL_BOX_HEADER,
			 size - CREDENTIAL_BOX_HEADER, &s->bytes, &s->size, e);
	free(context);
	s->version = d.version;
	if (opened)
		h->credential.kind = credential.kind;
	return opened;
}

/* Read and open the box of a credential. *gone becomes true if there is no box. */
static bool secret_read(const struct keeper *k, struct held *h, struct secret *s, bool *gone, struct err *e)
{
	size_t size;
	char *file = read_box(k, h, &size, e);
	*gone = !file && errno == ENOENT;
	if (!file)
		return false;
	bool opened = open_box(k, h, file, size, s, e);
	free(file);
	if (opened && s->version < h->version) {
		secret_wipe(s);
		opened = err_set(e, "its box in the cache is older than the version that the attempt has");
	}
	return opened;
}

/* Give a new version of a credential to the owner. Keys for ssh-agent are read again when the agent is to have them. */
static bool credential_deliver(struct keeper *k, struct held *h, const struct secret *s, struct err *e)
{
	bool is_key = h->credential.kind == CREDENTIAL_SSH_KEY;
	if (!is_key && !credential_folder_write(&k->credentials->folder, &k->owner, h->credential.name, s->bytes, s->size, e))
		return false;
	h->version = s->version;
	h->there = true;
	return true;
}

/* Give all credentials to the owner, before any program of the owner runs. */
static bool deliver_all(struct keeper *k, struct err *e)
{
	struct keeper_credentials *c = k->credentials;
	for (int i = 0; i < c->count; i++) {
		struct secret s;
		bool gone, good = secret_read(k, &c->list[i], &s, &gone, e);
		if (good) {
			good = credential_deliver(k, &c->list[i], &s, e);
			secret_wipe(&s);
		}
		if (!good) {
			struct err why = *e;
			return err_set(e, "credential \"%s\": %.400s", c->list[i].credential.name,
				       gone ? "the node did not get it" : why.message);
		}
		crash_point(CRASH_keeper_credential_given);
	}
	return true;
}

static bool open_all(struct keeper *k, struct err *e)
{
	if (!k->job->keys)
		return err_set(e,
			       "node \"%s\" cannot open credentials: give it the keys node.key and cred.pub, and start "
			       "rota-launcher again",
			       k->order->node);
	if (!credential_folder_make(&k->credentials->folder, k->job->dir, k->name, k->tag, &k->owner, k->credentials->count, e))
		return false;
	k->delivered = &k->credentials->variables;
	crash_point(CRASH_keeper_credential_folder);
	return deliver_all(k, e) && credentials_name(k->credentials, e);
}

bool keeper_credential_open(struct keeper *k)
{
	struct err e;
	if (!k->order->spec.credentials)
		return true;
	k->credentials = credentials_new(k->order->spec.credentials);
	if (open_all(k, &e))
		return true;
	k->failure = KEEPER_FAILURE_NODE;
	snprintf(k->message, sizeof k->message, "%s", e.message);
	return false;
}

/* For each ssh-key that the owner can use, open a pipe from which ssh-add reads the key. Returns the number of pipes. */
static int open_keys(struct keeper *k, int keys[KEEPER_SSH_KEYS_MOST])
{
	int count = 0;
	for (int i = 0; i < k->credentials->count; i++) {
		struct held *h = &k->credentials->list[i];
		struct secret s;
		struct err e;
		bool gone;
		if (h->credential.kind != CREDENTIAL_SSH_KEY || !h->there)
			continue;
		bool read = secret_read(k, h, &s, &gone, &e);
		keys[count] = read ? keeper_ssh_agent_pipe(s.bytes, s.size, &e) : -1;
		if (read)
			secret_wipe(&s);
		if (keys[count] < 0)
			log_warning("attempt %s: credential \"%s\": %s", k->name, h->credential.name, e.message);
		count += keys[count] >= 0;
	}
	return count;
}

bool keeper_credential_agent(struct keeper *k)
{
	int keys[KEEPER_SSH_KEYS_MOST];
	struct keeper_credentials *c = k->credentials;
	if (!c || c->ssh_count == 0 || !c->folder.path)
		return true;
	credential_folder_remove(&c->folder, agent_socket);
	int count = open_keys(k, keys);
	bool started = keeper_ssh_agent_start(k, keys, count);
	for (int i = 0; i < count; i++)
		close(keys[i]);
	if (started)
		return true;
	snprintf(k->message, sizeof k->message,
		 "ssh-agent did not start, or ssh-add did not take a key: it must be a private key without a passphrase");
	return false;
}

static void credential_withdraw(struct keeper *k, struct held *h)
{
	if (h->credential.kind != CREDENTIAL_SSH_KEY)
		credential_folder_remove(&k->credentials->folder, h->credential.name);
	h->there = false;
	h->version++; /* no box of the removed version is accepted again, whoever writes one */
	log_info("attempt %s: credential \"%s\" was removed", k->name, h->credential.name);
}

/* Compare one credential with its box in the cache. Returns true if the owner has got another version, or the credential was
 * removed. */
static bool look_at(struct keeper *k, struct held *h)
{
	struct secret s;
	struct err e;
	bool gone, had = h->there, good = secret_read(k, h, &s, &gone, &e);
	if (gone) {
		if (had)
			credential_withdraw(k, h);
		return had;
	}
	bool is_new = good && (s.version > h->version || !had);
	if (is_new)
		good = credential_deliver(k, h, &s, &e);
	if (!good)
		log_warning("attempt %s: credential \"%s\" is not renewed: %s", k->name, h->credential.name, e.message);
	if (good || is_new)
		secret_wipe(&s);
	return good && is_new;
}

void keeper_credential_look(struct keeper *k)
{
	struct keeper_credentials *c = k->credentials;
	bool keys_changed = false;
	if (!c || !c->folder.path)
		return;
	for (int i = 0; i < c->count; i++) {
		bool changed = look_at(k, &c->list[i]);
		if (changed)
			crash_point(CRASH_keeper_credential_renewed);
		keys_changed = keys_changed || (changed && c->list[i].credential.kind == CREDENTIAL_SSH_KEY);
	}
	if (!keys_changed || !keeper_ending_is_busy(k))
		return;
	int keys[KEEPER_SSH_KEYS_MOST], count = open_keys(k, keys);
	keeper_ssh_agent_reload(k, keys, count);
	for (int i = 0; i < count; i++)
		close(keys[i]);
}

void keeper_credential_close(struct keeper *k)
{
	if (!k->credentials)
		return;
	credential_folder_destroy(&k->credentials->folder);
	credential_box_remove(&k->key);
	k->delivered = NULL;
	free(k->credentials);
	k->credentials = NULL;
}
