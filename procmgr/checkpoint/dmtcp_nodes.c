/* dmtcp_nodes.c - the nodes of a step whose tasks DMTCP saves together (dmtcp_nodes.h).
 *
 * Called by: driver_dmtcp.c.
 * The folder ROTA_CHECKPOINT_DIR.run of the attempt, which all nodes share, has the file "link" with the port and the key of the first
 * node's rota-link; for each other node N "port.N", with the port of its own rota-link and the process of its first task, and
 * "answer.N" with what it answers; and "question", which the first node asks all others.
 * Invariants:
 * - The first node writes a question, and another node its answer, into a file that exists already. A network file system may show a
 *   new file late to other nodes. It shows the newest content of a file to each node that opens it.
 * - Only processes of a node look for processes of that node. */
#include "procmgr/checkpoint/dmtcp_nodes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/daemon.h"
#include "lib/text.h"
#include "procmgr/checkpoint/checkpoint_step.h"
#include "procmgr/checkpoint/dmtcp_guard.h"
#include "procmgr/checkpoint/dmtcp_tasks.h"

/* BEGIN_S: seconds in which rota-link listens; ANSWER_S: seconds in which a node answers. */
enum { BEGIN_S = 60, ANSWER_S = 20, PAUSE_NS = 50000000, ASK_PAUSE_NS = 200000000, LINE_SIZE = 600, PATH_SIZE = 64 };

static void node_pause(long ns)
{
	nanosleep(&(struct timespec){0, ns}, NULL);
}

char *dmtcp_nodes_program(const char *name, struct err *e)
{
	char *path = daemon_beside(name, e);
	if (!path || access(path, R_OK) == 0)
		return path;
	err_sys(e, "could not read \"%s\", which steps with several nodes need", path);
	free(path);
	return NULL;
}

