/* agent_credential.c - the boxes of credentials in the cache, as the database has them.
 *
 * Called by: agent_order.c for launch requests and records of the journal; agent.c at notifications and ticks.
 * Invariants:
 * - procmgrd can open no box. It stores them under the names of attempts, and a keeper refuses a box of another attempt.
 * - A box is stored only for an attempt that is to start or runs here. The database may list an attempt that has just ended.
 * - A file is complete, and its header has the version that the database gave with the box.
 * - Boxes come with the launch request. procmgrd asks the database for missing and for newer ones.
 * - A keeper gets a message about each change. Since the message may be lost where its socket is full, it is sent LOOKS times.
 * - If this procmgrd dies, the next one informs the keepers. It takes each box that it finds in the cache for a new one. A
 *   removal writes gone.* first, then removes the box, then sends the message; gone.* stays until the attempt ends. */
#include "procmgr/agent/agent_credential.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/crash.h"
#include "lib/credential.h"
#include "lib/log.h"
#include "procmgr/agent/agent_cache.h"
#include "procmgr/agent/agent_db.h"
#include "procmgr/agent/agent_launcher.h"
#include "procmgr/agent/agent_node.h"
#include "procmgr/record/credential_box.h"

enum { LOOKS = 3 };

/* A box of an attempt that is to start or runs here. */
struct box {
	struct record_key key;
	char name[CREDENTIAL_NAME_SIZE];
	/* version of the credential in the cache; 0: no box is in the cache yet, or the credential was removed */
	int64_t version;
	int looks; /* number of messages about a new box that the keeper still gets */
};

struct agent_credentials {
	const struct agent_context *context;
	agent_credential_fetched *fetched;
	void *arg;
	struct box *boxes;
	int count, capacity;
	/* Numbers of database calls that ask for boxes: the call under way (0: none), the last answered call, and the last call
	 * that is wanted. */
	int64_t calling, answered, wanted;
};

static struct box *find_box(const struct agent_credentials *cs, const struct record_key *key, const char *name)
{
	for (int i = 0; i < cs->count; i++)
		if (record_key_equal(&cs->boxes[i].key, key) && strcmp(cs->boxes[i].name, name) == 0)
			return &cs->boxes[i];
	return NULL;
}

static struct box *add_box(struct agent_credentials *cs, const struct record_key *key, const char *name, int64_t version)
{
	if (cs->count == cs->capacity) {
		cs->capacity = cs->capacity ? 2 * cs->capacity : 16;
		cs->boxes = xrealloc(cs->boxes, (unsigned long)cs->capacity * sizeof *cs->boxes);
	}
	struct box *b = &cs->boxes[cs->count++];
	*b = (struct box){.key = *key, .version = version};
	snprintf(b->name, sizeof b->name, "%s", name);
	return b;
}

typedef void make_name(const struct record_key *key, const char *credential, char name[CREDENTIAL_BOX_NAME]);

static void make_path(make_name *make, const struct record_key *key, const char *credential, char path[CREDENTIAL_BOX_NAME + 8])
{
	char name[CREDENTIAL_BOX_NAME];
	make(key, credential, name);
	snprintf(path, CREDENTIAL_BOX_NAME + 8, "cache/%s", name);
}

/* Returns the credential's version from the header of a box's file, or 0 if the file has no valid header. */
static int64_t read_version(int folder, const char *name)
{
	enum credential_kind kind;
	unsigned char header[CREDENTIAL_BOX_HEADER];
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool read_all = fd >= 0 && read(fd, header, sizeof header) == (ssize_t)sizeof header;
	if (fd >= 0)
		close(fd);
	return read_all ? credential_box_version(header, &kind) : 0;
}

static bool is_running(void *arg, const struct record_key *key)
{
	char name[RECORD_KEY_SIZE], path[RECORD_KEY_SIZE + 16];
	(void)arg;
	record_key_text(key, name);
	snprintf(path, sizeof path, "spool/%s", name);
	return access(path, F_OK) == 0;
}

