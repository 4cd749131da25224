/* launcher_driver - drives a real rota-launcher without a database, for tests/system/launcher.bats.
 *
 * Installed beside rota-launcher as `procmgrd`, the launcher starts it: it then passes packets from a socket (sock/driver in the
 * folder of rota.conf) to the launcher, as they are. Called by the test, it makes orders, signs them with the instance's key,
 * sends them there, and reads the journal. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/box.h"
#include "lib/clock.h"
#include "lib/conf.h"
#include "lib/journal.h"
#include "lib/log.h"
#include "lib/order.h"
#include "lib/seal.h"
#include "procmgr/record/credential_box.h"
#include "procmgr/record/lease.h"
#include "procmgr/record/record.h"

enum { PACKET_LARGEST = 200 * 1024 };

static struct conf conf;
static const char *node = "n1";

static void must(bool good, const struct err *e)
{
	if (!good)
		die("%s", e->message);
}

static struct sockaddr_un address(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char *copy = xstrdup(conf.path);
	snprintf(a.sun_path, sizeof a.sun_path, "%s/sock/driver", dirname(copy));
	free(copy);
	return a;
}

/* As procmgrd: pass on what comes. */
static int pass_on(void)
{
	static char packet[PACKET_LARGEST];
	struct sockaddr_un a = address();
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unlink(a.sun_path);
	struct lease lease = lease_extended(NULL, clock_boot_us(), 3600, 60); /* nothing starts without one */
	struct err e;
	must(lease_write(&lease, &e), &e);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || chmod(a.sun_path, 0777) < 0)
		die("could not listen at \"%s\": %m", a.sun_path);
	for (;;) {
		ssize_t size = recv(fd, packet, sizeof packet, 0);
		if (size >= 0 && send(3, packet, (size_t)size, MSG_NOSIGNAL) < 0)
			return 1;
	}
}

static void send_packet(const char *text, size_t size)
{
	struct sockaddr_un a = address();
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (int try = 0; sendto(fd, text, size, 0, (struct sockaddr *)&a, sizeof a) < 0; try++) {
		if (try == 300)
			die("could not reach \"%s\": %m", a.sun_path);
		usleep(10000);
	}
	close(fd);
}

static void send_fields(struct fields *f)
{
	size_t size;
	const char *text = fields_text(f, &size);
	send_packet(text, size);
	fields_free(f);
}

static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r");
	struct stat st;
	if (!file || fstat(fileno(file), &st) < 0)
		die("could not open \"%s\": %m", path);
	char *text = xmalloc((unsigned long)st.st_size + 1);
	*size = fread(text, 1, (size_t)st.st_size, file);
	text[*size] = '\0';
	fclose(file);
	return text;
}

/* Put bytes into the node's cache as procmgrd would; their hash. */
static char *cache(const char *bytes, size_t size)
{
	char hex[SEAL_HEX_SIZE];
	seal_hash_hex(bytes, size, hex);
	char *path = xasprintf("%s/%s/cache/%s", conf.node_state, node, hex);
	FILE *file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
		die("could not write \"%s\": %m", path);
	free(path);
	return xstrdup(hex);
}

/* A step that runs once on this node, now, as the caller; argument NAME=VALUE changes a field of the order or its spec. */
static void order_begin(struct order *o)
{
	memset(o, 0, sizeof *o);
	o->job_id = 1;
	o->attempt = 1;
	o->node = node;
	o->nodes = node;
	o->node_count = o->tasks = o->task_count = o->cpus = 1;
	o->gres = "";
	o->uid = getuid();
	o->gid = getgid();
	o->user = getenv("USER") ? getenv("USER") : "root";
	o->array_index = -1;
	o->step_label = "1.script";
	o->grace_s = 2;
	o->prolog = true;
	o->expires_at = time(NULL) + 60;
	o->spec = (struct order_spec){.step_name = "script",
				      .job_name = "test",
				      .account = "",
				      .partition = "",
				      .output = "",
				      .error = "",
				      .input = "",
				      .workdir = "/tmp",
				      .umask = 022,
				      .shell = "",
				      .user_prolog = "",
				      .user_epilog = "",
				      .group = "",
				      .rlimits = "",
				      .submit_ntasks = 1,
				      .cpus_per_task = 1};
}

struct setting {
	const char *name;
	int *number;
	int64_t *big;
	bool *flag;
	const char **text;
};