/* Open the library that dmtcp_launch loads. Returns a descriptor, -1 if it is not where DMTCP installs it. */
static int library_open(const char *folder)
{
	static const char *const places[] = {"lib/dmtcp", "lib64/dmtcp"};
	char *program = xasprintf("%s/dmtcp_launch", folder), *real = realpath(program, NULL);
	int fd = -1;
	for (size_t i = 0; real && fd < 0 && i < sizeof places / sizeof *places; i++) {
		char *path = xasprintf("%.*s/../%s/libdmtcp.so", (int)(strrchr(real, '/') - real), real, places[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		free(path);
	}
	free(real);
	free(program);
	return fd;
}

/* Returns the first of the names that the library lacks, NULL: it has all. Names of symbols and of barriers both end with a NUL. */
static const char *library_lacks(const char *bytes, size_t size)
{
	static const char *const names[] = {
		"_ZN5jalib9JSockAddr3ANYE",	   "dmtcp_local_barrier",   "dmtcp_global_barrier",
		"dmtcp_protected_environ_fd",	   "dmtcp_is_protected_fd", "Socket::Restart_Post_Restart",
		"Socket::Restart_Ns_Send_Queries", "Socket::Restart_Refill"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!memmem(bytes, size, names[i], strlen(names[i]) + 1))
			return names[i];
	return NULL;
}

bool dmtcp_nodes_library_fits(const char *folder, struct err *e)
{
	struct stat s;
	const char *missing = NULL;
	int fd = library_open(folder);
	void *bytes = MAP_FAILED;
	if (fd >= 0 && fstat(fd, &s) == 0 && s.st_size > 0)
		bytes = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (bytes != MAP_FAILED) {
		missing = library_lacks(bytes, (size_t)s.st_size);
		munmap(bytes, (size_t)s.st_size);
	}
	return !missing ||
	       err_set(e,
		       "the DMTCP in \"%s\" does not save tasks on several nodes, as its library lacks \"%s\"; write --nodes=1",
		       folder, missing);
}

/* Find the address from which this node reaches `host`, by a UDP socket, which sends nothing. */
static bool address_towards(const char *host, char text[INET_ADDRSTRLEN], struct err *e)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found = NULL;
	struct sockaddr_in own = {0};
	socklen_t size = sizeof own;
	int why = getaddrinfo(host, "9", &hints, &found);
	if (why != 0)
		return err_set(e, "the node of the step at \"%s\" has no IPv4 address: %s", host, gai_strerror(why));
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool good = fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
		    getsockname(fd, (struct sockaddr *)&own, &size) == 0 &&
		    inet_ntop(AF_INET, &own.sin_addr, text, INET_ADDRSTRLEN);
	if (!good)
		err_sys(e, "could not find the way to the node of the step at \"%s\"", host);
	if (fd >= 0)
		close(fd);
	freeaddrinfo(found);
	return good;
}

bool dmtcp_nodes_export(const json_t *hosts, struct err *e)
{
	const char *other = json_string_value(json_array_get(hosts, dmtcp_tasks_node() == 0 ? 1 : 0));
	char text[INET_ADDRSTRLEN];
	if (!other || !*other)
		return err_set(e, "jobmgrd has not said where the nodes of the step are; is it older than this node?");
	return address_towards(other, text, e) && (setenv("ROTA_CHECKPOINT_ADDRESS", text, 1) == 0 || err_sys(e, "no memory"));
}

/* Write a line into a file that exists, in one piece. */
static bool write_line(const char *run, const char *name, const char *line)
{
	char *path = xasprintf("%s/%s", run, name);
	int fd = open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
	if (fd >= 0)
		good = close(fd) == 0 && good;
	free(path);
	return good;
}

/* Read the line of a file, without its end. Returns false if there is none, or only a part of it. */
static bool read_line(const char *run, const char *name, char line[LINE_SIZE])
{
	char *path = xasprintf("%s/%s", run, name);
	FILE *file = fopen(path, "re");
	bool good = file && fgets(line, LINE_SIZE, file) && line[strcspn(line, "\n")] == '\n';
	if (good)
		line[strcspn(line, "\n")] = '\0';
	if (file)
		fclose(file);
	free(path);
	return good;
}

bool dmtcp_nodes_prepare(const char *run, struct err *e)
{
	return dmtcp_tasks_make_file(run, "question", e);
}

/* Wait until a file exists in the folder of the attempt. */
static bool await_file(const char *run, const char *name)
{
	char *path = xasprintf("%s/%s", run, name);
	int64_t until = clock_boot_us() + (int64_t)BEGIN_S * 1000000;
	bool there;
	while (!(there = access(path, F_OK) == 0) && clock_boot_us() < until)
		node_pause(PAUSE_NS);
	free(path);
	return there;
}

bool dmtcp_nodes_await_link(const char *run, struct err *e)
{
	return await_file(run, "link") ||
	       err_set(e, "rota-link does not listen for the other nodes of the step within %d second%s", BEGIN_S,
		       text_plural(BEGIN_S));
}

static void port_name(char name[PATH_SIZE])
{
	if (dmtcp_tasks_node() == 0)
		snprintf(name, PATH_SIZE, "port");
	else
		snprintf(name, PATH_SIZE, "port.%d", dmtcp_tasks_node());
}

bool dmtcp_nodes_read_port(const char *run, int *port, int *root)
{
	char name[PATH_SIZE], line[LINE_SIZE];
	port_name(name);
	return read_line(run, name, line) && sscanf(line, "%d %d", port, root) == 2;
}

int dmtcp_nodes_await_port(const char *run, struct err *e)
{
	char name[PATH_SIZE];
	int port, root;
	port_name(name);
	if (await_file(run, name) && dmtcp_nodes_read_port(run, &port, &root))
		return port;
	err_set(e, "this node did not reach the coordinator of DMTCP on the first node of the step within %d second%s", BEGIN_S,
		text_plural(BEGIN_S));
	return -1;
}

/* Execute rota-link, whose standard input ends with this process. Returns its pid, and the other end of its input as *input. */
static pid_t start_link(const struct dmtcp_node *node, const char *program, pid_t first, int *input)
{
	char number[16], process[16];
	int ends[2];
	snprintf(number, sizeof number, "%d", dmtcp_tasks_node());
	snprintf(process, sizeof process, "%d", (int)first);
	char *argv[] = {(char *)program, (char *)"other", (char *)node->run, number, (char *)node->first, process, NULL};
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0 && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO)
		execv(program, argv);
	if (pid == 0)
		_exit(127);
	close(ends[0]);
	*input = ends[1];
	return pid;
}

/* Answer one question, unless it is the one that was answered last. */
static void answer_question(const struct dmtcp_node *node, char last[LINE_SIZE])
{
	char question[LINE_SIZE], name[PATH_SIZE];
	struct err e;
	int64_t bytes = 0;
	if (!read_line(node->run, "question", question) || strcmp(question, last) == 0)
		return;
	bool good = node->check(&bytes, node->arg, &e);
	char *line =
		good ? xasprintf("%s yes %lld\n", question, (long long)bytes) : xasprintf("%s no %.400s\n", question, e.message);
	snprintf(name, sizeof name, "answer.%d", dmtcp_tasks_node());
	if (write_line(node->run, name, line))
		snprintf(last, LINE_SIZE, "%s", question);
	free(line);
}

