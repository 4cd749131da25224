/* driver.c - finds the driver that a step asks for, or that fits it, and compares what a restart needs with what a node has.
 *
 * Called by: checkpoint.c, checkpoint_start.c. */
#include "procmgr/checkpoint/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procmgr/checkpoint/program_file.h"
#include "procmgr/checkpoint/script_mpi.h"

static const struct driver *const drivers[] = {&driver_app, &driver_dmtcp, &driver_criu, &driver_script};

static bool find_named(const char *named, const struct conf *conf, struct driver_use *use, struct err *e)
{
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
		size_t length = strlen(drivers[i]->prefix);
		bool has_name = drivers[i]->prefix[length - 1] == ':';
		if (has_name ? strncmp(named, drivers[i]->prefix, length) != 0 : strcmp(named, drivers[i]->prefix) != 0)
			continue;
		use->driver = drivers[i];
		use->name = named + (has_name ? length : 0);
		if (has_name)
			snprintf(use->folder, sizeof use->folder, "%s/%s", conf->node_checkpoint_folder, use->name);
		else
			snprintf(use->folder, sizeof use->folder, "%s",
				 drivers[i] == &driver_criu ? conf->node_checkpoint_criu : conf->node_checkpoint_dmtcp);
		return (!has_name || *conf->node_checkpoint_folder) ||
		       err_set(e, "node.checkpoint_folder is not set here, so there is no driver \"%s\"", named);
	}
	return err_set(e, "there is no driver \"%s\"", named);
}

bool driver_find(const char *named, const struct conf *conf, struct driver_use *use, struct err *e)
{
	if (strcmp(named, "auto") == 0)
		named = driver_dmtcp_is_used()	? driver_dmtcp.prefix
			: driver_criu_is_used() ? driver_criu.prefix
						: driver_app.prefix;
	return find_named(named, conf, use, e) && use->driver->detect(use, NULL, e);
}

static bool has_variable(const char *name)
{
	const char *value = getenv(name);
	return value && *value;
}

/* May images of the step's processes be written to disk? Not if it has GPUs or credentials. The keeper sets these two variables,
 * or removes those that the user has exported. */
static bool image_is_allowed(struct err *e)
{
	if (has_variable("SLURM_JOB_GPUS"))
		return err_set(e, "the step has GPUs, and neither dmtcp nor criu saves what is in them");
	return !has_variable("ROTA_CREDENTIALS") ||
	       err_set(e, "the step has credentials, and an image would hold what the program has read of them");
}

/* May --checkpoint=auto choose a driver that makes images of the step's processes? */
static bool image_is_sensible(const struct driver_use *use, const char *program, struct err *e)
{
	const char *launcher = use->script ? script_mpi_find(use->script) : NULL;
	if (launcher)
		return err_set(e, "the step's script has the word %s, and neither dmtcp nor criu saves MPI programs", launcher);
	return image_is_allowed(e) && program_file_is_plain(program, e);
}

/* Choose a driver for --checkpoint=auto: dmtcp, which needs no capability, else criu, if the administrator allows it, else app:
 * the program saves itself. dmtcp is not chosen in the first process of a PID namespace, which was started for criu. */
static bool choose_auto(const struct conf *conf, const char *program, struct driver_use *use, char why[DRIVER_WHY_SIZE],
			struct err *e)
{
	struct err no = {.message = "the program has a PID namespace for criu"}, nor;
	if (!image_is_sensible(use, program, &nor)) {
		snprintf(why, DRIVER_WHY_SIZE, "the program has to save itself: %.300s", nor.message);
		return find_named(driver_app.prefix, conf, use, e);
	}
	if (!find_named(driver_dmtcp.prefix, conf, use, e))
		return false;
	if ((use->is_choice || getpid() != 1) && use->driver->detect(use, program, &no)) {
		snprintf(why, DRIVER_WHY_SIZE, "the program is dynamically linked, and runs on one node as one task");
		return true;
	}
	if (!find_named(driver_criu.prefix, conf, use, e))
		return false;
	if (use->driver->detect(use, program, &nor)) {
		snprintf(why, DRIVER_WHY_SIZE, "dmtcp does not fit, and the administrator allows criu");
		return true;
	}
	snprintf(why, DRIVER_WHY_SIZE, "the program has to save itself, since dmtcp does not fit: %.200s; nor criu: %.100s",
		 no.message, nor.message);
	return find_named(driver_app.prefix, conf, use, e);
}

bool driver_choose(const char *named, const struct conf *conf, const char *dir, const char *program, struct driver_use *use,
		   char why[DRIVER_WHY_SIZE], struct err *e)
{
	*why = '\0';
	use->dir = dir;
	if (strcmp(named, "auto") == 0)
		return choose_auto(conf, program, use, why, e);
	return find_named(named, conf, use, e) && (!use->driver->restores_processes || image_is_allowed(e)) &&
	       use->driver->detect(use, program, e);
}

const struct driver *driver_of(const char *taken)
{
	for (size_t i = 0; taken && i < sizeof drivers / sizeof *drivers; i++)
		if (strcmp(taken, drivers[i]->prefix) == 0)
			return drivers[i];
	return &driver_app;
}

char *driver_full_name(const struct driver_use *use)
{
	return use->driver == &driver_script ? xasprintf("%s%s", use->driver->prefix, use->name) : xstrdup(use->driver->prefix);
}

/* Returns the first word of the text `wanted` that is not a word of `had`, malloc'ed; NULL if all are. */
static char *word_lacking(const char *wanted, const char *had)
{
	char *padded = xasprintf(" %s ", had);
	for (size_t length; *wanted; wanted += length + strspn(wanted + length, " ")) {
		length = strcspn(wanted, " ");
		char *word = xasprintf(" %.*s ", (int)length, wanted);
		bool has = strstr(padded, word) != NULL;
		free(word);
		if (!has) {
			free(padded);
			return xstrndup(wanted, length);
		}
	}
	free(padded);
	return NULL;
}

static bool need_is_met(const char *name, const char *wanted, const char *had, struct err *e)
{
	if (strcmp(name, "cpu") != 0)
		return strcmp(wanted, had) == 0 ||
		       err_set(e, "the checkpoint needs %s %s, and this node has %s", name, wanted, *had ? had : "none");
	char *lacking = word_lacking(wanted, had);
	if (lacking)
		err_set(e, "the checkpoint needs a CPU with %s, which this node does not have", lacking);
	free(lacking);
	return lacking == NULL;
}

bool driver_meets(const struct driver_use *use, const json_t *needs, struct err *e)
{
	const char *name;
	const json_t *wanted;
	json_t *has = NULL;
	bool met = json_object_size(needs) == 0 || !use->driver->needs || use->driver->needs(use, &has, e);
	json_object_foreach ((json_t *)needs, name, wanted) {
		const char *had = json_string_value(json_object_get(has, name)), *text = json_string_value(wanted);
		met = met && text && need_is_met(name, text, had ? had : "", e);
	}
	json_decref(has);
	return met;
}
