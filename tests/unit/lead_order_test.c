/* lead_order_test.c - decisions to commits: numbers, shares, signatures, refusals, groups, sets. */
#include "tests/unit/unit.h"

#include "jobmgr/lead/lead_array.h"
#include "jobmgr/lead/lead_order.h"
#include "jobmgr/schedule/schedule_arena.h"
#include "jobmgr/sign/sign.h"
#include "lib/order.h"
#include "lib/seal_tree.h"

static const char hash_a[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char hash_b[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/* A small world: nodes n1 and n2 (ids 1 and 2), job 812 with some steps, each owned by u. */
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

static int world_make(void **state)
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

static int world_remove(void **state)
{
	lead_rows_free(w.rows);
	seal_mac_key_free(w.mac);
	seal_sign_key_free(w.sign);
	seal_verify_key_free(w.verify);
	return unit_folder_remove(state);
}

static void sign_launch(int i)
{
	struct lead_launch *l = &w.launches[i];
	struct sign_subject subject = {(uid_t)l->uid, (gid_t)l->gid, l->user_name, l->script_hash, l->environment_hash, l->spec};

	sign_authenticator(w.mac, &subject, w.auth[i]);
	l->auth = w.auth[i];
}

/* One more step of job 812 that starts on n1, with 2 CPUs and a task. */
static int add_step(const char *name)
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

static struct lead_orders *make(bool one_by_one)
{
	return lead_orders_make(w.rows, &w.result, &w.signer, one_by_one);
}

static json_int_t number(const json_t *object, const char *name)
{
	assert_true(json_is_integer(json_object_get(object, name)));
	return json_integer_value(json_object_get(object, name));
}

/* The order in a commit, after its signature was checked. */
static struct order parsed(const struct lead_commit *commit, size_t i)
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

static void two_nodes(void **state)
{
	static const int devices[] = {0, 3};
	struct schedule_devices gres = {"gpu", devices, 2};
	int i = add_step("solve");
	struct lead_orders *orders;
	struct order order;
	const json_t *start, *allocation;

	(void)state;
	w.keys[i].attempt = 2;
	w.shares[i][0] =
		(struct schedule_share){.node_id = 2, .cpus = 3, .mem_mb = 64, .tasks = 3, .gres = &gres, .gres_count = 1};
	w.shares[i][1] = (struct schedule_share){.node_id = 1, .cpus = 2, .mem_mb = 64, .tasks = 2};
	w.starts[i].share_count = 2;
	orders = make(false);
	assert_int_equal(orders->commit_count, 1);
	assert_int_equal(orders->refused_count, 0);
	start = json_array_get(orders->commits[0].starts, 0);
	assert_int_equal(number(start, "job"), 812);
	assert_int_equal(number(start, "attempt"), 3);
	assert_true(json_is_null(json_object_get(start, "position")));
	assert_int_equal(json_integer_value(json_array_get(json_object_get(start, "nodes"), 0)), 2);
	allocation = json_array_get(json_object_get(start, "allocations"), 0);
	assert_int_equal(number(allocation, "node"), 2);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json_object_get(allocation, "gres"), "gpu"), 1)), 3);
	assert_true(json_is_true(json_object_get(allocation, "holder")));

	assert_int_equal(json_array_size(orders->commits[0].orders), 2);
	order = parsed(&orders->commits[0], 0);
	assert_string_equal(order.node, "n2");
	assert_string_equal(order.nodes, "n2,n1");
	assert_string_equal(order.failing, "n2");
	assert_string_equal(order.gres, "gpu:0+3");
	assert_string_equal(order.step_label, "812.solve");
	assert_int_equal(order.attempt, 3);
	assert_int_equal(order.grace_s, 30);
	assert_int_equal(order.expires_at, 5000);
	assert_true(order.wait_for_go);
	order_free(&order);
	order = parsed(&orders->commits[0], 1);
	assert_string_equal(order.node, "n1");
	assert_int_equal(order.node_index, 1);
	assert_int_equal(order.first_task, 3);
	assert_int_equal(order.tasks, 2);
	assert_int_equal(order.task_count, 5);
	assert_string_equal(order.gres, "");
	assert_int_equal(order.uid, 1000);
	order_free(&order);
	lead_orders_free(orders);
}