/* Runs in a process of its own: answers questions as long as tasks of this node and rota-link run. `first`: process of the node's
 * first task. */
static void node_main(const struct dmtcp_node *node, const char *program, pid_t first)
{
	struct err e;
	char last[LINE_SIZE] = "";
	int input, port;
	dmtcp_guard_detach();
	pid_t link = start_link(node, program, first, &input);
	if (link < 0 || (port = dmtcp_nodes_await_port(node->run, &e)) < 0)
		_exit(1);
	if (node->watch && fork() == 0) {
		close(input);
		node->watch(port, node->arg);
		_exit(0);
	}
	while ((kill(first, 0) == 0 || dmtcp_tasks_run_here(node->run)) && waitpid(link, NULL, WNOHANG) == 0) {
		answer_question(node, last);
		node_pause(ASK_PAUSE_NS);
	}
	_exit(0);
}

bool dmtcp_nodes_begin(const struct dmtcp_node *node, struct err *e)
{
	char name[PATH_SIZE], *program = dmtcp_nodes_program("rota-link", e);
	pid_t first = getpid();
	int status = 1;
	snprintf(name, sizeof name, "answer.%d", dmtcp_tasks_node());
	bool good = program && dmtcp_tasks_make_file(node->run, name, e);
	pid_t pid = good ? fork() : -1;
	if (pid == 0 && fork() == 0)
		node_main(node, program, first);
	if (pid == 0)
		_exit(0);
	if (good && (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0))
		good = err_sys(e, "could not start rota-link");
	free(program);
	return good;
}

/* Read the answer of a node to the question. Returns false if there is none yet. */
static bool read_answer(const char *run, int node, const char *question, char answer[LINE_SIZE])
{
	char name[PATH_SIZE], line[LINE_SIZE];
	size_t length = strlen(question);
	snprintf(name, sizeof name, "answer.%d", node);
	if (!read_line(run, name, line) || strncmp(line, question, length) != 0 || line[length] != ' ')
		return false;
	snprintf(answer, LINE_SIZE, "%s", line + length + 1);
	return true;
}

/* Have the tasks of a node ended well? The node says so by a file beside the folder of the attempt (checkpoint_tasks.c). */
static bool node_is_over(const char *run, int node)
{
	char *path = xasprintf("%.*s.over.%d", (int)(strlen(run) - strlen(".run")), run, node);
	bool over = access(path, F_OK) == 0;
	free(path);
	return over;
}

/* Wait for the answer of a node, and add its bytes. */
static bool await_answer(const char *run, int node, const char *question, int64_t until, int64_t *bytes, struct err *e)
{
	char answer[LINE_SIZE];
	long long more;
	bool answered, over = false;
	while (!(answered = read_answer(run, node, question, answer)) && !(over = node_is_over(run, node)) &&
	       clock_boot_us() < until)
		node_pause(PAUSE_NS);
	if (over)
		return err_set(
			e,
			"the tasks of node %d of the step, counted from 0, have ended, so the tasks cannot be saved together "
			"any more",
			node);
	if (!answered)
		return err_set(e, "node %d of the step, counted from 0, does not say whether its processes can be saved", node);
	if (sscanf(answer, "yes %lld", &more) != 1)
		return err_set(e, "%s", strncmp(answer, "no ", 3) == 0 ? answer + 3 : answer);
	*bytes += more;
	return true;
}

bool dmtcp_nodes_ask(const char *run, int64_t *bytes, struct err *e)
{
	char question[PATH_SIZE], line[PATH_SIZE + 2];
	int64_t now = clock_boot_us();
	bool good = true;
	if (dmtcp_tasks_nodes() == 1)
		return true;
	snprintf(question, sizeof question, "%lld.%d", (long long)now, (int)getpid());
	snprintf(line, sizeof line, "%s\n", question);
	if (!write_line(run, "question", line))
		return err_set(e, "could not ask the other nodes of the step: its first node has no file for that");
	for (int node = 1; good && node < dmtcp_tasks_nodes(); node++)
		good = await_answer(run, node, question, now + (int64_t)ANSWER_S * 1000000, bytes, e);
	return good;
}
