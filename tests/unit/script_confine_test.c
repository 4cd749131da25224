/* script_confine_test.c - a process that is confined can read files and compute, and nothing else. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "runner/lua/script_confine.h"

enum { MEMORY = 64 << 20 };

/* Run the check in a child that is confined. */
static void confined(bool (*check)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct err e;

		script_confine_files(STDERR_FILENO + 1);
		_exit(!script_confine_process(MEMORY, &e) ? 2 : !check());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool can_work(void)
{
	struct timespec now;
	char byte;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	void *memory = malloc(1 << 20);

	return fd == STDERR_FILENO + 1 && read(fd, &byte, 1) == 1 && close(fd) == 0 && memory &&
	       clock_gettime(CLOCK_REALTIME, &now) == 0;
}

static bool cannot_fork(void)
{
	return fork() < 0 && vfork() < 0;
}

static bool cannot_execute(void)
{
	execl("/bin/true", "true", (char *)NULL);
	return errno == EPERM;
}

static bool cannot_connect(void)
{
	int ends[2];

	return socket(AF_UNIX, SOCK_STREAM, 0) < 0 && socket(AF_INET, SOCK_STREAM, 0) < 0 &&
	       socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0;
}

static bool cannot_write(void)
{
	static const int modes[] = {O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC, O_RDONLY | O_APPEND};

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (open("/dev/null", modes[i], 0600) >= 0 || errno != EPERM)
			return false;
	return unlink(unit_path("x")) < 0 && errno == EPERM && mkdir(unit_path("y"), 0700) < 0 && errno == EPERM;
}

static bool cannot_harm(void)
{
	return kill(getppid(), 0) < 0 && errno == EPERM && chdir("/") < 0 && errno == EPERM && setuid(getuid()) < 0 &&
	       errno == EPERM;
}

static bool cannot_make_code(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory != MAP_FAILED && mprotect(memory, 4096, PROT_READ | PROT_EXEC) < 0 &&
	       mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

static bool has_bounded_memory(void)
{
	return mmap(NULL, 2 * (size_t)MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

static void test_confined(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* a sanitizer needs more, so there is no filter */
#endif
	confined(can_work);
	confined(cannot_fork);
	confined(cannot_execute);
	confined(cannot_connect);
	confined(cannot_write);
	confined(cannot_harm);
	confined(cannot_make_code);
	confined(has_bounded_memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_confined, unit_folder_make, unit_folder_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