/* Nodes of a step that get the same have one order, in their order; it is for each of them with its place and ranks. */
static void nodes_together(void **state)
{
	int i = add_step("wide");
	struct lead_orders *orders;
	struct order order;
	const json_t *nodes;

	(void)state;
	w.shares[i][1] = w.shares[i][0];
	w.shares[i][0].node_id = 2;
	w.starts[i].share_count = 2;
	orders = make(false);
	assert_int_equal(json_array_size(orders->commits[0].orders), 1);
	nodes = json_object_get(json_array_get(orders->commits[0].orders, 0), "node_ids");
	assert_int_equal(json_array_size(nodes), 2);
	assert_int_equal(json_integer_value(json_array_get(nodes, 0)), 2);
	assert_int_equal(json_integer_value(json_array_get(nodes, 1)), 1);
	order = parsed(&orders->commits[0], 0);
	assert_string_equal(order.node, "n2");
	assert_true(order_pick_node(&order, "n1"));
	assert_int_equal(order.node_index, 1);
	assert_int_equal(order.first_task, 1);
	order_free(&order);
	lead_orders_free(orders);

	w.shares[i][1].mem_mb++;
	orders = make(false);
	assert_int_equal(json_array_size(orders->commits[0].orders), 2);
	lead_orders_free(orders);
}

static void array_elements(void **state)
{
	int i = add_step("render"), k;
	struct lead_orders *orders;
	struct order order;

	(void)state;
	w.launches[i].array_size = 6;
	w.launches[i].array_indices = "[[1, 3, 1], [10, 20, 5]]";
	w.starts[i].position = 4;
	k = add_step("tidy"); /* an element that is a row already */
	w.launches[k].array_size = 3;
	w.keys[k].array_index = 7;
	orders = make(false);
	order = parsed(&orders->commits[0], 0);
	assert_int_equal(order.step_id, i + 1 + 4);
	assert_int_equal(order.attempt, 1);
	assert_int_equal(order.array_index, 15);
	assert_int_equal(order.array_size, 6);
	assert_string_equal(order.step_label, "812.render[15]");
	assert_false(order.wait_for_go);
	order_free(&order);
	order = parsed(&orders->commits[0], 1);
	assert_int_equal(order.step_id, k);
	assert_string_equal(order.step_label, "812.tidy[7]");
	order_free(&order);
	assert_int_equal(number(json_array_get(orders->commits[0].starts, 0), "position"), 4);
	assert_int_equal(number(json_array_get(orders->commits[0].starts, 0), "request"), i);
	lead_orders_free(orders);
}

/* How often the step is to be sampled goes beside the order, where it is to be at all. */
static void samples(void **state)
{
	struct lead_orders *orders;
	json_t *first, *second;

	(void)state;
	add_step("seldom");
	w.launches[add_step("often")].sample_s = 30;
	orders = make(false);
	first = json_array_get(orders->commits[0].orders, 0);
	second = json_array_get(orders->commits[0].orders, 1);
	assert_null(json_object_get(first, "args"));
	assert_int_equal(number(json_object_get(second, "args"), "sample_s"), 30);
	lead_orders_free(orders);
}

/* The element at position p of the array of step `head` is start number i. */
static void add_element(int head, int i, int p)
{
	w.shares[i][0] = w.shares[head][0];
	w.starts[i] = w.starts[head];
	w.starts[i].position = p;
	w.starts[i].shares = w.shares[i];
	w.result.start_count = (size_t)i + 1;
}

