/* pty.c - starts a command on a pty, and signals it.
 *
 * Called by: terminal.c.
 * Invariants:
 * - The command has no descriptor but the pty, the default for every signal, and its own session.
 * - When this process ends in whatever way, the kernel hangs the pty up, and the command gets SIGHUP. */
#include "procmgr/terminal/pty.h"
#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

static bool open_pty(struct pty *p, int rows, int cols, struct err *e)
{
	char path[64];
	struct termios modes;
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
	p->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (p->master < 0 || grantpt(p->master) < 0 || unlockpt(p->master) < 0 || ptsname_r(p->master, path, sizeof path) != 0)
		return err_sys(e, "could not open a pty");
	p->slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (p->slave < 0)
		return err_sys(e, "could not open \"%s\"", path);
	if (tcgetattr(p->slave, &modes) == 0) {
		modes.c_iflag |= IUTF8;
		tcsetattr(p->slave, TCSANOW, &modes);
	}
	ioctl(p->master, TIOCSWINSZ, &size);
	file_set_blocking(p->master, false);
	return true;
}

static void reset_signals(void)
{
	sigset_t none;
	sigemptyset(&none);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs in the child process: execute the command on the pty; if that fails, write errno to `report`. */
static void run_command(const struct pty *p, char **argv, pid_t parent, int report)
{
	prctl(PR_SET_PDEATHSIG, SIGHUP);
	if (getppid() != parent)
		_exit(1);
	setsid();
	ioctl(p->slave, TIOCSCTTY, 0);
	for (int i = 0; i < 3; i++)
		dup2(p->slave, i);
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	reset_signals();
	execvp(*argv, argv);
	int failure = errno;
	if (write(report, &failure, sizeof failure) < 0)
		_exit(1);
	_exit(127);
}

bool pty_start(struct pty *p, char **argv, int rows, int cols, int *failure, struct err *e)
{
	int report[2];
	*failure = 0;
	if (!open_pty(p, rows, cols, e))
		return false;
	if (pipe2(report, O_CLOEXEC) < 0)
		return err_sys(e, "could not make a pipe");
	pid_t parent = getpid();
	p->pid = fork();
	if (p->pid == 0)
		run_command(p, argv, parent, report[1]);
	close(report[1]);
	if (p->pid < 0) {
		close(report[0]);
		return err_sys(e, "could not start a process");
	}
	bool failed = read(report[0], failure, sizeof *failure) == sizeof *failure;
	close(report[0]);
	if (!failed)
		return true;
	errno = *failure;
	return err_sys(e, "could not execute \"%.256s\"", *argv);
}

void pty_resize(const struct pty *p, int rows, int cols)
{
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
	ioctl(p->master, TIOCSWINSZ, &size);
}

void pty_signal(const struct pty *p, int signal)
{
	pid_t group = tcgetpgrp(p->master);
	if (group > 1)
		kill(-group, signal);
	if (group != p->pid)
		kill(p->pid, signal);
	/* Have a stopped command go on, since it would not handle the signal before that. */
	if (signal == SIGTERM || signal == SIGHUP) {
		if (group > 1)
			kill(-group, SIGCONT);
		kill(p->pid, SIGCONT);
	}
}

void pty_end_by(int signal_number)
{
	struct rlimit none = {0, 0};
	sigset_t set;
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	signal(signal_number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signal_number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), signal_number);
}