static bool set(const struct setting *settings, const char *name, const char *value)
{
	for (const struct setting *s = settings; s->name; s++) {
		if (strcmp(s->name, name) != 0)
			continue;
		if (s->number)
			*s->number = (int)strtol(value, NULL, 0);
		if (s->big)
			*s->big = strtoll(value, NULL, 0);
		if (s->flag)
			*s->flag = *value == '1';
		if (s->text)
			*s->text = value;
		return true;
	}
	return false;
}

#define NUMBER(member)                                                                                                           \
	{                                                                                                                        \
#member, &o->member, NULL, NULL, NULL                                                                            \
	}
#define BIG(member)                                                                                                              \
	{                                                                                                                        \
#member, NULL, &o->member, NULL, NULL                                                                            \
	}
#define FLAG(member)                                                                                                             \
	{                                                                                                                        \
#member, NULL, NULL, &o->member, NULL                                                                            \
	}
#define TEXT(member)                                                                                                             \
	{                                                                                                                        \
#member, NULL, NULL, NULL, &o->member                                                                            \
	}
#define SPEC_NUMBER(member)                                                                                                      \
	{                                                                                                                        \
#member, &o->spec.member, NULL, NULL, NULL                                                                       \
	}
#define SPEC_TEXT(member)                                                                                                        \
	{                                                                                                                        \
#member, NULL, NULL, NULL, &o->spec.member                                                                       \
	}

static bool order_set(struct order *o, const char *name, const char *value)
{
	const struct setting settings[] = {
		BIG(job_id),
		NUMBER(step_id),
		NUMBER(attempt),
		TEXT(node),
		TEXT(nodes),
		NUMBER(node_index),
		NUMBER(node_count),
		NUMBER(first_task),
		NUMBER(tasks),
		NUMBER(task_count),
		NUMBER(cpus),
		BIG(mem_mb),
		TEXT(gres),
		TEXT(user),
		NUMBER(array_index),
		NUMBER(array_size),
		TEXT(step_label),
		TEXT(partition),
		BIG(time_limit_s),
		NUMBER(grace_s),
		FLAG(prolog),
		FLAG(wait_for_go),
		BIG(expires_at),
		SPEC_NUMBER(pre_from),
		SPEC_NUMBER(pre_to),
		SPEC_NUMBER(from),
		SPEC_NUMBER(to),
		{"per_task", NULL, NULL, &o->spec.per_task, NULL},
		SPEC_TEXT(step_name),
		SPEC_TEXT(job_name),
		SPEC_TEXT(account),
		SPEC_TEXT(output),
		SPEC_TEXT(error),
		SPEC_TEXT(input),
		{"append", NULL, NULL, &o->spec.append, NULL},
		SPEC_TEXT(workdir),
		SPEC_NUMBER(umask),
		SPEC_TEXT(shell),
		SPEC_TEXT(user_prolog),
		SPEC_TEXT(user_epilog),
		SPEC_TEXT(group),
		SPEC_TEXT(rlimits),
		SPEC_TEXT(credentials),
		SPEC_TEXT(submit_dir),
		SPEC_NUMBER(signal),
		SPEC_NUMBER(signal_s),
		{"signal_shell", NULL, NULL, &o->spec.signal_shell, NULL},
		{NULL, NULL, NULL, NULL, NULL},
	};
	if (strcmp(name, "uid") == 0)
		o->uid = (uid_t)strtoul(value, NULL, 10);
	else if (strcmp(name, "gid") == 0)
		o->gid = (gid_t)strtoul(value, NULL, 10);
	else
		return set(settings, name, value);
	return true;
}

/* Ways to damage a valid launch request. */
struct attack {
	bool signature;	       /* one digit changed */
	const char *from, *to; /* text replaced in the signed order, as long as it was */
	const char *claim;     /* other job number in the message */
	const char *script;    /* hash to name in place of the script's */
};

