/* launcher_driver_box.c - seals a credential for a node, or for something else than that, and puts it into the node's cache.
 *
 * Called by: launcher_driver.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/box.h"
#include "procmgr/record/credential_box.h"
#include "procmgr/record/record.h"
#include "tests/system/launcher_driver.h"

/* The attempt, node and name that a box is sealed for; each may differ from what it is used for. */
struct delivery {
	struct credential_delivery of;
	struct credential credential;
	const char *kind, *file, *sender;
	int64_t header; /* version in the header of the file; 0: that of the box */
};

static void delivery_set(struct delivery *d, const char *name, const char *value)
{
	const struct driver_setting settings[] = {
		{"attempt", &d->of.attempt, NULL, NULL, NULL}, {"job", NULL, &d->of.job_id, NULL, NULL},
		{"version", NULL, &d->of.version, NULL, NULL}, {"header", NULL, &d->header, NULL, NULL},
		{"node", NULL, NULL, NULL, &d->of.node},       {"instance", NULL, NULL, NULL, &d->of.instance},
		{"kind", NULL, NULL, NULL, &d->kind},	       {"file", NULL, NULL, NULL, &d->file},
		{"sender", NULL, NULL, NULL, &d->sender},      {NULL, NULL, NULL, NULL, NULL}};
	if (strcmp(name, "uid") == 0)
		d->of.uid = (uid_t)strtoul(value, NULL, 10);
	else if (!driver_set(settings, name, value))
		die("unknown setting \"%s\"", name);
}

static void put_box(const char *path, const struct delivery *d, const unsigned char *box, size_t size)
{
	unsigned char header[CREDENTIAL_BOX_HEADER];
	char *fresh = xasprintf("%s.fresh", path);
	FILE *file = fopen(fresh, "w");
	credential_box_header(d->credential.kind, d->header > 0 ? d->header : d->of.version, header);
	if (!file || fwrite(header, sizeof header, 1, file) != 1 || fwrite(box, size, 1, file) != 1 || fclose(file) != 0 ||
	    rename(fresh, path) < 0)
		die("could not write \"%s\": %m", path);
	free(fresh);
}

int driver_seal_box(int argc, char **argv)
{
	static char secret[CREDENTIAL_SECRET_LARGEST];
	struct record_key key = {atoll(argv[0]), 0, 1, 0};
	struct delivery d = {.of = {driver_conf.instance_name, driver_node, key.job_id, 0, 1, getuid(), &d.credential, 1},
			     .kind = "file"};
	char name[CREDENTIAL_BOX_NAME], *node_key = xasprintf("%s/node.key", driver_conf.keys_dir);
	char *sender = xasprintf("%s/cred.key", driver_conf.keys_dir);
	struct err e;
	d.sender = sender;
	for (int i = 2; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value)
			die("\"%s\" is not NAME=VALUE", argv[i]);
		*value++ = '\0';
		delivery_set(&d, argv[i], value);
	}
	snprintf(d.credential.name, sizeof d.credential.name, "%s", argv[1]);
	if (!credential_kind_read(d.kind, &d.credential.kind))
		die("\"%s\" is no kind", d.kind);
	struct box_key *to = box_key_read(node_key, &e), *from = to ? box_key_read(d.sender, &e) : NULL;
	unsigned char public_key[BOX_KEY], *box;
	driver_must(from != NULL, &e);
	box_key_public(to, public_key);
	size_t size = fread(secret, 1, sizeof secret, stdin);
	char *context = credential_delivery_context(&d.of);
	driver_must(box_seal(public_key, from, context, secret, size, &box, &size, &e), &e);
	credential_box_name(&key, d.file ? d.file : argv[1], name);
	char *path = xasprintf("%s/%s/cache/%s", driver_conf.node_state, driver_node, name);
	put_box(path, &d, box, size);
	free(box);
	free(path);
	free(context);
	free(node_key);
	free(sender);
	box_key_free(to);
	box_key_free(from);
	return 0;
}