/* Destroy the box of a removed credential, which gone.* names, and have the keeper informed. */
static void destroy_box(struct box *b)
{
	char path[CREDENTIAL_BOX_NAME + 8];
	make_path(credential_box_name, &b->key, b->name, path);
	unlink(path);
	crash_point(CRASH_credential_gone);
	b->version = 0;
	b->looks = LOOKS;
}

/* Take over a file of an earlier procmgrd, which may have died before it informed the keeper. */
static void adopt_file(struct agent_credentials *cs, int folder, const char *file)
{
	struct record_key key;
	char name[CREDENTIAL_NAME_SIZE];
	bool gone;
	if (!credential_box_parse(file, &key, name, &gone))
		return;
	struct box *b = find_box(cs, &key, name);
	int64_t version = gone ? 0 : read_version(folder, file);
	if (!b && (gone || version > 0))
		b = add_box(cs, &key, name, version);
	if (b && gone)
		destroy_box(b);
	else if (b)
		b->looks = is_running(NULL, &key) ? LOOKS : 0;
}

/* Find the boxes of attempts that an earlier procmgrd has launched. */
static void find_files(struct agent_credentials *cs)
{
	credential_box_tidy(is_running, NULL);
	DIR *dir = opendir("cache");
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		adopt_file(cs, dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
}

struct agent_credentials *agent_credential_new(const struct agent_context *c, agent_credential_fetched *fetched, void *arg)
{
	struct agent_credentials *cs = xcalloc(1, sizeof *cs);
	cs->context = c;
	cs->fetched = fetched;
	cs->arg = arg;
	find_files(cs);
	return cs;
}

void agent_credential_free(struct agent_credentials *cs)
{
	if (cs)
		free(cs->boxes);
	free(cs);
}

/* Tell the keeper of an attempt to read its boxes again. */
static void send_look(struct agent_credentials *cs, struct box *b)
{
	struct fields *message = fields_new();
	b->looks--;
	fields_add(message, "op", "control");
	record_key_add(message, &b->key);
	fields_add(message, "action", "credentials");
	agent_launcher_send(cs->context->launcher, message);
	fields_free(message);
}

static bool write_box(const struct record_key *key, const struct credential *credential, int64_t version, const char *hex,
		      struct err *e)
{
	char path[CREDENTIAL_BOX_NAME + 8];
	size_t size;
	unsigned char *box = PQunescapeBytea((const unsigned char *)hex, &size);
	if (!box)
		die("out of memory");
	unsigned char *bytes = xmalloc(CREDENTIAL_BOX_HEADER + size);
	credential_box_header(credential->kind, version, bytes);
	memcpy(bytes + CREDENTIAL_BOX_HEADER, box, size);
	make_path(credential_box_name, key, credential->name, path);
	bool written = agent_cache_write(path, bytes, CREDENTIAL_BOX_HEADER + size, e);
	free(bytes);
	PQfreemem(box);
	return written;
}

/* Store a newer box. The keeper of an attempt that runs is informed of it. */
static void store_box(struct box *b, enum credential_kind kind, int64_t version, const char *hex)
{
	struct credential credential = {.kind = kind};
	char gone[CREDENTIAL_BOX_NAME + 8];
	struct err e;
	strcpy(credential.name, b->name);
	if (!write_box(&b->key, &credential, version, hex, &e)) {
		log_error("%s", e.message);
		return;
	}
	/* A database that was restored may have a removed credential again, which then counts as not removed. */
	make_path(credential_box_gone_name, &b->key, b->name, gone);
	unlink(gone);
	b->version = version;
	b->looks = is_running(NULL, &b->key) ? LOOKS : 0;
}

/* Handle that the owner has removed the credential from the database. */
static void remove_box(struct box *b)
{
	char path[CREDENTIAL_BOX_NAME + 8];
	struct err e;
	make_path(credential_box_gone_name, &b->key, b->name, path);
	if (!agent_cache_write(path, "", 0, &e))
		log_error("%s", e.message); /* where a disk is full, the credential is removed all the same */
	crash_point(CRASH_credential_gone_noted);
	destroy_box(b);
}

static bool read_key(const struct agent_credentials *cs, const PGresult *result, int row, struct record_key *key)
{
	*key = (struct record_key){
		strtoll(agent_db_text(result, row, "job_id"), NULL, 10), atoi(agent_db_text(result, row, "step_id")),
		atoi(agent_db_text(result, row, "attempt")),
		agent_node_number(cs->context->nodes, strtoll(agent_db_text(result, row, "node_id"), NULL, 10))};
	return key->node == 0; /* virtual nodes run nothing that could read a credential */
}

static void take_row(struct agent_credentials *cs, const PGresult *result, int row)
{
	struct record_key key;
	const char *name = agent_db_text(result, row, "name"), *box = agent_db_text(result, row, "box");
	int64_t version = strtoll(agent_db_text(result, row, "version"), NULL, 10);
	enum credential_kind kind;
	if (!credential_name_valid(name) || !credential_kind_read(agent_db_text(result, row, "kind"), &kind) ||
	    !read_key(cs, result, row, &key))
		return;
	struct box *b = find_box(cs, &key, name);
	if (!b)
		return;
	if (*box == '\0' || version <= 0) {
		if (b->version > 0)
			remove_box(b);
	} else if (version > b->version) {
		store_box(b, kind, version, box);
	}
}

static void call_database(struct agent_credentials *cs);

static void handle_boxes(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent_credentials *cs = arg;
	if (result)
		cs->answered = cs->calling;
	else
		log_warning("could not read credentials of steps from the database: %s", e->message);
	cs->calling = 0;
	for (int i = 0; result && i < PQntuples(result); i++)
		take_row(cs, result, i);
	if (!result)
		return; /* agent_credential_poll() calls again */
	for (int i = 0; i < cs->count; i++)
		if (cs->boxes[i].looks == LOOKS)
			send_look(cs, &cs->boxes[i]);
	if (cs->wanted > cs->answered)
		call_database(cs);
	cs->fetched(cs->arg);
}

/* Returns a list of the boxes (sealed credentials) in the cache, as JSON. The database does not send these boxes again. */
static char *known_boxes(const struct agent_credentials *cs)
{
	json_t *known = json_array();
	for (int i = 0; i < cs->count; i++) {
		const struct box *b = &cs->boxes[i];
		if (b->version > 0)
			json_array_append_new(known, json_pack("{sI si si sI ss sI}", "job_id", (json_int_t)b->key.job_id,
							       "step_id", b->key.step_id, "attempt", b->key.attempt, "node_id",
							       (json_int_t)agent_node_own_id(cs->context->nodes), "name", b->name,
							       "version", (json_int_t)b->version));
	}
	char *text = json_dumps(known, JSON_COMPACT);
	json_decref(known);
	return text;
}

static void call_database(struct agent_credentials *cs)
{
	const struct agent_context *c = cs->context;
	if (cs->calling > 0 || !db_is_up(c->db) || agent_node_count(c->nodes) == 0)
		return;
	struct db_array *nodes = agent_node_array(c->nodes);
	char *known = known_boxes(cs);
	const struct db_param params[] = {{db_array_literal(nodes), -1}, {known, -1}};
	cs->calling = cs->answered + 1;
	db_call(c->db, API_node_credentials, params, 2, handle_boxes, cs);
	db_array_free(nodes);
	free(known);
}

/* Want a database call that begins later than now. Returns the number of that call. */
static int64_t want_call(struct agent_credentials *cs)
{
	cs->wanted = (cs->calling > 0 ? cs->calling : cs->answered) + 1;
	call_database(cs);
	return cs->wanted;
}

/* Returns true if the cache has the boxes of all attempts of an order. Boxes are expected from now on where they are missing. */
static bool expect_boxes(struct agent_credentials *cs, const struct agent_order *o)
{
	struct credential list[CREDENTIALS_MOST];
	int count = credential_list_read(o->credentials, list);
	bool all = true;
	for (int i = 0; i < o->start_count; i++) {
		struct record_key key = agent_order_key(o, &o->starts[i]);
		for (int k = 0; key.node == 0 && k < count; k++) {
			struct box *b = find_box(cs, &key, list[k].name);
			if (!b)
				b = add_box(cs, &key, list[k].name, 0);
			all = all && b->version > 0;
		}
	}
	return all;
}

static void take_box(struct agent_credentials *cs, const struct agent_order *o, const json_t *one)
{
	struct record_key key = o->key;
	enum credential_kind read;
	const char *name = json_string_value(json_object_get(one, "name")),
		   *kind = json_string_value(json_object_get(one, "kind"));
	const char *hex = json_string_value(json_object_get(one, "box"));
	int64_t version = json_integer_value(json_object_get(one, "version"));
	key.step_id = (int)json_integer_value(json_object_get(one, "step_id"));
	key.node = agent_node_number(cs->context->nodes, json_integer_value(json_object_get(one, "node_id")));
	struct box *b = name && kind && hex && key.node == 0 ? find_box(cs, &key, name) : NULL;
	/* A launch request that a restarted procmgrd gets again may be of a running attempt, and have a newer box. */
	if (b && version > b->version && credential_kind_read(kind, &read))
		store_box(b, read, version, hex);
}

void agent_credential_take(struct agent_credentials *cs, struct agent_order *o)
{
	json_t *one;
	size_t i;
	if (!o->credentials || json_array_size(o->boxes) == 0)
		return;
	expect_boxes(cs, o);
	json_array_foreach (o->boxes, i, one)
		take_box(cs, o, one);
	json_decref(o->boxes);
	o->boxes = NULL;
	/* The next poll reports these boxes to the database, while the attempt starts. */
	cs->wanted = (cs->calling > 0 ? cs->calling : cs->answered) + 1;
}

bool agent_credential_is_ready(struct agent_credentials *cs, struct agent_order *o)
{
	if (!o->credentials || expect_boxes(cs, o))
		return true;
	if (o->credential_call == 0)
		o->credential_call = want_call(cs);
	return cs->answered >= o->credential_call;
}

void agent_credential_ask(struct agent_credentials *cs)
{
	if (cs->count > 0)
		want_call(cs);
}

void agent_credential_poll(struct agent_credentials *cs)
{
	if (cs->wanted > cs->answered)
		call_database(cs);
	for (int i = 0; i < cs->count; i++)
		if (cs->boxes[i].looks > 0)
			send_look(cs, &cs->boxes[i]);
}

bool agent_credential_is_idle(const struct agent_credentials *cs)
{
	bool idle = cs->wanted <= cs->answered;
	for (int i = 0; i < cs->count; i++)
		idle = idle && cs->boxes[i].looks == 0;
	return idle;
}

static void drop_boxes(struct agent_credentials *cs, const struct record_key *key)
{
	int kept = 0, before = cs->count;
	for (int i = 0; i < cs->count; i++)
		if (!record_key_equal(&cs->boxes[i].key, key))
			cs->boxes[kept++] = cs->boxes[i];
	cs->count = kept;
	if (kept < before)
		credential_box_remove(key);
}

void agent_credential_drop(struct agent_credentials *cs, const struct agent_order *o)
{
	for (int i = 0; o->credentials && i < o->start_count; i++) {
		struct record_key key = agent_order_key(o, &o->starts[i]);
		if (!is_running(NULL, &key))
			drop_boxes(cs, &key);
	}
}

void agent_credential_record(struct agent_credentials *cs, const struct record_key *key, const struct fields *record)
{
	const char *kind = fields_get(record, "kind"), *again = fields_get(record, "again");
	bool refused = kind && strcmp(kind, "refused") == 0 && again && (strcmp(again, "0") == 0 || fields_get(record, "gone"));
	if (refused || (kind && strcmp(kind, "end") == 0))
		drop_boxes(cs, key);
}