static void send_order(const struct order *o, const struct attack *attack)
{
	struct err e;
	size_t size;
	unsigned char signature[SEAL_SIGNATURE_SIZE];
	char hex[2 * SEAL_SIGNATURE_SIZE + 1], *path = xasprintf("%s/sign.key", conf.keys_dir);
	struct seal_sign_key *key = seal_sign_key_load(path, &e);
	must(key != NULL, &e);
	struct fields *spec = order_spec_write(&o->spec);
	struct fields *order = order_write(o, fields_text(spec, &size));
	char *text = xstrdup(fields_text(order, &size));
	seal_sign(key, text, size, signature);
	for (int i = 0; i < SEAL_SIGNATURE_SIZE; i++)
		snprintf(hex + 2 * i, 3, "%02x", signature[i]);
	if (attack->signature)
		hex[7] = hex[7] == '0' ? '1' : '0';
	char *found = attack->from ? strstr(text, attack->from) : NULL;
	if (found)
		memcpy(found, attack->to, strlen(attack->to));
	struct fields *message = fields_new();
	fields_add(message, "op", "launch");
	fields_add_int(message, "job", attack->claim ? atoll(attack->claim) : o->job_id);
	fields_add_int(message, "step", o->step_id);
	fields_add_int(message, "attempt", o->attempt);
	fields_add(message, "order", text);
	fields_add(message, "signature", hex);
	send_fields(message);
	fields_free(order);
	fields_free(spec);
	seal_sign_key_free(key);
	free(text);
	free(path);
}

/* launch SCRIPT [NAME=VALUE...] [env:NAME=VALUE...] [attack:...] */
static int launch(int argc, char **argv)
{
	struct order order;
	struct attack attack = {false, NULL, NULL, NULL, NULL};
	char environment[8192];
	size_t size, length = 0;
	order_begin(&order);
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (strncmp(argv[i], "env:", 4) == 0) {
			length += (size_t)snprintf(environment + length, sizeof environment - length, "%s", argv[i] + 4) + 1;
		} else if (strcmp(argv[i], "attack:signature") == 0) {
			attack.signature = true;
		} else if (value && (*value++ = '\0', strcmp(argv[i], "attack:from") == 0)) {
			attack.from = value;
		} else if (value && strcmp(argv[i], "attack:to") == 0) {
			attack.to = value;
		} else if (value && strcmp(argv[i], "attack:claim") == 0) {
			attack.claim = value;
		} else if (value && strcmp(argv[i], "attack:script") == 0) {
			attack.script = value;
		} else if (!value || !order_set(&order, argv[i], value)) {
			die("unknown setting \"%s\"", argv[i]);
		}
	}
	char *script = read_file(argv[0], &size), *script_hash = cache(script, size),
	     *environment_hash = cache(environment, length);
	order.script_hash = attack.script ? attack.script : script_hash;
	order.environment_hash = environment_hash;
	send_order(&order, &attack);
	free(environment_hash);
	free(script_hash);
	free(script);
	return 0;
}

/* send NAME=VALUE... : one packet of these fields. */
static int send_message(int argc, char **argv)
{
	struct fields *f = fields_new();
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value)
			die("\"%s\" is not NAME=VALUE", argv[i]);
		*value++ = '\0';
		fields_add(f, argv[i], value);
	}
	send_fields(f);
	return 0;
}

/* What a box is sealed for, and what may be another thing than that. */
struct delivery {
	struct credential_delivery of;
	struct credential credential;
	const char *kind, *file, *sender;
	int64_t header; /* version in the header of the file; 0: that of the box */
};

