/* option_pbs.c - rewrites #PBS options as Rota's options: letters, and the resources of -l, also in chunks (select, nodes).
 *
 * Called by: translate_set.c.
 * Invariants:
 * - A PBS option without a counterpart in Rota is refused, never left out.
 * - The column `pbs` of options.def gives the row of an option. If PBS writes values in another form, the kind of the row decides
 *   how values are rewritten. */
#include "jobmgr/translate/option_pbs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "lib/nearest.h"
#include "lib/text.h"

enum { NUMBER_HIGHEST = 1000000 };

static bool pbs_set(const struct option_pbs *pbs, enum option_id id, const char *text)
{
	pbs->set(pbs->to, option_row(id), text, false);
	return true;
}

static bool pbs_set_number(const struct option_pbs *pbs, enum option_id id, int64_t number)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRId64, number);
	return pbs_set(pbs, id, text);
}

/* Rewrite a PBS duration [[h:]m:]s as 0:s. */
static bool pbs_rewrite_duration(const char *value, char *text, size_t size, struct err *e)
{
	int64_t total = 0, number;
	const char *c = value;
	int parts = 0;
	while (parts++ < 3 && option_digits(&c, INT64_C(1) << 40, &number)) {
		total = total * 60 + number;
		if (!*c) {
			snprintf(text, size, "0:%" PRId64, total);
			return true;
		}
		if (*c++ != ':')
			break;
	}
	return err_set(e, "\"%s\" is not a duration as PBS writes it: h:m:s or seconds", OPTION_QUOTE(value));
}

/* Rewrite a PBS size, in bytes or words of eight bytes, as a number of K. */
static bool pbs_rewrite_size(const char *value, char *text, size_t size, struct err *e)
{
	static const char letters[] = "kmgt";
	int64_t number, bytes = 1;
	const char *c = value, *letter;
	bool good = option_digits(&c, INT64_C(1) << 40, &number);
	if (*c && (letter = strchr(letters, *c | 0x20))) {
		bytes = INT64_C(1024) << 10 * (letter - letters);
		c++;
	}
	if (strcasecmp(c, "w") == 0)
		bytes *= 8;
	else if (*c && strcasecmp(c, "b") != 0)
		good = false;
	if (!good || number > INT64_MAX / 2 / bytes)
		return err_set(e, "\"%s\" is not a size as PBS writes it: a number with b, kb, mb, gb or tb",
			       OPTION_QUOTE(value));
	snprintf(text, size, "%" PRId64 "K", (number * bytes + 1023) / 1024);
	return true;
}

/* Rewrite the PBS letters a, b, e, n as mail events: FAIL, BEGIN, END, NONE. */
static bool pbs_rewrite_mail(const char *value, char *text, size_t size, struct err *e)
{
	text[0] = '\0';
	for (const char *c = value; *c; c++) {
		const char *event = *c == 'a' ? "FAIL" : *c == 'b' ? "BEGIN" : *c == 'e' ? "END" : *c == 'n' ? "NONE" : NULL;
		size_t used = strlen(text);
		if (!event || used + 8 > size)
			return err_set(e, "\"%s\" is not made of a, b, e or n", OPTION_QUOTE(value));
		snprintf(text + used, size - used, "%s%s", used ? "," : "", event);
	}
	return *text || err_set(e, "the value is empty");
}

/* Rewrite a PBS time [[[[CC]YY]MM]DD]hhmm[.SS] as YYYY-MM-DDThh:mm:ss. Missing parts are set so that the time is the next such
 * one after `now`. */
