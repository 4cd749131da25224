/* launcher_order_test.c - which launch messages the launcher accepts, and its set of accepted attempts. */
#include "tests/unit/order_plain.h"
#include "tests/unit/unit.h"

#include "lib/order.h"
#include "procmgr/launcher/launcher_parts.h"

enum { NOW = 1000000 };

static char dir[] = "/tmp/rota-launcher-test.XXXXXX";
static struct seal_sign_key *sign_key;
static struct conf conf;
static struct launcher launcher = {.conf = &conf};
static struct order good;

static int setup_group(void **state)
{
	(void)state;
	struct err e;
	char path[128];
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_true(seal_keys_make(dir, &e));
	snprintf(path, sizeof path, "%s/sign.key", dir);
	sign_key = seal_sign_key_load(path, &e);
	snprintf(path, sizeof path, "%s/sign.pub", dir);
	launcher.key = seal_verify_key_load(path, &e);
	launcher.node = "n1";
	return sign_key && launcher.key ? 0 : -1;
}

static int teardown_group(void **state)
{
	(void)state;
	static const char *const files[] = {"auth.key", "sign.key", "sign.pub"};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		unlink(files[i]);
	seal_sign_key_free(sign_key);
	seal_verify_key_free(launcher.key);
	return rmdir(dir);
}

