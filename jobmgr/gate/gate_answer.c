/* gate_answer.c - gives the HTTP status of an SQLSTATE, writes errors as JSON, and finds members in a JSON text.
 *
 * Called by: all of gate*.c.
 * Invariants:
 * - All errors that the API answers have the same form, so a client needs one parser.
 * - The HTTP status says where the fault is: 4xx: in the request; 500: in Rota; 503: the service is away for now, and the client may
 *   try again. */
#include "jobmgr/gate/gate_answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HTTP statuses of SQLSTATEs by prefix, the longest prefix first. An SQLSTATE RTnnn contains the HTTP status. */
static const struct {
	const char *prefix;
	int status;
} statuses[] = {
	{"57014", 504}, /* cancelled by a statement timeout */
	{"22", 422},	/* data exception: a value out of range, a bad number */
	{"23", 422},	/* integrity constraint violation */
	{"28", 401},	/* invalid authorization: a credential */
	{"40", 503},	/* transaction rolled back: serialization failure, deadlock */
	{"08", 503},	/* no connection to the database */
	{"53", 503},	/* the database lacks a resource */
	{"57", 503},	/* the database shuts down */
};

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{200, "OK"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{409, "Conflict"},
	{412, "Precondition Failed"},
	{413, "Content Too Large"},
	{422, "Unprocessable Content"},
	{426, "Upgrade Required"},
	{429, "Too Many Requests"},
	{500, "Internal Server Error"},
	{502, "Bad Gateway"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
};

bool gate_refuse(struct err *e, const char *code, const char *format, ...)
{
	char message[sizeof e->message];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	err_set(e, "%s", message);
	snprintf(e->code, sizeof e->code, "%s", code);
	return false;
}

int gate_answer_status(const char *code)
{
	if (strncmp(code, "RT", 2) == 0) {
		int status = atoi(code + 2);

		return status >= 400 && status <= 599 ? status : 500;
	}
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		if (strncmp(code, statuses[i].prefix, strlen(statuses[i].prefix)) == 0)
			return statuses[i].status;
	}
	return 500;
}

const char *gate_answer_reason(int status)
{
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		if (reasons[i].status == status)
			return reasons[i].reason;
	}
	return "Error";
}

/* Returns the text after the JSON string that begins at `c`. */
static const char *answer_skip_string(const char *c)
{
	for (c++; *c && *c != '"'; c++)
		c += *c == '\\' && c[1];
	return *c ? c + 1 : c;
}

const char *gate_answer_member(const char *text, const char *name)
{
	static const char blanks[] = " \t\r\n";
	size_t length = strlen(name);
	int depth = 0;

	for (const char *c = text, *end; *c; c = end) {
		end = c + 1;
		if (*c == '{' || *c == '[') {
			depth++;
		} else if (*c == '}' || *c == ']') {
			depth--;
		} else if (*c == '"') {
			const char *after;

			end = answer_skip_string(c);
			after = end + strspn(end, blanks);
			if (depth == 1 && *after == ':' && (size_t)(end - c) == length + 2 && memcmp(c + 1, name, length) == 0)
				return after + 1 + strspn(after + 1, blanks);
		}
	}
	return NULL;
}

/* Returns a JSON string of any bytes. If the bytes are not UTF-8 (a message was cut within a character), each byte above 0x7f
 * becomes "?". */
static json_t *answer_make_string(const char *text)
{
	json_t *value = json_string(text);

	if (!value) {
		char *ascii = xstrdup(text);

		for (char *c = ascii; *c; c++) {
			if ((unsigned char)*c >= 0x80)
				*c = '?';
		}
		value = json_string(ascii);
		free(ascii);
	}
	return value;
}

char *gate_answer_error(const struct err *e, json_t *problems)
{
	json_t *error = json_object(), *root = json_object();
	char *text;

	json_object_set_new(error, "code", json_string(e->code[0] ? e->code : "RT500"));
	json_object_set_new(error, "message", answer_make_string(e->message));
	json_object_set_new(error, "hint", e->hint[0] ? answer_make_string(e->hint) : json_null());
	if (problems)
		json_object_set_new(error, "problems", problems);
	json_object_set_new(root, "error", error);
	text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	if (!text)
		die("could not write an error as JSON");
	return text;
}
