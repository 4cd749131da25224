/* cgroups_devices.c - lets the processes of a cgroup use some devices only (cgroups_devices.h).
 *
 * Called by: cgroups.c.
 * Invariants:
 * - Devices that are not in the list cannot be read, written or made.
 * - In version 2, the BPF programs of parent cgroups still restrict devices too. The kernel frees the program with the cgroup. */
#include "procmgr/keeper/cgroups_devices.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "procmgr/keeper/cgroups_file.h"

static bool restrict_v1(const char *dir, const char *key, const struct device *list, int count)
{
	bool done = cgroups_file_write(dir, key, "devices.deny", "a");
	for (int i = 0; done && i < count; i++) {
		char rule[64], minor[16] = "*";
		if (list[i].minor != DEVICES_ANY_MINOR)
			snprintf(minor, sizeof minor, "%d", list[i].minor);
		snprintf(rule, sizeof rule, "%c %d:%s rw", list[i].type, list[i].major, minor);
		done = cgroups_file_write(dir, key, "devices.allow", rule);
	}
	return done;
}

enum { HEAD_SIZE = 4, RULE_SIZE = 5, TAIL_SIZE = 2 };

/* Returns the BPF instruction that skips the next `rest` instructions of a rule if the register `reg` is not `number`. */
static struct bpf_insn skip_unless(int reg, int number, int rest)
{
	return (struct bpf_insn){
		.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = (uint8_t)reg & 15, .off = (int16_t)rest, .imm = number};
}

static struct bpf_insn set_result(int result)
{
	return (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = result};
}

static struct bpf_insn load_word(int reg, size_t offset)
{
	return (struct bpf_insn){
		.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = (uint8_t)reg & 15, .src_reg = BPF_REG_1, .off = (int16_t)offset};
}

/* Write to `code` a BPF program that returns 1 for a device of the list, and 0 for all others. Returns the number of
 * instructions. */
static int write_program(struct bpf_insn *code, const struct device *list, int count)
{
	const struct bpf_insn leave = {.code = BPF_JMP | BPF_EXIT}, nothing = {.code = BPF_JMP | BPF_JA};
	struct bpf_insn *at = code;
	*at++ = load_word(BPF_REG_2, offsetof(struct bpf_cgroup_dev_ctx, access_type));
	*at++ = (struct bpf_insn){.code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = BPF_REG_2, .imm = 0xffff}; /* leaves the type */
	*at++ = load_word(BPF_REG_3, offsetof(struct bpf_cgroup_dev_ctx, major));
	*at++ = load_word(BPF_REG_4, offsetof(struct bpf_cgroup_dev_ctx, minor));
	for (int i = 0; i < count; i++) {
		*at++ = skip_unless(BPF_REG_2, list[i].type == 'c' ? BPF_DEVCG_DEV_CHAR : BPF_DEVCG_DEV_BLOCK, 4);
		*at++ = skip_unless(BPF_REG_3, list[i].major, 3);
		*at++ = list[i].minor == DEVICES_ANY_MINOR ? nothing : skip_unless(BPF_REG_4, list[i].minor, 2);
		*at++ = set_result(1);
		*at++ = leave;
	}
	*at++ = set_result(0);
	*at++ = leave;
	return (int)(at - code);
}

static int call_bpf(int command, union bpf_attr *attributes)
{
	return (int)syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

/* Load the BPF program for the devices of the list into the kernel. Returns its descriptor, or -1 with errno set. */
static int load_program(const struct device *list, int count)
{
	size_t most = HEAD_SIZE + RULE_SIZE * (size_t)count + TAIL_SIZE;
	struct bpf_insn *code = xcalloc(most, sizeof *code);
	union bpf_attr load;
	memset(&load, 0, sizeof load);
	load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	load.insn_cnt = (uint32_t)write_program(code, list, count);
	load.insns = (uint64_t)(uintptr_t)code;
	load.license = (uint64_t)(uintptr_t) "Apache-2.0";
	int fd = call_bpf(BPF_PROG_LOAD, &load);
	free(code);
	return fd;
}

static bool restrict_v2(const char *dir, const char *key, const struct device *list, int count)
{
	char path[CGROUPS_PATH_SIZE];
	snprintf(path, sizeof path, "%s/%s", dir, key);
	int group = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), program = group < 0 ? -1 : load_program(list, count);
	union bpf_attr attach;
	memset(&attach, 0, sizeof attach);
	attach.target_fd = (uint32_t)group;
	attach.attach_bpf_fd = (uint32_t)program;
	attach.attach_type = BPF_CGROUP_DEVICE;
	attach.attach_flags = BPF_F_ALLOW_MULTI;
	bool done = program >= 0 && call_bpf(BPF_PROG_ATTACH, &attach) == 0;
	if (program >= 0)
		close(program);
	if (group >= 0)
		close(group);
	return done;
}

enum { PROGRAMS_MOST = 8 }; /* programs of a cgroup: one, and another while its devices change */

/* Detach the programs with these ids from the cgroup. */
static bool detach_programs(int group, const uint32_t *ids, int count)
{
	bool done = true;
	for (int i = 0; done && i < count; i++) {
		union bpf_attr find, detach;
		memset(&find, 0, sizeof find);
		find.prog_id = ids[i];
		int program = call_bpf(BPF_PROG_GET_FD_BY_ID, &find);
		memset(&detach, 0, sizeof detach);
		detach.target_fd = (uint32_t)group;
		detach.attach_bpf_fd = (uint32_t)program;
		detach.attach_type = BPF_CGROUP_DEVICE;
		done = program >= 0 && call_bpf(BPF_PROG_DETACH, &detach) == 0;
		if (program >= 0)
			close(program);
	}
	return done;
}

static bool change_v2(const char *dir, const char *key, const struct device *list, int count)
{
	char path[CGROUPS_PATH_SIZE];
	uint32_t ids[PROGRAMS_MOST];
	snprintf(path, sizeof path, "%s/%s", dir, key);
	int group = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	union bpf_attr query;
	memset(&query, 0, sizeof query);
	query.query.target_fd = (uint32_t)group;
	query.query.attach_type = BPF_CGROUP_DEVICE;
	query.query.prog_ids = (uint64_t)(uintptr_t)ids;
	query.query.prog_cnt = PROGRAMS_MOST;
	bool done = group >= 0 && call_bpf(BPF_PROG_QUERY, &query) == 0 && restrict_v2(dir, key, list, count) &&
		    detach_programs(group, ids, (int)query.query.prog_cnt);
	if (group >= 0)
		close(group);
	return done;
}

bool cgroups_devices_change(const char *dir, const char *key, bool is_v2, const struct device *list, int count)
{
	return is_v2 ? change_v2(dir, key, list, count) : restrict_v1(dir, key, list, count);
}

bool cgroups_devices_restrict(const char *dir, const char *key, bool is_v2, const struct device *list, int count)
{
	return is_v2 ? restrict_v2(dir, key, list, count) : restrict_v1(dir, key, list, count);
}
