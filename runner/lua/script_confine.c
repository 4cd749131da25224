/* script_confine.c - limits and the filter of system calls of `rota-lua serve` (script_confine.h).
 *
 * Called by: bin/rota-lua.c, before it reads a request or a script. */
#include "runner/lua/script_confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define CONFINE_MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define CONFINE_MACHINE AUDIT_ARCH_AARCH64
#endif

void script_confine_files(int first)
{
	close_range((unsigned)first, ~0U, 0);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

#ifndef __SANITIZE_ADDRESS__

#ifdef CONFINE_MACHINE

/* Offset of the lower half of argument i of a system call; both supported machines are little-endian. */
#define CONFINE_ARGUMENT(i) (offsetof(struct seccomp_data, args) + 8 * (i))

#define CONFINE_ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define CONFINE_REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

/* Allow a system call. */
#define CONFINE_CALL(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), CONFINE_ALLOW

/* Allow a system call whose argument i has none of these bits. */
#define CONFINE_CALL_WITHOUT(name, i, bits)                                                                                      \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 4), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, CONFINE_ARGUMENT(i)),         \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 1, 0), CONFINE_ALLOW, CONFINE_REFUSE

/* Allow only the system calls that computing, reading a script and the line protocol need. */
static bool confine_filter(struct err *e)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CONFINE_MACHINE, 1, 0),
		CONFINE_REFUSE,
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		CONFINE_CALL(read),
		CONFINE_CALL(write),
		CONFINE_CALL(close),
		CONFINE_CALL(fstat),
		CONFINE_CALL(newfstatat),
		CONFINE_CALL(lseek),
		CONFINE_CALL(brk),
		CONFINE_CALL(munmap),
		CONFINE_CALL(mremap),
		CONFINE_CALL(madvise),
		CONFINE_CALL(clock_gettime),
		CONFINE_CALL(gettimeofday),
		CONFINE_CALL(setitimer),
		CONFINE_CALL(rt_sigaction),
		CONFINE_CALL(rt_sigprocmask),
		CONFINE_CALL(rt_sigreturn),
		CONFINE_CALL(restart_syscall),
		CONFINE_CALL(futex),
		CONFINE_CALL(getrandom),
		CONFINE_CALL(getpid),
		CONFINE_CALL(gettid),
		CONFINE_CALL(tgkill),
		CONFINE_CALL(exit),
		CONFINE_CALL(exit_group),
		CONFINE_CALL_WITHOUT(mmap, 2, PROT_EXEC),
		CONFINE_CALL_WITHOUT(mprotect, 2, PROT_EXEC),
		CONFINE_CALL_WITHOUT(openat, 2, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND),
		CONFINE_REFUSE,
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ||
	       err_sys(e, "could not set the filter of system calls");
}

#else

static bool confine_filter(struct err *e)
{
	(void)e; /* this machine has no filter of system calls: only the resource limits hold */
	return true;
}

#endif

/* Returns the bytes of address space that this process has. */
static size_t confine_present_size(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (file) {
		if (fscanf(file, "%lu", &pages) != 1)
			pages = 0;
		fclose(file);
	}
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static bool confine_limits(size_t memory, struct err *e)
{
	struct rlimit space, none = {0, 0};

	space.rlim_cur = space.rlim_max = confine_present_size() + memory;
	if (setrlimit(RLIMIT_AS, &space) < 0 || setrlimit(RLIMIT_NPROC, &none) < 0)
		return err_sys(e, "could not set limits");
	return true;
}

#endif

bool script_confine_process(size_t memory, struct err *e)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "could not give up new privileges");
#ifdef __SANITIZE_ADDRESS__
	(void)memory;
	return true;
#else
	return confine_limits(memory, e) && confine_filter(e);
#endif
}