/* Elements that start alike on a node have one order; what differs has its own, and so have those that are committed apart. */
static void elements_together(void **state)
{
	int head = add_step("render");
	struct lead_orders *orders;
	struct order order;

	(void)state;
	w.launches[head].array_size = 10;
	w.launches[head].array_indices = "[[0, 9, 1]]";
	w.starts[head].position = 0;
	for (int i = 1; i < STEPS_MOST; i++)
		add_element(head, i, i);
	w.shares[2][0].cpus = 1;
	orders = make(false);
	assert_int_equal(json_array_size(orders->commits[0].starts), 4);
	assert_int_equal(json_array_size(orders->commits[0].orders), 3);
	order = parsed(&orders->commits[0], 0);
	assert_int_equal(order.element_count, 2);
	assert_true(order_pick(&order, head + 2));
	assert_string_equal(order.step_label, "812.render[1]");
	assert_int_equal(json_array_size(json_object_get(json_array_get(orders->commits[0].orders, 0), "also")), 1);
	order_free(&order);
	order = parsed(&orders->commits[0], 1);
	assert_int_equal(order.element_count, 1);
	assert_int_equal(order.cpus, 1);
	order_free(&order);
	lead_orders_free(orders);

	w.shares[2][0].cpus = 2;
	w.shares[3][0].node_id = 2;
	orders = make(false);
	assert_int_equal(json_array_size(orders->commits[0].orders), 2);
	lead_orders_free(orders);

	w.signer.separate = true; /* as where each waits for a prolog of its own */
	orders = make(false);
	assert_int_equal(json_array_size(orders->commits[0].orders), 4);
	lead_orders_free(orders);
	w.signer.separate = false;
	orders = make(true);
	assert_int_equal(orders->commit_count, 4);
	for (size_t i = 0; i < 4; i++) {
		order = parsed(&orders->commits[i], 0);
		assert_int_equal(order.element_count, 1);
		order_free(&order);
	}
	lead_orders_free(orders);
}

/* A long array goes in several commits: each element in one of them. */
static void commits(void **state)
{
	enum { ELEMENTS = 2 * LEAD_COMMIT_MOST + 1 };
	static struct schedule_start starts[ELEMENTS];
	static const size_t expected[] = {LEAD_COMMIT_MOST, LEAD_COMMIT_MOST, 1};
	int head = add_step("render"), position = 0;
	struct lead_orders *orders;

	(void)state;
	w.launches[head].array_size = ELEMENTS;
	w.launches[head].array_indices = "[[0, 5000, 1]]";
	for (int i = 0; i < ELEMENTS; i++) {
		starts[i] = w.starts[head];
		starts[i].position = i;
	}
	w.result.starts = starts;
	w.result.start_count = ELEMENTS;
	orders = make(false);
	assert_int_equal(orders->commit_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const json_t *start;
		struct order order = parsed(&orders->commits[i], 0);
		size_t k;

		assert_int_equal(json_array_size(orders->commits[i].starts), expected[i]);
		json_array_foreach (orders->commits[i].starts, k, start)
			assert_int_equal(number(start, "position"), position++);
		order_free(&order);
	}
	assert_int_equal(position, ELEMENTS);
	lead_orders_free(orders);
}

static bool index_at(const char *indices, int position, int *index)
{
	struct lead_array *array = lead_array_new(indices);
	bool found = lead_array_index(array, position, index);

	lead_array_free(array);
	return found;
}

static void array_indices(void **state)
{
	static const int of_several[] = {0, 3, 6, 9, 20, 21, 30};
	int index = -1;

	(void)state;
	assert_true(index_at("[[0, 9, 3]]", 3, &index));
	assert_int_equal(index, 9);
	assert_false(index_at("[[0, 9, 3]]", 4, &index));
	assert_false(index_at("[[0, 9, 0]]", 0, &index));
	assert_false(index_at("[[9, 0, 1]]", 0, &index));
	assert_false(index_at("nonsense", 0, &index));
	assert_true(index_at("[[0, 2147483646, 1]]", 2147483646, &index));
	assert_int_equal(index, 2147483646);
	for (int i = 0; i < 7; i++) {
		assert_true(index_at("[[0, 9, 3], [20, 21, 1], [30, 30, 1]]", i, &index));
		assert_int_equal(index, of_several[i]);
	}
	assert_false(index_at("[[0, 9, 3], [20, 21, 1], [30, 30, 1]]", 7, &index));
	assert_false(index_at("[[0, 9, 3]]", -1, &index));
}

