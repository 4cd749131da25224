/* lead_world.h - what the tests of orders share: nodes n1 and n2 (ids 1 and 2), and job 812 with some steps, each owned by u. */
#ifndef ROTA_TESTS_LEAD_WORLD_H
#define ROTA_TESTS_LEAD_WORLD_H

#include "tests/unit/unit.h"

#include "jobmgr/lead/lead_order.h"
#include "jobmgr/sign/sign.h"
#include "lib/order.h"
#include "lib/seal_tree.h"

static const char hash_a[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char hash_b[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

enum { STEPS_MOST = 4 };

static struct world {
	struct seal_mac_key *mac;
	struct seal_sign_key *sign;
	struct seal_verify_key *verify;
	struct lead_rows *rows;
	struct schedule_node nodes[2];
	struct schedule_pending pending[STEPS_MOST];
	struct lead_key keys[STEPS_MOST];
	struct lead_launch launches[STEPS_MOST];
	char auth[STEPS_MOST][SEAL_HEX_SIZE], spec[STEPS_MOST][1024];
	struct schedule_start starts[STEPS_MOST];
	struct schedule_share shares[STEPS_MOST][2];
	struct schedule_result result;
	struct lead_signer signer;
} w;

static inline int world_make(void **state)
{
	struct err e;

	memset(&w, 0, sizeof w);
	if (unit_folder_make(state) != 0 || !seal_keys_make(unit_folder, &e))
		return -1;
	w.mac = seal_mac_key_load(unit_path("auth.key"), &e);
	w.sign = seal_sign_key_load(unit_path("sign.key"), &e);
	w.verify = seal_verify_key_load(unit_path("sign.pub"), &e);
	w.rows = lead_rows_new(1000);
	w.nodes[0] = (struct schedule_node){.id = 2, .name = "n2", .failing = true};
	w.nodes[1] = (struct schedule_node){.id = 1, .name = "n1"};
	w.rows->snapshot.nodes = w.nodes;
	w.rows->snapshot.node_count = 2;
	w.rows->snapshot.pending = w.pending;
	w.rows->keys = w.keys;
	w.rows->launches = w.launches;
	w.result.starts = w.starts;
	w.signer = (struct lead_signer){.mac = w.mac, .sign = w.sign, .grace_s = 30, .expires_at = 5000};
	return 0;
}

static inline int world_remove(void **state)
{
	lead_rows_free(w.rows);
	seal_mac_key_free(w.mac);
	seal_sign_key_free(w.sign);
	seal_verify_key_free(w.verify);
	return unit_folder_remove(state);
}

static inline void sign_launch(int i)
{
	struct lead_launch *l = &w.launches[i];
	struct sign_subject subject = {(uid_t)l->uid,	    (gid_t)l->gid, l->user_name, l->script_hash,
				       l->environment_hash, l->spec,	   l->job_id};

	l->auth_number = l->job_id;
	sign_authenticator(w.mac, &subject, w.auth[i]);
	l->auth = w.auth[i];
}

/* Add a step of job 812 that starts on n1 with 2 CPUs and one task. */
static inline int add_step(const char *name)
{
	int i = (int)w.result.start_count++;
	struct order_spec spec = {
		.from = 1,
		.to = 2,
		.step_name = name,
		.job_name = "j",
		.account = "",
		.partition = "",
		.output = "",
		.error = "",
		.input = "",
		.workdir = "/",
		.shell = "",
		.user_prolog = "",
		.user_epilog = "",
		.group = "",
		.rlimits = "",
		.cpus_per_task = 1,
	};
	struct fields *fields = order_spec_write(&spec);

	snprintf(w.spec[i], sizeof w.spec[i], "%s", fields_text(fields, NULL));
	fields_free(fields);
	w.pending[i] = (struct schedule_pending){.job = 812, .step = i, .name = name, .with_set = -1};
	w.keys[i] = (struct lead_key){.request_id = i, .attempt = 0, .array_index = -1, .name = name};
	w.launches[i] = (struct lead_launch){.job_id = 812,
					     .request_id = i,
					     .uid = 1000,
					     .gid = 100,
					     .user_name = "u",
					     .script_hash = hash_a,
					     .environment_hash = hash_b,
					     .spec = w.spec[i]};
	sign_launch(i);
	w.shares[i][0] = (struct schedule_share){.node_id = 1, .cpus = 2, .mem_mb = 64, .tasks = 1};
	w.starts[i] = (struct schedule_start){.pending = (size_t)i,
					      .job = 812,
					      .step = i,
					      .position = -1,
					      .time_limit_s = 60,
					      .shares = w.shares[i],
					      .share_count = 1};
	w.rows->snapshot.pending_count = w.rows->launch_count = w.result.start_count;
	return i;
}

static inline struct lead_orders *make(bool one_by_one)
{
	return lead_orders_make(w.rows, &w.result, &w.signer, one_by_one);
}

static inline json_int_t number(const json_t *object, const char *name)
{
	assert_true(json_is_integer(json_object_get(object, name)));
	return json_integer_value(json_object_get(object, name));
}

/* Launch request i of a commit. Fails unless its signature is valid. */
static inline struct order parsed(const struct lead_commit *commit, size_t i)
{
	const json_t *json = json_array_get(commit->orders, i);
	const char *body = json_string_value(json_object_get(json, "body"));
	const char *signature = json_string_value(json_object_get(json, "signature"));
	struct seal_proof proof = {.size = strlen(signature) / 2};
	struct seal_root root = {false};
	struct order order;
	struct err e;

	assert_true(seal_unhex(signature, proof.bytes, proof.size));
	assert_true(seal_tree_verify(w.verify, &root, body, strlen(body), &proof));
	if (!order_parse(body, strlen(body), &order, &e))
		fail_msg("%s", e.message);
	return order;
}

static inline void set_group(int i)
{
	w.launches[i].group_name = "g";
}

/* Make step i one of the two members of a gang. */
static inline void set_gang(int i)
{
	w.pending[i].with_set = 0;
	w.pending[i].with_count = 2;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)

#endif
