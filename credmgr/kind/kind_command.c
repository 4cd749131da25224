/* kind_command.c - runs programs of credentials.command_folder (kind_command.h).
 *
 * Called by: kind.c.
 * Invariants:
 * - Only files directly in that folder are run, so neither a user nor a row of the database can have another program run.
 * - Of texts that a user chose, a program gets only the user's login name. */
#include "credmgr/kind/kind_command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "credmgr/kind/kind_program.h"

/* Returns the malloc'ed path of the program, which is given by its name in the folder or by its whole path. Returns NULL if it is
 * not in the folder. */
static char *command_path(const struct kind_options *options, struct err *e)
{
	const char *folder = options->command_folder ? options->command_folder : "", *name = options->command;
	size_t size = strlen(folder);

	if (!size || *folder != '/') {
		err_set(e, "this site has no programs that make credentials: credentials.command_folder is not set");
		return NULL;
	}
	if (!name) {
		err_set(e, "a credential of kind command needs the name of a program: --command=NAME");
		return NULL;
	}
	if (!strncmp(name, folder, size) && name[size] == '/')
		name += size + 1;
	if (!*name || *name == '.' || strchr(name, '/')) {
		err_set(e, "\"%.200s\" is no program of the folder credentials.command_folder", options->command);
		return NULL;
	}
	return xasprintf("%s/%s", folder, name);
}

static bool command_valid(const struct kind_options *options, struct err *e)
{
	char *path = command_path(options, e);
	bool good = path && (access(path, X_OK) == 0 || err_sys(e, "the program %.200s cannot be run", path));

	free(path);
	return good;
}

bool kind_command_inspect(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
			  struct err *e)
{
	(void)secret;
	facts->renewable = true;
	return command_valid(options, e);
}

/* Read the facts that the program wrote to its descriptor 3. If it wrote none, no facts are known. */
static bool command_facts(int file, struct kind_facts *facts, struct err *e)
{
	struct kind_secret text = {0};
	bool good = lseek(file, 0, SEEK_SET) == 0 && kind_secret_read(file, &text, e) &&
		    (!text.size || kind_facts_read(text.bytes, text.size, facts, e));

	kind_secret_free(&text);
	facts->renewable = true;
	return good;
}

static bool command_run(char *path, const struct kind_options *options, struct kind_secret *renewed, struct kind_facts *facts,
			struct err *e)
{
	char *arguments[] = {path, NULL}, *user = xasprintf("USER=%s", options->user);
	char *environment[] = {user, "KIND=command", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	struct kind_program program = {
		.path = path, .arguments = arguments, .environment = environment, .input = "", .file = kind_secret_file("", 0)};
	struct kind_result result;
	bool good = kind_program_run(&program, &result, e) && kind_program_good(&result, path, e) &&
		    (result.output.size > 0 || err_set(e, "program %s wrote no secret to its standard output", path)) &&
		    command_facts(program.file, facts, e) &&
		    (!facts->expires || kind_facts_expire(facts, facts->expires, options->now, "what the program made", e));

	if (good) {
		*renewed = result.output;
		result.output = (struct kind_secret){0};
	}
	kind_program_free(&result);
	close(program.file);
	free(user);
	return good;
}

bool kind_command_renew(const struct kind_secret *secret, const struct kind_options *options, struct kind_secret *renewed,
			struct kind_facts *facts, struct err *e)
{
	char *path;
	bool good;

	(void)secret;
	if (!options->user || !*options->user)
		return err_set(e, "the owner of the credential is not given: --user=NAME");
	path = command_path(options, e);
	good = path && command_run(path, options, renewed, facts, e);
	free(path);
	return good;
}