/* Whatever is altered in the database, the step is refused and nothing is signed. */
static void altered_rows(void **state)
{
	(void)state;
	for (int what = 0; what < 7; what++) {
		struct lead_orders *orders;
		struct lead_launch *launch;

		w.result.start_count = 0;
		add_step("good");
		launch = &w.launches[add_step("bad")];
		if (what == 0)
			launch->uid = 0;
		else if (what == 1)
			launch->gid = 0;
		else if (what == 2)
			launch->user_name = "root";
		else if (what == 3)
			launch->script_hash = hash_b;
		else if (what == 4)
			launch->environment_hash = hash_a;
		else if (what == 5)
			launch->spec = w.spec[0];
		else
			launch->auth = NULL;
		orders = make(false);
		assert_int_equal(orders->refused_count, 1);
		assert_int_equal(orders->refused_jobs[0], 812);
		assert_int_equal(orders->refused_requests[0], 1);
		assert_int_equal(orders->commit_count, 1);
		assert_int_equal(json_array_size(orders->commits[0].starts), 1);
		assert_int_equal(json_array_size(orders->commits[0].orders), 1);
		lead_orders_free(orders);
	}
}

static void nothing_left(void **state)
{
	struct lead_orders *orders;

	(void)state;
	w.launches[add_step("bad")].uid = 0;
	orders = make(false);
	assert_int_equal(orders->refused_count, 1);
	assert_int_equal(orders->commit_count, 0);
	lead_orders_free(orders);

	w.rows->launch_count = 0; /* its row is gone: neither started nor refused */
	orders = make(true);
	assert_int_equal(orders->refused_count, 0);
	assert_int_equal(orders->commit_count, 0);
	lead_orders_free(orders);
}

static void group_of(int i)
{
	w.launches[i].group_name = "g";
}

/* Of two steps of a group on one node, the second is left for the pass after the one that makes the holder. */
static void groups(void **state)
{
	static const int held[] = {1};
	struct lead_orders *orders;
	struct order order;

	(void)state;
	group_of(add_step("a"));
	group_of(add_step("b"));
	orders = make(false);
	assert_true(orders->postponed);
	assert_int_equal(json_array_size(orders->commits[0].starts), 1);
	order = parsed(&orders->commits[0], 0);
	assert_true(order.prolog);
	order_free(&order);
	lead_orders_free(orders);

	w.launches[0].group_nodes = w.launches[1].group_nodes = held;
	w.launches[0].group_node_count = w.launches[1].group_node_count = 1;
	orders = make(false);
	assert_false(orders->postponed);
	assert_int_equal(json_array_size(orders->commits[0].starts), 2);
	for (size_t i = 0; i < 2; i++) {
		order = parsed(&orders->commits[0], i);
		assert_false(order.prolog);
		order_free(&order);
	}
	lead_orders_free(orders);
}

static void set_of(int i)
{
	w.pending[i].with_set = 0;
	w.pending[i].with_count = 2;
}

/* Members of a set that share a group start together all the same: one of them holds. */
static void group_in_set(void **state)
{
	struct lead_orders *orders;
	struct order first, second;

	(void)state;
	for (int i = 0; i < 2; i++) {
		int step = add_step(i ? "b" : "a");

		group_of(step);
		set_of(step);
	}
	orders = make(false);
	assert_int_equal(json_array_size(orders->commits[0].starts), 2);
	first = parsed(&orders->commits[0], 0);
	second = parsed(&orders->commits[0], 1);
	assert_true(first.prolog);
	assert_false(second.prolog);
	order_free(&first);
	order_free(&second);
	lead_orders_free(orders);
}

static void sets(void **state)
{
	struct lead_orders *orders;

	(void)state;
	add_step("alone");
	set_of(add_step("a"));
	set_of(add_step("b"));
	add_step("last");
	orders = make(true);
	assert_int_equal(orders->commit_count, 3);
	assert_int_equal(json_array_size(orders->commits[1].starts), 2);
	lead_orders_free(orders);

	w.launches[2].uid = 0; /* one member is refused: the other one waits */
	orders = make(true);
	assert_int_equal(orders->refused_count, 1);
	assert_int_equal(orders->commit_count, 2);
	assert_int_equal(number(json_array_get(orders->commits[0].starts, 0), "step"), 0);
	assert_int_equal(number(json_array_get(orders->commits[1].starts, 0), "step"), 3);
	lead_orders_free(orders);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_nodes),	 TEST(nodes_together), TEST(array_elements), TEST(array_indices),
		TEST(elements_together), TEST(samples),	       TEST(commits),	     TEST(altered_rows),
		TEST(nothing_left),	 TEST(groups),	       TEST(group_in_set),   TEST(sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
