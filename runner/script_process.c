/* script_process.c - starts a process `rota-lua call`, and reads its answer (script_process.h).
 *
 * rota-lua reads the request on standard input, and writes its answer to descriptor 3, a memory file.
 * Called by: runner_staging_call.c for jobs; script_status.c for users.
 * Invariants:
 * - The memory file of the answer cannot grow beyond a fixed size, so an answer cannot fill the memory. */
#include "runner/script_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/daemon.h"
#include "lib/err.h"
#include "runner/hook_environment.h"

/* Returns a memory file for an answer of at most `most` bytes. */
static int process_result(size_t most)
{
	int fd = memfd_create("result of a function", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)most) || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK))
		die("could not make a file for a result: %s", strerror(errno));
	return fd;
}

/* Returns a memory file with the request. */
static int process_input(const json_t *request)
{
	char *text = json_dumps(request, JSON_COMPACT);
	int fd;

	if (!text)
		die("could not write the arguments of a function as JSON");
	fd = hook_open_input(text);
	free(text);
	return fd;
}

int script_process_start(struct hook *h, struct event_base *base, const struct conf *conf, const struct script_request *request)
{
	struct err e = {0};
	char *program = daemon_beside("rota-lua", &e), **environment = hook_environment(NULL, 0, conf->instance_name);
	int input = process_input(request->request), result = process_result(request->answer_most);
	bool started = false;

	if (program) {
		free(h->path);
		h->path = program;
		started = hook_start(
			h, base,
			&(struct hook_start){.arguments = (char *[]){"call", conf->hooks_burst_buffer, request->function, NULL},
					     .environment = environment,
					     .input = input,
					     .result = result,
					     .timeout_s = request->timeout_s,
					     .gentle = true});
		free(h->path); /* messages about the process name the site's script, not rota-lua */
		h->path = xstrdup(conf->hooks_burst_buffer);
	} else {
		snprintf(h->message, sizeof h->message, "%s", e.message);
	}
	hook_environment_free(environment);
	close(input);
	if (!started)
		close(result);
	return started ? result : -1;
}

char *script_process_read(int fd, size_t most)
{
	char *text = xmalloc(most + 1);
	size_t length = 0;
	ssize_t size = fd < 0 || lseek(fd, 0, SEEK_SET) ? -1 : 0;

	if (size == 0)
		while (length < most && (size = read(fd, text + length, most - length)) > 0)
			length += (size_t)size;
	text[length] = '\0';
	if (size >= 0)
		return text;
	free(text);
	return NULL;
}

json_t *script_process_answer(int result)
{
	off_t size = result < 0 ? 0 : lseek(result, 0, SEEK_END);
	char *text = size > 0 ? script_process_read(result, (size_t)size) : NULL;
	json_t *answer = text ? json_loads(text, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL) : NULL;

	free(text);
	return answer;
}