static bool pbs_rewrite_moment(const char *value, int64_t now, char *text, size_t size, struct err *e)
{
	size_t digits = strspn(value, "0123456789");
	int n[7] = {0}; /* parts of the time: CC YY MM DD hh mm SS */
	bool seconds = value[digits] == '.' && strspn(value + digits + 1, "0123456789") == 2 && !value[digits + 3];
	if (digits < 4 || digits > 12 || digits % 2 != 0 || (value[digits] && !seconds))
		return err_set(e, "\"%s\" is not a time as PBS writes it: [[[[CC]YY]MM]DD]hhmm[.SS]", OPTION_QUOTE(value));
	int first = 6 - (int)digits / 2;
	for (int i = first; i < 6; i++)
		n[i] = (value[2 * (i - first)] - '0') * 10 + value[2 * (i - first) + 1] - '0';
	if (seconds)
		n[6] = atoi(value + digits + 1);
	time_t t = (time_t)now;
	struct tm tm;
	localtime_r(&t, &tm);
	int year = first == 0 ? n[0] * 100 + n[1] : first == 1 ? 2000 + n[1] : tm.tm_year + 1900;
	struct tm wanted = {.tm_year = year - 1900,
			    .tm_mon = first <= 2 ? n[2] - 1 : tm.tm_mon,
			    .tm_mday = first <= 3 ? n[3] : tm.tm_mday,
			    .tm_hour = n[4],
			    .tm_min = n[5],
			    .tm_sec = n[6],
			    .tm_isdst = -1};
	struct tm later = wanted;
	later.tm_mday += first == 4;
	later.tm_mon += first == 3;
	later.tm_year += first == 2;
	struct tm copy = wanted;
	const struct tm *use = mktime(&copy) < t && mktime(&later) >= t ? &later : &wanted;
	snprintf(text, size, "%04d-%02d-%02dT%02d:%02d:%02d", use->tm_year + 1900, use->tm_mon + 1, use->tm_mday, use->tm_hour,
		 use->tm_min, use->tm_sec);
	return true;
}

/* Set an option of Rota from a value in PBS's form. `total`: the value is the memory of all nodes together. */
static bool pbs_set_row(const struct option_pbs *pbs, const struct option_row *row, const char *value, bool total, struct err *e)
{
	char text[64];
	int64_t number;
	bool good = true;
	switch (row->kind) {
	case OPTION_DURATION:
		good = pbs_rewrite_duration(value, text, sizeof text, e);
		break;
	case OPTION_SIZE:
		good = pbs_rewrite_size(value, text, sizeof text, e);
		break;
	case OPTION_MOMENT:
		good = pbs_rewrite_moment(value, pbs->now, text, sizeof text, e);
		break;
	case OPTION_MAIL:
		good = pbs_rewrite_mail(value, text, sizeof text, e);
		break;
	case OPTION_NICE: /* a higher number raises the priority with -p of PBS, and lowers it with --nice */
		good = option_number(value, -1024, 1023, &number) ||
		       err_set(e, "\"%s\" is not a number from -1024 to 1023", OPTION_QUOTE(value));
		snprintf(text, sizeof text, "%" PRId64, good ? -number : 0);
		break;
	case OPTION_FLAG:
		good = !*value || strcmp(value, "y") == 0 || strcmp(value, "n") == 0 ||
		       err_set(e, "\"%s\" is neither y nor n", OPTION_QUOTE(value));
		snprintf(text, sizeof text, "%s", strcmp(value, "n") == 0 ? "no" : "yes");
		break;
	case OPTION_PATTERN:
		if (*value != '/' && strstr(value, ":/"))
			return err_set(e, "\"%s\" names a host", OPTION_QUOTE(value)) || err_hint(e, "write the path alone");
		pbs->set(pbs->to, row, value, false);
		return true;
	default:
		pbs->set(pbs->to, row, value, false);
		return true;
	}
	if (good)
		pbs->set(pbs->to, row, text, total && row->id == OPTION_ID_MEM);
	return good;
}

