/* db_conninfo.c - the connection string of one program, from the configured one.
 *
 * Called by each daemon's main and by the client's verbs that open SQL. What always holds: whatever the configured string says
 * of user and application_name, ours stand in the result; a string that libpq cannot read is handed on, so that connecting says
 * what is wrong with it. */
#include "lib/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* " keyword='value'", quoted as libpq wants it. */
static void conninfo_add(FILE *out, const char *keyword, const char *value)
{
	fprintf(out, "%s%s='", ftell(out) > 0 ? " " : "", keyword);
	for (; *value; value++) {
		if (*value == '\'' || *value == '\\')
			fputc('\\', out);
		fputc(*value, out);
	}
	fputc('\'', out);
}

char *db_conninfo(const struct conf *conf, const char *role, const char *application)
{
	PQconninfoOption *options = PQconninfoParse(conf->database_conninfo, NULL);
	if (!options)
		return xstrdup(conf->database_conninfo);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		die("out of memory for a connection string");
	for (const PQconninfoOption *o = options; o->keyword; o++)
		if (o->val && strcmp(o->keyword, "user") != 0 && strcmp(o->keyword, "application_name") != 0)
			conninfo_add(out, o->keyword, o->val);
	conninfo_add(out, "user", role);
	conninfo_add(out, "application_name", application);
	if (fclose(out) != 0)
		die("out of memory for a connection string");
	PQconninfoFree(options);
	return text;
}
