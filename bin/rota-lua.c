/* rota-lua.c - the main of the program that runs functions of a site's Lua scripts, as the account of runnerd, without keys and
 * without a database.
 *
 * `rota-lua serve`, for synchronous functions, cannot write files, open sockets or start processes (runner/lua/script_confine.c),
 * and each call has limits. `rota-lua call`, for asynchronous functions, can do whatever its account can, as prologs can; it
 * writes no core file, and has only the standard descriptors and 3.
 * Called by: runnerd, in a process group of its own.
 * Invariants:
 * - `call` writes its answer to descriptor 3 once, and then exits with 0. If a signal ends it, there is no answer, or the exit
 *   status is not 0. */
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/standard.h"
#include "runner/lua/script_call.h"
#include "runner/lua/script_confine.h"
#include "runner/lua/script_limit.h"
#include "runner/lua/script_serve.h"

enum { ANSWER_FD = 3, EXIT_USAGE = 2, MIB = 1 << 20, SPACE_FACTOR = 4, SPACE_MIB = 64 };

static const char usage[] = "usage: rota-lua serve [OPTION]...\n"
			    "       rota-lua call FILE FUNCTION\n\n"
			    "Runs functions of a site's Lua scripts for runnerd.\n\n"
			    "serve reads requests from standard input, one a line, such as\n"
			    "  job_submit slurm_job_submit {\"desc\":{\"name\":\"test\"}}\n"
			    "and writes answers to standard output, a JSON object a line. Scripts can only\n"
			    "compute.\n\n"
			    "call runs one function of burst_buffer.lua, such as data_in, with all that Lua\n"
			    "can do. It reads one request from standard input, and writes the answer to\n"
			    "descriptor 3.\n\n"
			    "Options of serve:\n"
			    "  --job-submit FILE    script of requests that begin with job_submit\n"
			    "  --burst-buffer FILE  script of requests that begin with burst_buffer\n\n"
			    "Options of serve, each a bound of one call. A call that exceeds it is ended:\n"
			    "  --instructions N  N instructions of Lua (default: 100000000)\n"
			    "  --memory-mb N     N MiB of memory (default: 64)\n"
			    "  --seconds N       N seconds, such as 2 or 0.5 (default: 2)\n\n"
			    "Other options:\n"
			    "  --help            print this help\n"
			    "  --version         print the version\n";

static int usage_fail(const char *what)
{
	fprintf(stderr, "rota-lua: %s\n%s", what, usage);
	return EXIT_USAGE;
}

static int main_fail(const struct err *e)
{
	fprintf(stderr, "rota-lua: %s\n", e->message);
	return EXIT_FAILURE;
}

/* Read the value of an option, a number above 0 and at most `most`. */
static bool option_number(const char *text, double most, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end && *value > 0 && *value <= most;
}

/* Read the options of `serve`. Returns NULL, or the reason why they are wrong. */
static const char *options_read(int argc, char **argv, struct script_paths *paths, struct script_bounds *bounds)
{
	static const struct option options[] = {
		{"instructions", required_argument, NULL, 'i'}, {"memory-mb", required_argument, NULL, 'm'},
		{"seconds", required_argument, NULL, 's'},	{"job-submit", required_argument, NULL, 'j'},
		{"burst-buffer", required_argument, NULL, 'b'}, {NULL, 0, NULL, 0},
	};
	double value;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'i' && option_number(optarg, 1e15, &value))
			bounds->instructions = (long long)value;
		else if (option == 'm' && option_number(optarg, 65536, &value))
			bounds->memory = (size_t)(value * MIB);
		else if (option == 's' && option_number(optarg, 86400, &value))
			bounds->seconds = value;
		else if (option == 'j')
			paths->job_submit = optarg;
		else if (option == 'b')
			paths->burst_buffer = optarg;
		else
			return "wrong option or value of serve";
	}
	return optind == argc ? NULL : "serve takes no arguments";
}

