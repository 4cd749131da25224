/* forward.c - submits a job and, before that, uploads those of the caller's present credentials that the job asks for
 * (--cred=NAME:forward).
 *
 * Called by: `rota submit`.
 * Invariants:
 * - jobmgrd, which translates the script, names the credentials to upload. A credential that neither script nor options name is
 *   not uploaded.
 * - A process `rota cred add` seals and uploads each credential, since this program does not load OpenSSL. */
#include "bin/rota/submit/forward.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "lib/credential.h"
#include "lib/err.h"

extern char **environ;

/* Returns true if a text in a JSON value contains this text. */
static bool value_has(const json_t *value, const char *text)
{
	const json_t *one;
	const char *key;
	size_t i;

	if (json_is_string(value))
		return memmem(json_string_value(value), json_string_length(value), text, strlen(text));
	json_array_foreach (value, i, one)
		if (value_has(one, text))
			return true;
	json_object_foreach ((json_t *)value, key, one)
		if ((!strcmp(key, "options") || !strcmp(key, "script") || !strcmp(key, "jobs")) && value_has(one, text))
			return true;
	return false;
}

/* Returns the first of the paths that names an existing file, malloc'ed; NULL: none does. */
static char *first_file(char *const *paths, size_t count)
{
	char *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!found && paths[i] && *paths[i] && access(paths[i], F_OK) == 0)
			found = xstrdup(paths[i]);
		free(paths[i]);
	}
	return found;
}

static char *of_environment(const char *name)
{
	const char *value = getenv(name);

	return xstrdup(value ? value : "");
}

/* Find the caller's present credential of a kind. *path: its file, malloc'ed; NULL: `rota cred add` finds the file itself. */
static bool forward_find(const char *name, enum credential_kind kind, char **path, struct err *e)
{
	unsigned uid = (unsigned)getuid();
	const char *folder = getenv("XDG_RUNTIME_DIR");

	*path = NULL;
	if (kind == CREDENTIAL_KRB5)
		return true;
	if (kind == CREDENTIAL_X509)
		*path = first_file((char *[]){of_environment("X509_USER_PROXY"), xasprintf("/tmp/x509up_u%u", uid)}, 2);
	else if (kind == CREDENTIAL_TOKEN)
		*path = first_file((char *[]){of_environment("BEARER_TOKEN_FILE"),
					      xasprintf("%s/bt_u%u", folder && *folder ? folder : "/tmp", uid),
					      xasprintf("/tmp/bt_u%u", uid)},
				   3);
	if (*path)
		return true;
	err_set(e, "--cred=%s:forward: you have no present credential of kind %s", name, credential_kind_name(kind));
	if (kind == CREDENTIAL_X509 || kind == CREDENTIAL_TOKEN)
		return err_hint(e, "%s names its file. Or add it before, and leave \":forward\" out: rota cred add %s FILE",
				kind == CREDENTIAL_X509 ? "X509_USER_PROXY" : "BEARER_TOKEN_FILE", name);
	return err_hint(e, "Add it before, and leave \":forward\" out: rota cred add %s FILE", name);
}

/* Get the kind of the credential `name`: the kind that is called so, or else the kind of the stored credential of this name. */
static bool forward_kind(const char *name, enum credential_kind *kind, int *status)
{
	json_t *answer;
	bool good;

	if (credential_kind_read(name, kind))
		return true;
	answer = call_gate("credentials", json_pack("{ss ss}", "action", "show", "name", name));
	good = answer && credential_kind_read(json_string_value(json_object_get(answer, "kind")), kind);
	if (!good)
		*status = answer ? EXIT_REFUSED : call_status();
	json_decref(answer);
	return good;
}

/* Run `rota cred add NAME --kind=KIND [FILE]`. Its errors are printed. Returns its exit status. */
static int forward_add(const char *name, enum credential_kind kind, const char *path)
{
	char *said = xasprintf("--kind=%s", credential_kind_name(kind));
	char *config = call_config_path() ? xasprintf("--config=%s", call_config_path()) : NULL;
	const char *arguments[8] = {"rota", "cred", "add", name, said};
	posix_spawn_file_actions_t actions;
	int count = 5, status = 0, failure;
	pid_t pid;

	if (config)
		arguments[count++] = config;
	if (path)
		arguments[count++] = path;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	failure = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, (char *const *)arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	free(said);
	free(config);
	if (failure) {
		fprintf(stderr, "rota: could not run \"rota cred add\": %s\n", strerror(failure));
		return EXIT_REFUSED;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_REFUSED;
}

/* Upload one credential. Returns the exit status. */
static int forward_upload(const json_t *request, const char *name)
{
	char *asked = xasprintf("%s:forward", name), *path = NULL;
	enum credential_kind kind;
	struct err e = {0};
	int status = EXIT_OK;
	bool is_asked = value_has(request, asked);

	free(asked);
	if (!is_asked) {
		err_set(&e, "jobmgrd asks for a credential \"%.40s\", which neither script nor options take along", name);
		return call_refuse(&e);
	}
	if (!forward_kind(name, &kind, &status))
		return status;
	if (forward_find(name, kind, &path, &e))
		status = forward_add(name, kind, path);
	else
		status = call_refuse(&e);
	free(path);
	return status;
}

json_t *forward_submit(json_t *request, int *status)
{
	bool may_forward = value_has(request, ":forward");
	json_t *answer, *wanted, *name;
	size_t i;

	*status = EXIT_OK;
	if (may_forward)
		json_object_set_new(request, "forwarded", json_array());
	answer = call_gate_patiently("submit", json_incref(request));
	wanted = may_forward ? json_incref(json_object_get(answer, "forward")) : NULL;
	json_array_foreach (wanted, i, name)
		if (*status == EXIT_OK)
			*status = forward_upload(request, json_is_string(name) ? json_string_value(name) : "");
	if (wanted) {
		json_decref(answer);
		json_object_set_new(request, "forwarded", wanted);
		answer = *status == EXIT_OK ? call_gate_patiently("submit", json_incref(request)) : NULL;
	}
	if (!answer && *status == EXIT_OK)
		*status = call_status();
	json_decref(request);
	return answer;
}
