/* launcher_driver_order.c - makes a launch request, signs it with the instance's key, or damages it, and sends it.
 *
 * Called by: launcher_driver.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/order.h"
#include "lib/seal.h"
#include "tests/system/launcher_driver.h"
#include "tests/unit/order_plain.h"

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

/* Put bytes into the node's cache as procmgrd would; returns their hash. */
static char *cache(const char *bytes, size_t size)
{
	char hex[SEAL_HEX_SIZE];
	seal_hash_hex(bytes, size, hex);
	char *path = xasprintf("%s/%s/cache/%s", driver_conf.node_state, driver_node, hex);
	FILE *file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
		die("could not write \"%s\": %m", path);
	free(path);
	return xstrdup(hex);
}

/* A step that runs once on this node, now, as the caller; an argument NAME=VALUE changes a field of the launch request or its
 * spec. */
static void order_begin(struct order *o)
{
	memset(o, 0, sizeof *o);
	o->job_id = 1;
	o->attempt = 1;
	o->node = driver_node;
	o->nodes = driver_node;
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
				      .workdir = "/tmp",
				      .umask = 022,
				      ORDER_SPEC_PLAIN};
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
	const struct driver_setting settings[] = {
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
		return driver_set(settings, name, value);
	return true;
}

/* Ways to damage or cancel a valid launch request. */
struct attack {
	bool signature;	       /* one digit changed */
	const char *from, *to; /* text replaced in the signed request by one of the same length */
	const char *claim;     /* another job number in the message */
	const char *script;    /* hash that replaces the script's */
	bool withdrawn;	       /* the launcher must refuse the request */
};

static void send_order(const struct order *o, const struct attack *attack)
{
	struct err e;
	size_t size;
	unsigned char signature[SEAL_SIGNATURE_SIZE];
	char hex[2 * SEAL_SIGNATURE_SIZE + 1], *path = xasprintf("%s/sign.key", driver_conf.keys_dir);
	struct seal_sign_key *key = seal_sign_key_load(path, &e);
	driver_must(key != NULL, &e);
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
	if (attack->withdrawn)
		fields_add_int(message, "withdrawn", 1);
	driver_send_fields(message);
	fields_free(order);
	fields_free(spec);
	seal_sign_key_free(key);
	free(text);
	free(path);
}

int driver_launch(int argc, char **argv)
{
	struct order order;
	struct attack attack = {false, NULL, NULL, NULL, NULL, false};
	char environment[8192];
	size_t size, length = 0;
	order_begin(&order);
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (strncmp(argv[i], "env:", 4) == 0) {
			length += (size_t)snprintf(environment + length, sizeof environment - length, "%s", argv[i] + 4) + 1;
		} else if (strcmp(argv[i], "attack:signature") == 0) {
			attack.signature = true;
		} else if (strcmp(argv[i], "withdrawn") == 0) {
			attack.withdrawn = true;
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