static bool pbs_refuse_resource(const char *name, struct err *e)
{
	static const char *const known[] = {"nodes", "select", "walltime", "min_walltime", "mem",   "pmem", "ncpus", "ppn",
					    "procs", "ngpus",  "gpus",	   "mpiprocs",	   "place", "host", "vnode", "qos"};
	struct nearest nearest = NEAREST(name);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		nearest_try(&nearest, known[i]);
	err_set(e, "unknown resource \"%s\"", OPTION_QUOTE(name));
	return nearest.best ? err_hint(e, "did you mean \"%s\"?", nearest.best) : false;
}

static bool pbs_set_resource(const struct option_pbs *pbs, const char *name, const char *value, bool total, struct err *e)
{
	char spelling[64];
	snprintf(spelling, sizeof spelling, "-l %s", name);
	const struct option_row *row = option_find_pbs(spelling);
	return row ? pbs_set_row(pbs, row, value, total, e) : pbs_refuse_resource(name, e);
}

/* CPUs of a PBS chunk, which the processes of the chunk share evenly. */
struct chunk {
	int64_t ncpus, mpiprocs, ompthreads; /* numbers that the chunk gives; 0: not given */
};

static int64_t *chunk_number(struct chunk *chunk, const char *name)
{
	if (strcmp(name, "ncpus") == 0)
		return &chunk->ncpus;
	if (strcmp(name, "mpiprocs") == 0)
		return &chunk->mpiprocs;
	return strcmp(name, "ompthreads") == 0 ? &chunk->ompthreads : NULL;
}

static bool chunk_end(const struct option_pbs *pbs, const struct chunk *chunk, struct err *e)
{
	int64_t processes = chunk->mpiprocs ? chunk->mpiprocs : 1;
	int64_t cpus = ((chunk->ncpus ? chunk->ncpus : processes) + processes - 1) / processes;
	if (chunk->ompthreads && chunk->ompthreads != cpus) {
		err_set(e, "ompthreads=%" PRId64 ", but each process has %" PRId64 " CPU%s", chunk->ompthreads, cpus,
			text_plural(cpus));
		return err_hint(e, "remove ompthreads and set OMP_NUM_THREADS in the script");
	}
	if (chunk->mpiprocs)
		pbs_set_number(pbs, OPTION_ID_NTASKS_PER_NODE, processes);
	return !chunk->ncpus || pbs_set_number(pbs, OPTION_ID_CPUS_PER_TASK, cpus);
}

/* Read one "name=value" of a PBS chunk, or a property of nodes (Torque). */
static bool chunk_part(const struct option_pbs *pbs, struct chunk *chunk, char *part, struct err *e)
{
	char *value = strchr(part, '=');
	if (!value)
		return pbs_set(pbs, OPTION_ID_CONSTRAINT, part);
	*value++ = '\0';
	int64_t *number = chunk_number(chunk, part);
	if (!number)
		return pbs_set_resource(pbs, part, value, false, e);
	return option_number(value, 1, NUMBER_HIGHEST, number) ||
	       err_set(e, "\"%s\" is not a number from 1 to %d", OPTION_QUOTE(value), NUMBER_HIGHEST);
}

/* Read a PBS chunk such as select=2:ncpus=4:mem=4gb, nodes=2:ppn=4 or nodes=n7:ppn=4. */
static bool pbs_read_chunk(const struct option_pbs *pbs, const char *value, struct err *e)
{
	struct chunk chunk = {0};
	int64_t count;
	if (strchr(value, '+')) {
		err_set(e, "\"%s\" requests nodes of several kinds in one step", OPTION_QUOTE(value));
		return err_hint(e, "make each kind a step of its own, and bind them by --with");
	}
	char *part = option_item(&value, ':');
	bool numbered = option_number(part, 1, NUMBER_HIGHEST, &count), good = true;
	if (!numbered && !part[strspn(part, "0123456789")]) {
		err_set(e, "\"%s\" is not a number of nodes from 1 to %d", OPTION_QUOTE(part), NUMBER_HIGHEST);
		free(part);
		return false;
	}
	pbs_set_number(pbs, OPTION_ID_NODES, numbered ? count : 1);
	if (!numbered && !strchr(part, '='))
		pbs_set(pbs, OPTION_ID_NODELIST, part);
	else if (!numbered)
		good = chunk_part(pbs, &chunk, part, e);
	free(part);
	while (good && (part = option_item(&value, ':'))) {
		good = chunk_part(pbs, &chunk, part, e);
		free(part);
	}
	return good && chunk_end(pbs, &chunk, e);
}

