/* kind_confine_test.c - actions that a confined rota-credential cannot take, even if its input has taken it over. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "credmgr/kind/kind_confine.h"
#include "credmgr/kind/kind_secret.h"

enum { MEMORY = 64 << 20 };

#ifdef __SANITIZE_ADDRESS__
static const bool is_limited = false; /* reports of sanitizers need memory, files and traces */
#else
static const bool is_limited = true;
#endif

static const char *key; /* the path of a file of the account */

/* Run the check in a child that is confined. */
static void confined(enum kind_reach reach, bool (*check)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct err e;

		kind_confine_files(STDERR_FILENO + 1);
		_exit(!kind_confine_process(reach, MEMORY, &e) ? 2 : !check());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool can_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool cannot_reach_files(void)
{
	int made = open(unit_path("made"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return !can_read(key) && made < 0 && unlink(key) != 0 && rename(key, unit_path("moved")) != 0;
}

static bool can_read_what_it_needs(void)
{
	int fd = kind_secret_file("secret", 6);
	char *path = xasprintf("/proc/self/fd/%d", fd);
	bool good = can_read(path) && can_read("/usr/bin/ssh-keygen") && can_read("/etc/passwd") && can_read("/dev/urandom");

	free(path);
	return good;
}

static bool can_connect(int domain)
{
	int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool has_no_network(void)
{
	return !can_connect(AF_UNIX) && !can_connect(AF_INET) && !can_connect(AF_INET6) && !can_connect(AF_NETLINK);
}

static bool has_network_alone(void)
{
	return !can_connect(AF_UNIX) && can_connect(AF_INET);
}

static bool cannot_enter_parent(void)
{
	char byte, *path = xasprintf("/proc/%d/mem", getppid());
	struct iovec here = {&byte, 1}, there = {&byte, 1};
	bool traced = ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0;
	bool read = syscall(SYS_process_vm_readv, getppid(), &here, 1, &there, 1, 0) > 0;

	return !traced && !read && !can_read(path);
}

static bool memory_is_limited(void)
{
	return mmap(NULL, 2 * MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

static bool has_no_descriptors(void)
{
	return fcntl(STDERR_FILENO + 1, F_GETFD) < 0 && errno == EBADF;
}

static bool reaches_all(void)
{
	return can_read(key) && can_connect(AF_UNIX);
}

static void test_inspection(void **state)
{
	(void)state;
	confined(KIND_REACH_NOTHING, has_no_descriptors);
	confined(KIND_REACH_NOTHING, has_no_network);
	confined(KIND_REACH_NOTHING, can_read_what_it_needs);
	if (is_limited) {
		confined(KIND_REACH_NOTHING, memory_is_limited);
		confined(KIND_REACH_NOTHING, cannot_enter_parent);
		confined(KIND_REACH_NOTHING, cannot_reach_files);
	}
}

static void test_renewal(void **state)
{
	(void)state;
	confined(KIND_REACH_SERVERS, has_network_alone);
	confined(KIND_REACH_SERVERS, can_read_what_it_needs);
	if (is_limited)
		confined(KIND_REACH_SERVERS, cannot_reach_files);
}

static void test_program_of_the_site(void **state)
{
	(void)state;
	confined(KIND_REACH_ALL, reaches_all);
}

static int begin(void **state)
{
	int fd;

	if (unit_folder_make(state) != 0)
		return -1;
	key = strdup(unit_path("key"));
	fd = open(key, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd >= 0 ? close(fd) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inspection),
		cmocka_unit_test(test_renewal),
		cmocka_unit_test(test_program_of_the_site),
	};

	return cmocka_run_group_tests(tests, begin, unit_folder_remove);
}
