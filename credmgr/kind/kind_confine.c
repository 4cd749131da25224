/* kind_confine.c - limits, Landlock and a filter of system calls (kind_confine.h).
 *
 * Called by: bin/rota-credential.c.
 * Invariants:
 * - rota-credential has the account of rota-credd, which owns the files of keys. So rota-credential may open only the paths of a
 *   list, and the folders of keys are not on it.
 * - On a kernel without Landlock, only the resource limits and the filter of system calls hold. */
#include "credmgr/kind/kind_confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define CONFINE_MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define CONFINE_MACHINE AUDIT_ARCH_AARCH64
#endif

/* Paths that programs and libraries read: their own files, and how the host resolves names, verifies certificates and finds
 * KDCs. */
static const char *const CONFINE_READABLE[] = {"/usr",
					       "/lib",
					       "/lib64",
					       "/bin",
					       "/sbin",
					       "/opt",
					       "/etc/ld.so.cache",
					       "/etc/ld.so.preload",
					       "/etc/resolv.conf",
					       "/run/systemd/resolve",
					       "/etc/hosts",
					       "/etc/host.conf",
					       "/etc/gai.conf",
					       "/etc/nsswitch.conf",
					       "/etc/services",
					       "/etc/protocols",
					       "/etc/passwd",
					       "/etc/group",
					       "/etc/localtime",
					       "/etc/ssl",
					       "/etc/pki",
					       "/etc/ca-certificates",
					       "/etc/alternatives",
					       "/etc/krb5.conf",
					       "/etc/krb5.conf.d",
					       "/etc/crypto-policies",
					       "/var/lib/sss/pubconf",
					       "/etc/gss",
					       "/dev/urandom",
					       "/dev/random",
					       "/proc/self",
					       "/proc/sys/crypto"};

void kind_confine_files(int first)
{
	close_range((unsigned)first, ~0U, 0);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* Allow reading and executing a file or folder, and the rights in `more`. A path that does not exist is ignored. */
static void confine_allow(int rules, const char *path, uint64_t more)
{
	struct landlock_path_beneath_attr allowed = {.parent_fd = open(path, O_PATH | O_CLOEXEC)};
	struct stat st;

	if (allowed.parent_fd < 0)
		return;
	allowed.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE | more;
	if (fstat(allowed.parent_fd, &st) == 0 && S_ISDIR(st.st_mode))
		allowed.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &allowed, 0);
	close(allowed.parent_fd);
}

/* Allow the paths in an environment variable, which are separated by `separator`. */
static void confine_allow_variable(int rules, const char *name, char separator)
{
	const char *at = getenv(name);

	while (at && *at) {
		size_t size = strcspn(at, (char[]){separator, '\0'});
		char *path = xstrndup(at, size);

		confine_allow(rules, path, 0);
		free(path);
		at += size + (at[size] != '\0');
	}
}

/* From now on, only paths of the list can be opened, and only for reading, except /dev/null. Memory files are not affected. */
static bool confine_landlock(struct err *e)
{
	/* Version 1 of Landlock is in Linux 5.13. */
	const struct landlock_ruleset_attr all = {.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
	bool good;

#ifdef __SANITIZE_ADDRESS__
	confine_allow(rules, "/", LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG); /* reports of the sanitizer */
#endif
	if (rules < 0 && (errno == ENOSYS || errno == EOPNOTSUPP))
		return true;
	if (rules < 0)
		return err_sys(e, "could not confine this program");
	for (size_t i = 0; i < sizeof CONFINE_READABLE / sizeof *CONFINE_READABLE; i++)
		confine_allow(rules, CONFINE_READABLE[i], 0);
	confine_allow(rules, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE);
	confine_allow_variable(rules, "KRB5_CONFIG", ':');
	confine_allow_variable(rules, "CURL_CA_BUNDLE", '\0');
	confine_allow_variable(rules, "SSL_CERT_FILE", '\0');
	confine_allow_variable(rules, "SSL_CERT_DIR", ':');
	good = syscall(SYS_landlock_restrict_self, rules, 0) == 0 || err_sys(e, "could not confine this program");
	close(rules);
	return good;
}

#ifdef CONFINE_MACHINE

#define CONFINE_ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define CONFINE_REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)

/* Refuse a system call. */
#define CONFINE_WITHOUT(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), CONFINE_REFUSE

/* Refuse sockets, except those of the network if `reaches_servers`, and all system calls that reach into other processes. */
static bool confine_filter(bool reaches_servers, struct err *e)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CONFINE_MACHINE, 1, 0),
		CONFINE_REFUSE,
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef __x86_64__
		/* the same system calls have other numbers in the x32 ABI */
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
		CONFINE_REFUSE,
#endif
#ifndef __SANITIZE_ADDRESS__
		CONFINE_WITHOUT(ptrace),
#endif
		CONFINE_WITHOUT(process_vm_readv),
		CONFINE_WITHOUT(process_vm_writev),
		CONFINE_WITHOUT(pidfd_getfd),
		CONFINE_WITHOUT(io_uring_setup),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 1, 0),
		CONFINE_ALLOW,
		/* first argument of socket(domain, ...), of which the low 32 bits are read; both supported machines are
		 * little-endian */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, reaches_servers ? AF_INET : ~0U, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, reaches_servers ? AF_INET6 : ~0U, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, reaches_servers ? AF_NETLINK : ~0U, 0, 1), /* getaddrinfo() */
		CONFINE_ALLOW,
		CONFINE_REFUSE,
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ||
	       err_sys(e, "could not set the filter of system calls");
}

#else

static bool confine_filter(bool reaches_servers, struct err *e)
{
	(void)reaches_servers;
	(void)e; /* Rota has no filter for this type of machine */
	return true;
}

#endif

static bool confine_memory(size_t memory, struct err *e)
{
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer reserves terabytes of address space */
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;
	struct rlimit space;

	if (file && fscanf(file, "%lu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	space.rlim_cur = space.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + memory;
	return setrlimit(RLIMIT_AS, &space) == 0 || err_sys(e, "could not limit the memory");
#else
	(void)memory;
	(void)e;
	return true;
#endif
}

bool kind_confine_process(enum kind_reach reach, size_t memory, struct err *e)
{
#ifndef __SANITIZE_ADDRESS__ /* LeakSanitizer traces this process */
	prctl(PR_SET_DUMPABLE, 0);
#endif
	return reach == KIND_REACH_ALL ||
	       (confine_memory(memory, e) && confine_landlock(e) && confine_filter(reach == KIND_REACH_SERVERS, e));
}
