/* syntax.c - checks the syntax of a script's steps with "SHELL -n".
 *
 * Called by: `rota submit` and `rota check`, as the user. No daemon passes a user's text to a shell.
 * Invariants:
 * - The shell executes nothing: it runs with -n and without BASH_ENV and ENV.
 * - The shell reads each step as its node does: the preamble and the step's lines, with the line numbers of the script.
 * - If the check itself fails, only its warnings are lost; the submission goes on. */
#include "bin/rota/submit/syntax.h"

#include <ctype.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobmgr/translate/translate.h"
#include "lib/err.h"

struct look {
	pid_t pid; /* process of the shell; 0 if the shell was not started */
	int said;  /* file with the messages of the shell */
};

struct syntax {
	char shell[128], *name;
	struct translate_cut *cuts;
	struct look *looks;
	int count;
};

/* Returns the offset of the beginning of a line; the end of the text if the text has fewer lines. */
static size_t line_at(const char *script, size_t size, int line)
{
	size_t at = 0;

	while (line > 1 && at < size) {
		const char *newline = memchr(script + at, '\n', size - at);

		at = newline ? (size_t)(newline - script) + 1 : size;
		line--;
	}
	return at;
}

/* Returns an unnamed file with the lines of a step, open at its beginning; -1 on failure. */
static int cut_file(const char *script, size_t size, const struct translate_cut *cut)
{
	int fd = memfd_create("rota-step", MFD_CLOEXEC);
	FILE *out = fd < 0 ? NULL : fdopen(dup(fd), "w");
	size_t before = cut->pre_to > 0 ? line_at(script, size, cut->pre_to + 1) : 0;
	size_t from = cut->from > 0 ? line_at(script, size, cut->from) : 0;
	size_t to = cut->to > 0 ? line_at(script, size, cut->to + 1) : size;

	if (!out) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	fwrite(script, 1, before, out);
	for (int line = cut->pre_to + 1; line < cut->from; line++)
		fputc('\n', out);
	fwrite(script + from, 1, to - from, out);
	fclose(out);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void look_begin(struct look *look, const char *shell, int step)
{
	char *path = getenv("PATH"), *search = xasprintf("PATH=%s", path ? path : "/usr/bin:/bin");
	char *argv[] = {(char *)shell, (char *)"-n", NULL}, *environment[] = {search, (char *)"LC_ALL=C", NULL};
	posix_spawn_file_actions_t actions;

	look->said = memfd_create("rota-syntax", MFD_CLOEXEC);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, step, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, look->said, 2);
	if (look->said < 0 || posix_spawnp(&look->pid, shell, &actions, NULL, argv, environment) != 0)
		look->pid = 0;
	posix_spawn_file_actions_destroy(&actions);
	free(search);
}

struct syntax *syntax_begin(const char *name, const char *script, size_t size, int most)
{
	struct syntax *s = xcalloc(1, sizeof *s);

	translate_shell_of(script, size, s->shell);
	if (!*s->shell) {
		free(s);
		return NULL;
	}
	s->name = xstrdup(name);
	s->cuts = translate_cuts(script, size, &s->count);
	s->count = s->count < most ? s->count : most;
	s->looks = xcalloc((size_t)s->count + 1, sizeof *s->looks);
	for (int i = 0; i < s->count; i++) {
		int step = cut_file(script, size, &s->cuts[i]);

		s->looks[i].said = -1;
		if (step >= 0)
			look_begin(&s->looks[i], s->shell, step);
		if (step >= 0)
			close(step);
	}
	return s;
}

/* Parse a message of a shell: "bash: line 12: syntax error ..." or "sh: 12: Syntax error: ...". Returns the text after the
 * line number, and the number in *line. Returns NULL if there is no line number. */
static const char *message_of(char *text, int *line)
{
	char *at = strchr(text, ':');

	text[strcspn(text, "\n")] = '\0';
	if (!at)
		return NULL;
	at++;
	at += strspn(at, " ");
	at += !strncmp(at, "line ", 5) ? 5 : 0;
	*line = (int)strtol(at, &at, 10);
	return *line > 0 && *at == ':' ? at + 1 + strspn(at + 1, " ") : NULL;
}

static void look_end(struct look *look, char *said, size_t size)
{
	ssize_t got = 0;

	if (look->pid > 0) {
		waitpid(look->pid, NULL, 0);
		got = pread(look->said, said, size - 1, 0);
	}
	said[got > 0 ? got : 0] = '\0';
	if (look->said >= 0)
		close(look->said);
}

void syntax_end(struct syntax *s)
{
	char said[1024], before[1024] = "";
	int line;

	for (int i = 0; s && i < s->count; i++) {
		look_end(&s->looks[i], said, sizeof said);

		const char *message = message_of(said, &line);

		if (!message || !strcmp(said, before)) /* each step repeats the errors of the preamble */
			continue;
		strcpy(before, said);
		fprintf(stderr, "%s:%d: warning: step \"%s\": %s\n", s->name, line, s->cuts[i].name, message);
	}
	if (s) {
		free(s->cuts);
		free(s->name);
		free(s->looks);
	}
	free(s);
}