static void delivery_set(struct delivery *d, const char *name, const char *value)
{
	const struct setting settings[] = {
		{"attempt", &d->of.attempt, NULL, NULL, NULL}, {"job", NULL, &d->of.job_id, NULL, NULL},
		{"version", NULL, &d->of.version, NULL, NULL}, {"header", NULL, &d->header, NULL, NULL},
		{"node", NULL, NULL, NULL, &d->of.node},       {"instance", NULL, NULL, NULL, &d->of.instance},
		{"kind", NULL, NULL, NULL, &d->kind},	       {"file", NULL, NULL, NULL, &d->file},
		{"sender", NULL, NULL, NULL, &d->sender},      {NULL, NULL, NULL, NULL, NULL}};
	if (strcmp(name, "uid") == 0)
		d->of.uid = (uid_t)strtoul(value, NULL, 10);
	else if (!set(settings, name, value))
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

/* box JOB NAME [NAME=VALUE...] <SECRET: put a box into the cache as procmgrd would. `file` is the name of another one than NAME. */
static int seal_box(int argc, char **argv)
{
	static char secret[CREDENTIAL_SECRET_LARGEST];
	struct record_key key = {atoll(argv[0]), 0, 1, 0};
	struct delivery d = {.of = {conf.instance_name, node, key.job_id, 0, 1, getuid(), &d.credential, 1}, .kind = "file"};
	char name[CREDENTIAL_BOX_NAME], *node_key = xasprintf("%s/node.key", conf.keys_dir);
	char *sender = xasprintf("%s/cred.key", conf.keys_dir);
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
	must(from != NULL, &e);
	box_key_public(to, public_key);
	size_t size = fread(secret, 1, sizeof secret, stdin);
	char *context = credential_delivery_context(&d.of);
	must(box_seal(public_key, from, context, secret, size, &box, &size, &e), &e);
	credential_box_name(&key, d.file ? d.file : argv[1], name);
	char *path = xasprintf("%s/%s/cache/%s", conf.node_state, node, name);
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

struct watch {
	const char *key, *kind; /* NULL: all */
	bool found;
};

static bool print_record(const struct fields *record, void *arg)
{
	struct watch *w = arg;
	char key[64];
	snprintf(key, sizeof key, "%s.%s.%s", fields_get(record, "job"), fields_get(record, "step"),
		 fields_get(record, "attempt"));
	if ((w->key && strcmp(w->key, key) != 0) || (w->kind && strcmp(w->kind, fields_get(record, "kind")) != 0))
		return true;
	w->found = true;
	for (int i = 0; i < fields_count(record); i++)
		printf("%s%s=%s", i ? " " : "", fields_name(record, i), fields_value(record, i));
	putchar('\n');
	return true;
}

static struct journal *open_journal(enum journal_mode mode, struct err *e)
{
	char *path = xasprintf("%s/%s/journal", conf.node_state, node);
	struct journal *j = journal_open(path, mode, e);
	free(path);
	return j;
}

/* journal [KEY [KIND]]: print the records; wait KEY KIND [SECONDS]: the same once there is one. */
static int journal(int argc, char **argv, bool wait)
{
	struct watch w = {argc > 0 ? argv[0] : NULL, argc > 1 ? argv[1] : NULL, false};
	int64_t position = 0;
	int tries = wait ? 100 * (argc > 2 ? atoi(argv[2]) : 20) : 1;
	struct err e;
	struct journal *j = NULL;
	for (int i = 0; i < tries && !w.found; i++) {
		if (i > 0)
			usleep(10000);
		j = j ? j : open_journal(JOURNAL_READ, &e);
		if (j)
			must(journal_read(j, &position, print_record, &w, &e), &e);
	}
	if (wait)
		printf("position=%lld\n", (long long)position);
	journal_close(j);
	return wait && !w.found;
}

/* grow BYTES: a record of that size, as if much had not been reported yet. */
static void grow(int size)
{
	struct err e;
	struct journal *j = open_journal(JOURNAL_WRITE, &e);
	struct fields *record = fields_new();
	char *text = xcalloc((unsigned long)size + 1, 1);
	memset(text, 'x', (unsigned long)size);
	fields_add(record, "kind", "filler");
	fields_add(record, "text", text);
	must(j && journal_append(j, record, &e), &e);
	fields_free(record);
	free(text);
	journal_close(j);
}

static const char *option(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	return NULL;
}

static int run(const char *verb, int argc, char **argv)
{
	struct err e;
	if (strcmp(verb, "launch") == 0 && argc > 0)
		return launch(argc, argv);
	if (strcmp(verb, "box") == 0 && argc > 1)
		return seal_box(argc, argv);
	if (strcmp(verb, "send") == 0)
		return send_message(argc, argv);
	if (strcmp(verb, "journal") == 0 || strcmp(verb, "wait") == 0)
		return journal(argc, argv, *verb == 'w');
	if (strcmp(verb, "keys") == 0)
		must(seal_keys_make(conf.keys_dir, &e), &e);
	else if (strcmp(verb, "grow") == 0 && argc > 0)
		grow(atoi(argv[0]));
	else if (strcmp(verb, "raw") == 0 && argc > 0)
		send_packet(argv[0], strlen(argv[0]));
	else
		die("unknown verb \"%s\"", verb);
	return 0;
}

int main(int argc, char **argv)
{
	struct err e;
	const char *config = option(argc, argv, "--config");
	node = option(argc, argv, "--node") ? option(argc, argv, "--node") : node;
	log_open("launcher_driver", NULL, LOG_LEVEL_INFO);
	if (argc < 6 || !config)
		die("usage: launcher_driver --config FILE --node NAME VERB ...");
	must(conf_load(&conf, config, &e), &e);
	int code = option(argc, argv, "--launcher-fd") ? pass_on() : run(argv[5], argc - 6, argv + 6);
	conf_clear(&conf);
	return code;
}