static bool pbs_read_place(const struct option_pbs *pbs, const char *value, struct err *e)
{
	char *word;
	bool good = true;
	while (good && (word = option_item(&value, ':'))) {
		if (strcmp(word, "excl") == 0 || strcmp(word, "exclhost") == 0)
			pbs_set(pbs, OPTION_ID_EXCLUSIVE, "yes");
		else if (strcmp(word, "scatter") != 0 && strcmp(word, "free") != 0 && strcmp(word, "shared") != 0)
			good = err_set(e, "place=%s is not supported", OPTION_QUOTE(word));
		free(word);
	}
	return good;
}

static bool pbs_read_resource(const struct option_pbs *pbs, const char *resource, struct err *e)
{
	char *name = xstrdup(resource), *value = strchr(name, '=');
	bool good;
	if (value)
		*value++ = '\0';
	if (!value)
		good = err_set(e, "\"%s\" is not name=value", OPTION_QUOTE(name));
	else if (strcmp(name, "select") == 0 || strcmp(name, "nodes") == 0)
		good = pbs_read_chunk(pbs, value, e);
	else if (strcmp(name, "place") == 0)
		good = pbs_read_place(pbs, value, e);
	else
		good = pbs_set_resource(pbs, name, value, true, e);
	free(name);
	return good;
}

static bool pbs_read_attribute(const struct option_pbs *pbs, const char *attribute, struct err *e)
{
	char spelling[64];
	const char *value = strchr(attribute, '=');
	snprintf(spelling, sizeof spelling, "-W %.*s", value ? (int)(value - attribute) : 0, attribute);
	const struct option_row *row = value ? option_find_pbs(spelling) : NULL;
	if (row)
		return pbs_set_row(pbs, row, value + 1, false, e);
	if (strncmp(attribute, "block=", strlen("block=")) == 0)
		return err_set(e, "a script cannot have the caller wait") || err_hint(e, "%s", option_advice("wait"));
	err_set(e, "unknown attribute \"%s\"", OPTION_QUOTE(attribute));
	return err_hint(e, "known are umask=MASK and depend=LIST");
}

bool option_pbs_takes_value(char letter)
{
	return !strchr("hnIVX", letter);
}

bool option_pbs_read(const struct option_pbs *pbs, char letter, const char *value, struct err *e)
{
	char spelling[] = {'-', letter, '\0'};
	memset(e, 0, sizeof *e);
	if (letter == 'l')
		return pbs_read_resource(pbs, value, e);
	if (letter == 'W')
		return pbs_read_attribute(pbs, value, e);
	if (letter == 'V')
		return pbs_set(pbs, OPTION_ID_EXPORT, "ALL");
	if (letter == 'j')
		return strcmp(value, "oe") == 0 ? pbs_set(pbs, OPTION_ID_ERROR, "")
						: err_set(e, "only \"oe\" is supported: errors go with the output");
	if (letter == 'I')
		return err_set(e, "a script cannot be interactive") ||
		       err_hint(e, "\"rota shell\" opens a shell in an allocation");
	if (letter == 'c' && strcmp(value, "s") != 0 && strcmp(value, "n") != 0 && strcmp(value, "u") != 0)
		return err_set(e, "checkpoints as PBS takes them are not supported") ||
		       err_hint(e, "remove the option, or write #ROTA --checkpoint=DRIVER and --checkpoint-interval=TIME");
	const struct option_row *row = option_find_pbs(spelling);
	return row ? pbs_set_row(pbs, row, value, false, e) : err_set(e, "unknown option");
}