static int setup(void **state)
{
	(void)state;
	static char hash[65];
	memset(hash, 'a', 64);
	launcher.accepted = attempt_set_new();
	good = (struct order){
		.job_id = 812,
		.step_id = 1,
		.attempt = 1,
		.node = "n1",
		.nodes = "n1",
		.node_count = 1,
		.tasks = 1,
		.task_count = 1,
		.cpus = 1,
		.gres = "",
		.uid = geteuid(),
		.gid = 0,
		.user = "ann",
		.script_hash = hash,
		.environment_hash = hash,
		.array_index = -1,
		.step_label = "812.solve",
		.prolog = true,
		.expires_at = NOW + 100,
		.spec = {.step_name = "solve",
			 .job_name = "heat",
			 .account = "",
			 .partition = "",
			 .workdir = "/w",
			 ORDER_SPEC_PLAIN},
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	attempt_set_free(launcher.accepted);
	return 0;
}

static char *text_of(const struct order *o)
{
	size_t size;
	struct fields *spec = order_spec_write(&o->spec), *order = order_write(o, fields_text(spec, &size));
	char *text = xstrdup(fields_text(order, &size));
	fields_free(order);
	fields_free(spec);
	return text;
}

static struct fields *message_of(const char *text, const char *signed_text, int64_t job)
{
	unsigned char signature[SEAL_SIGNATURE_SIZE];
	char hex[2 * SEAL_SIGNATURE_SIZE + 1];
	seal_sign(sign_key, signed_text, strlen(signed_text), signature);
	for (int i = 0; i < SEAL_SIGNATURE_SIZE; i++)
		snprintf(hex + 2 * i, 3, "%02x", signature[i]);
	struct fields *message = fields_new();
	fields_add(message, "op", "launch");
	fields_add_int(message, "job", job);
	fields_add_int(message, "step", 1);
	fields_add_int(message, "attempt", 1);
	fields_add(message, "order", text);
	fields_add(message, "signature", hex);
	return message;
}

/* Have the launcher verify the message, and free it. The launcher must refuse the message with an error that contains `reason`, or
 * accept it if `reason` is NULL. */
static void judge(struct fields *message, const char *reason)
{
	struct err e;
	struct order order = {.fields = NULL};
	struct record_key key = {0, 0, 0, 0};
	enum launcher_fault fault;
	bool keyed = record_key_read(message, &key, &(struct err){.code = ""});
	bool readable = launcher_order_read(&launcher, message, &order, &e);
	bool verified = launcher_order_verify(&launcher, &order, &key, NOW, &fault, &e) && keyed;
	assert_false(verified && !readable);
	assert_int_equal(verified, reason == NULL);
	if (reason)
		assert_non_null(strstr(e.message, reason));
	assert_int_equal(!verified && fault == LAUNCHER_FAULT_LATE, reason && strstr(reason, "expired"));
	order_free(&order);
	fields_free(message);
}

static void judge_order(const struct order *o, const char *reason)
{
	char *text = text_of(o);
	judge(message_of(text, text, o->job_id), reason);
	free(text);
}

static void test_good(void **state)
{
	(void)state;
	judge_order(&good, NULL);
	good.nodes = "";
	judge_order(&good, NULL);
}

static void test_altered(void **state)
{
	(void)state;
	char *text = text_of(&good), *altered = xstrdup(text);
	*strstr(altered, "/w") = '|';
	judge(message_of(altered, text, 812), "signature does not match");
	judge(message_of(text, altered, 812), "signature does not match");
	free(altered);
	altered = xasprintf("%sx=1:1\n", text);
	judge(message_of(altered, text, 812), "signature does not match");
	judge(message_of(altered, altered, 812), "");
	free(altered);
	free(text);
}

static void test_misdirected(void **state)
{
	(void)state;
	good.node = good.nodes = "n2";
	judge_order(&good, "for node \"n2\"");
	good.node = good.nodes = "n1";
	char *text = text_of(&good);
	judge(message_of(text, text, 813), "another step");
	free(text);
}

static void judge_virtual(int number, const char *reason)
{
	char *text = text_of(&good);
	struct fields *message = message_of(text, text, 812);
	if (number > 0)
		fields_add_int(message, "node", number);
	judge(message, reason);
	free(text);
}

/* Each virtual node accepts the launch requests for itself, once. No node has the name without a number. */
static void test_virtual(void **state)
{
	(void)state;
	const struct record_key used = {812, 1, 1, 2};
	conf.launcher_virtual = 3;
	good.node = good.nodes = "n12";
	judge_virtual(2, NULL);
	judge_virtual(3, "for node \"n12\"");
	judge_virtual(0, "for node \"n12\"");
	attempt_set_add(launcher.accepted, &used, NOW + 100, NOW);
	judge_virtual(2, "accepted before");
	good.node = good.nodes = "n13";
	judge_virtual(3, NULL);
	good.node = good.nodes = "n14";
	judge_virtual(4, "for node");
	conf.launcher_virtual = 0;
	judge_virtual(2, "for node");
}

static void test_expired(void **state)
{
	(void)state;
	good.expires_at = NOW;
	judge_order(&good, "expired");
	good.expires_at = NOW + 1;
	judge_order(&good, NULL);
}

static void test_used(void **state)
{
	(void)state;
	const struct record_key key = {812, 1, 1, 0}, other = {812, 2, 2, 0}, newer = {812, 1, 2, 0};
	attempt_set_add(launcher.accepted, &other, NOW + 100, NOW);
	judge_order(&good, NULL);
	attempt_set_add(launcher.accepted, &newer, NOW + 100, NOW);
	judge_order(&good, "the launch request is for an old attempt, attempt 2 was accepted here");
	attempt_set_add(launcher.accepted, &key, NOW + 100, NOW);
	judge_order(&good, "accepted before");
	good.expires_at = NOW - 5; /* expiry is checked first, since the attempt has run */
	judge_order(&good, "accepted before");
}

/* A refused launch request never ends an attempt that is running, whatever the reason. */
static void test_used_and_forged(void **state)
{
	(void)state;
	const struct record_key key = {812, 1, 1, 0};
	struct err e;
	static const enum launcher_fault expected[] = {LAUNCHER_FAULT_ORDER, LAUNCHER_FAULT_GONE, LAUNCHER_FAULT_AGAIN};
	enum launcher_fault fault;
	char *text = text_of(&good), *altered = xstrdup(text);
	*strstr(altered, "/w") = '|';
	for (int used = 0; used <= 2; used++) { /* never accepted; accepted and ended; accepted and on the node */
		struct order order = {.fields = NULL};
		struct fields *message = message_of(altered, text, 812);
		assert_false(launcher_order_read(&launcher, message, &order, &e));
		assert_false(launcher_order_verify(&launcher, &order, &key, NOW, &fault, &e));
		assert_int_equal(fault, expected[used]);
		fields_free(message);
		attempt_set_add(launcher.accepted, &key, NOW + 100, NOW);
		if (used == 1)
			assert_true(mkdir("spool", 0755) == 0 && mkdir("spool/812.1.1", 0755) == 0);
	}
	assert_true(rmdir("spool/812.1.1") == 0 && rmdir("spool") == 0);
	free(altered);
	free(text);
}

static void test_lacks(void **state)
{
	(void)state;
	static const char *const what[] = {"script", "environment"};
	char *text = text_of(&good);
	for (size_t i = 0; i < 2; i++) {
		struct fields *message = message_of(text, text, 812);
		fields_add(message, "lacks", what[i]);
		judge(message, what[i]);
	}
	free(text);
}

/* A launch request for several elements is accepted for each of them, as that element, and for no other. */
static void test_elements(void **state)
{
	(void)state;
	struct err e;
	struct order order;
	enum launcher_fault fault;
	struct record_key key = {812, 3, 1, 0};
	good.array_index = 8;
	good.step_label = "812.solve[8]";
	good.also = "3:10,4:11";
	char *text = text_of(&good);
	struct fields *message = message_of(text, text, 812);
	assert_true(launcher_order_read(&launcher, message, &order, &e));
	assert_true(launcher_order_verify(&launcher, &order, &key, NOW, &fault, &e));
	assert_int_equal(order.array_index, 10);
	assert_string_equal(order.step_label, "812.solve[10]");
	attempt_set_add(launcher.accepted, &key, NOW + 100, NOW);
	assert_false(launcher_order_verify(&launcher, &order, &key, NOW, &fault, &e));
	assert_int_equal(fault, LAUNCHER_FAULT_GONE);
	key.step_id = 2;
	assert_false(launcher_order_verify(&launcher, &order, &key, NOW, &fault, &e));
	assert_non_null(strstr(e.message, "another step"));
	key.step_id = 1;
	assert_true(launcher_order_verify(&launcher, &order, &key, NOW, &fault, &e));
	assert_string_equal(order.step_label, "812.solve[8]");
	order_free(&order);
	fields_free(message);
	free(text);
}

/* A launch request for several nodes is accepted by each of them, as its own, and by no other. */
static void test_nodes(void **state)
{
	(void)state;
	static const struct record_key key = {812, 1, 1, 0};
	struct err e;
	struct order order;
	enum launcher_fault fault;
	good.nodes = "n4,n1,n2,n3";
	good.node = "n4";
	good.node_count = 4;
	good.more_nodes = 1;
	good.task_count = 4;
	char *text = text_of(&good);
	struct fields *message = message_of(text, text, 812);
	assert_true(launcher_order_read(&launcher, message, &order, &e));
	assert_true(launcher_order_verify(&launcher, &order, &key, NOW, &fault, &e));
	assert_string_equal(order.node, "n1");
	assert_int_equal(order.node_index, 1);
	assert_int_equal(order.first_task, 1);
	launcher.node = "n2";
	assert_false(launcher_order_verify(&launcher, &order, &key, NOW, &fault, &e));
	assert_non_null(strstr(e.message, "this is \"n2\""));
	launcher.node = "n1";
	order_free(&order);
	fields_free(message);
	free(text);
}

static void test_owner(void **state)
{
	(void)state;
	if (geteuid() == 0)
		skip();
	good.uid = 0;
	judge_order(&good, "can start steps of other users");
}

static void test_malformed(void **state)
{
	(void)state;
	char *text = text_of(&good);
	static const char *const signatures[] = {"", "00", "zz", NULL};
	for (int i = 0; signatures[i]; i++) {
		struct fields *message = fields_new();
		fields_add_int(message, "job", 812);
		fields_add_int(message, "step", 1);
		fields_add_int(message, "attempt", 1);
		fields_add(message, "order", text);
		fields_add(message, "signature", signatures[i]);
		judge(message, "no launch request or no signature");
	}
	judge(fields_new(), "no launch request or no signature");
	judge(message_of("garbage", "garbage", 812), "");
	free(text);
}

static void test_memory(void **state)
{
	(void)state;
	struct attempt_set *u = attempt_set_new();
	for (int i = 1; i <= 5000; i++) {
		const struct record_key key = {i, i % 7, 1, 0};
		attempt_set_add(u, &key, i % 2 ? NOW + 10 : NOW - 10, NOW);
	}
	for (int i = 1; i <= 5000; i += 2) {
		const struct record_key key = {i, i % 7, 1, 0}, other = {i, i % 7, 2, 0};
		assert_true(attempt_set_has(u, &key));
		assert_false(attempt_set_has(u, &other));
		assert_int_equal(attempt_set_newest(u, &other), 1);
	}
	assert_true(attempt_set_count(u) < 5000); /* expired entries were dropped */
	for (int attempt = 2; attempt <= 5000; attempt++) {
		const struct record_key key = {1, 1, attempt, 0};
		attempt_set_add(u, &key, NOW + 1000, NOW + 100);
		assert_int_equal(attempt_set_newest(u, &key), attempt);
	}
	assert_true(attempt_set_count(u) < 5200);
	for (int i = 1; i <= 5000; i += 2) {
		const struct record_key key = {i, i % 7, 1, 0};
		assert_false(attempt_set_has(u, &key));
	}
	attempt_set_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_good, setup, teardown),
		cmocka_unit_test_setup_teardown(test_altered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_misdirected, setup, teardown),
		cmocka_unit_test_setup_teardown(test_virtual, setup, teardown),
		cmocka_unit_test_setup_teardown(test_expired, setup, teardown),
		cmocka_unit_test_setup_teardown(test_used, setup, teardown),
		cmocka_unit_test_setup_teardown(test_used_and_forged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_elements, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
		cmocka_unit_test(test_memory),
	};
	return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
