/* agent_cache_test.c - the cache of scripts and environments, and the facts that a node reports about itself. */
#include "tests/unit/unit.h"

#include <sys/stat.h>

#include "lib/seal.h"
#include "procmgr/agent/agent_cache.h"
#include "procmgr/agent/agent_hardware.h"

static char dir[] = "/tmp/rota-agent-test.XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) && chdir(dir) == 0 && mkdir("cache", 0700) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	agent_cache_evict(0, -1);
	return rmdir("cache") == 0 && chdir("/") == 0 ? rmdir(dir) : -1;
}

static void put(const char *text, char hash[SEAL_HEX_SIZE])
{
	struct err e;
	seal_hash_hex(text, strlen(text), hash);
	assert_true(agent_cache_put(hash, text, strlen(text), &e));
}

static void test_put(void **state)
{
	(void)state;
	char hash[SEAL_HEX_SIZE], path[128];
	struct err e;
	struct stat st;
	put("#!/bin/sh\n", hash);
	assert_true(agent_cache_has(hash));
	snprintf(path, sizeof path, "cache/%s", hash);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_false(agent_cache_put(hash, "other", 5, &e));
	assert_false(agent_cache_put("../../etc/passwd", "x", 1, &e));
	put("", hash);
	assert_true(agent_cache_has(hash));
	hash[0] = hash[0] == 'a' ? 'b' : 'a';
	assert_false(agent_cache_has(hash));
}

static void spoil(const char *name)
{
	char path[128];
	snprintf(path, sizeof path, "cache/%.64s", name);
	FILE *file = fopen(path, "w");
	fputs("spoilt", file);
	fclose(file);
}

static void test_open_keeps_what_is_whole(void **state)
{
	(void)state;
	char good[SEAL_HEX_SIZE], bad[SEAL_HEX_SIZE], empty[SEAL_HEX_SIZE];
	put("good", good);
	put("bad", bad);
	put("", empty);
	spoil(bad);
	spoil("fresh.abcdef");
	agent_cache_open();
	assert_true(agent_cache_has(good));
	assert_true(agent_cache_has(empty));
	assert_false(agent_cache_has(bad));
	assert_int_equal(access("cache/fresh.abcdef", F_OK), -1);
}

static void test_evict(void **state)
{
	(void)state;
	char hash[SEAL_HEX_SIZE];
	put("evict me", hash);
	agent_cache_evict(1024 * 1024, -1); /* the limit is larger than all files */
	assert_true(agent_cache_has(hash));
	agent_cache_evict(0, 3600); /* files that were used within the last hour stay */
	assert_true(agent_cache_has(hash));
	agent_cache_evict(0, -1);
	assert_false(agent_cache_has(hash));
}

static void test_hardware(void **state)
{
	(void)state;
	struct conf conf = {.node_lease = 30, .node_image_file = ""};
	json_t *facts = agent_hardware_facts(&conf, "n1"), *one = json_array_get(json_object_get(facts, "nodes"), 0);
	json_t *found = json_object_get(one, "found");
	assert_string_equal(json_string_value(json_object_get(one, "name")), "n1");
	assert_int_equal(json_integer_value(json_object_get(one, "lease_s")), 30);
	assert_true(json_integer_value(json_object_get(found, "cpus")) >= 1);
	assert_true(json_integer_value(json_object_get(found, "mem_mb")) >= 16);
	assert_non_null(json_string_value(json_object_get(found, "arch")));
	json_decref(facts);
}

/* Returns the image that a node reports when the image file has this text; malloc'ed; NULL: the node reports none. */
static char *image_of(const char *text)
{
	char path[] = "/tmp/rota-image-test.XXXXXX";
	struct conf conf = {.node_lease = 30, .node_image_file = path};
	int fd = mkstemp(path);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	json_t *facts = agent_hardware_facts(&conf, "n1"), *one = json_array_get(json_object_get(facts, "nodes"), 0);
	const char *image = json_string_value(json_object_get(one, "image"));
	char *copy = image ? strdup(image) : NULL;
	json_decref(facts);
	unlink(path);
	return copy;
}

static void test_image(void **state)
{
	static const char *const bad[] = {"", "\n", "-x", "../x", "a b", "el9\x01", "\xff", NULL};
	char longest[] = "a23456789b123456789c123456789d123456789e123456789f123456789g123\nx", *image = image_of("el9\nmore\n");
	(void)state;
	assert_string_equal(image, "el9");
	free(image);
	for (size_t i = 0; bad[i]; i++)
		assert_null(image_of(bad[i]));
	image = image_of(longest);
	assert_int_equal(strlen(image), 63);
	free(image);
	longest[63] = 'x';
	assert_null(image_of(longest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put),   cmocka_unit_test(test_open_keeps_what_is_whole),
		cmocka_unit_test(test_evict), cmocka_unit_test(test_hardware),
		cmocka_unit_test(test_image),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