static int lua_serve(int argc, char **argv)
{
	struct script_bounds bounds = {
		.instructions = 100000000, .memory = 64 * MIB, .seconds = 2, .cluster = getenv("ROTA_CLUSTER")};
	struct script_paths paths = {0};
	const char *objection = options_read(argc, argv, &paths, &bounds);
	struct script_server *server;
	struct err e = {0};
	bool good;

	if (objection)
		return usage_fail(objection);
	script_confine_files(STDERR_FILENO + 1);
	json_object_seed(0);
	script_limit_open();
	if (!script_confine_process(bounds.memory * SPACE_FACTOR + SPACE_MIB * (size_t)MIB, &e))
		return main_fail(&e);
	server = script_server_new(&paths, &bounds);
	good = script_server_run(server, STDIN_FILENO, STDOUT_FILENO, &e);
	script_server_free(server);
	return good ? EXIT_SUCCESS : main_fail(&e);
}

/* Handler of SIGTERM in `call`: ends this process by the signal, and also the programs that it runs, if this process leads its
 * process group. */
static void call_end(int number)
{
	signal(number, SIG_DFL);
	if (getpgrp() == getpid())
		kill(0, number);
	else
		raise(number);
}

/* Returns the answer as one line, malloc'ed. If descriptor 3 is a file of fixed size, and the answer is longer, returns the
 * answer that the function has failed. */
static char *call_line(const json_t *answer)
{
	char *text = json_dumps(answer, JSON_COMPACT), *line = xasprintf("%s\n", text ? text : "{}");
	size_t length = strlen(line);
	struct stat st;

	if (fstat(ANSWER_FD, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && length > (size_t)st.st_size) {
		free(line);
		line = xasprintf("{\"rc\":-1,\"message\":\"what it returns has %zu bytes as JSON; at most %lld are allowed\"}\n",
				 length, (long long)st.st_size);
	}
	free(text);
	return line;
}

/* Write the answer as one line, and exit before another signal can end this process. */
static bool call_write(const json_t *answer, struct err *e)
{
	char *line = call_line(answer);
	size_t length = strlen(line);
	sigset_t term;
	bool good;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	good = write(ANSWER_FD, line, length) == (ssize_t)length || err_sys(e, "could not write the answer to descriptor 3");
	free(line);
	return good;
}

static int function_call(const char *path, const char *function)
{
	json_error_t error;
	json_t *request, *answer;
	struct err e = {0};
	bool good;

	if (fcntl(ANSWER_FD, F_SETFD, FD_CLOEXEC) < 0) {
		err_sys(&e, "the answer goes to descriptor 3, which is not open");
		return main_fail(&e);
	}
	script_confine_files(ANSWER_FD + 1);
	/* line-buffered, so that lines of this process and of programs that the script runs come in their order */
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, call_end);
	request = json_loadf(stdin, JSON_ALLOW_NUL, &error);
	if (!request) {
		err_set(&e, "standard input is not JSON: line %d: %s", error.line, error.text);
		return main_fail(&e);
	}
	if (!freopen("/dev/null", "r", stdin)) {
		err_sys(&e, "could not open /dev/null");
		return main_fail(&e);
	}
	answer = script_call(path, function, request, getenv("ROTA_CLUSTER"), &e);
	json_decref(request);
	if (!answer)
		return main_fail(&e);
	good = call_write(answer, &e);
	json_decref(answer);
	return good ? EXIT_SUCCESS : main_fail(&e);
}

int main(int argc, char **argv)
{
	standard_files();
	if (argc == 2 && !strcmp(argv[1], "--help"))
		return fputs(usage, stdout) < 0;
	if (argc == 2 && !strcmp(argv[1], "--version"))
		return printf("rota-lua %s\n", ROTA_VERSION) < 0;
	if (argc >= 2 && !strcmp(argv[1], "serve"))
		return lua_serve(argc - 1, argv + 1);
	if (argc == 4 && !strcmp(argv[1], "call"))
		return function_call(argv[2], argv[3]);
	return usage_fail(argc < 2 ? "no command" : "wrong command or arguments");
}
