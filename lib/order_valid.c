/* order_valid.c - checks texts of launch requests and specs: names, paths, lists.
 *
 * Called by: the tables in order.c; the translator, for --if-changed. */
#include "lib/order_valid.h"

#include <limits.h>
#include <string.h>

#include "lib/arguments.h"
#include "lib/credential.h"
#include "lib/order.h"

static bool valid_has_only(const char *text, const char *extra)
{
	for (; *text; text++) {
		bool alnum = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || (*text >= '0' && *text <= '9');
		if (!alnum && !strchr(extra, *text))
			return false;
	}
	return true;
}

bool order_valid_name(const char *text)
{
	size_t length = strlen(text);
	return length >= 1 && length <= 64 && valid_has_only(text, "_.-");
}

bool order_valid_name_or_empty(const char *text)
{
	return !*text || order_valid_name(text);
}

bool order_valid_node(const char *text)
{
	size_t length = strlen(text);
	return length >= 1 && length <= 253 && valid_has_only(text, "_.-") && *text != '.' && *text != '-';
}

bool order_valid_nodes(const char *text)
{
	return valid_has_only(text, "_.-,");
}

bool order_valid_hosts(const char *text)
{
	return valid_has_only(text, "_.-,[]");
}

bool order_valid_user(const char *text)
{
	size_t length = strlen(text);
	return length >= 1 && length <= 256 && valid_has_only(text, "_.-@\\$") && *text != '-';
}

bool order_valid_hash(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

bool order_valid_label(const char *text)
{
	size_t length = strlen(text);
	return length >= 1 && length <= 160 && valid_has_only(text, "_.-[]");
}

bool order_valid_gres(const char *text)
{
	return valid_has_only(text, "_.-:+,/");
}

bool order_valid_list(const char *text)
{
	return strspn(text, "0123456789:,") == strlen(text);
}

bool order_valid_folded(const char *text)
{
	static const char digits[] = "0123456789";

	for (;; text++) {
		size_t number = strspn(text, digits);

		text += number;
		if (number == 0)
			return false;
		if (strncmp(text, "(x", 2) == 0) {
			number = strspn(text + 2, digits);
			text += 2 + number;
			if (number == 0 || *text++ != ')')
				return false;
		}
		if (*text != ',')
			return *text == '\0';
	}
}

bool order_valid_variables(const char *text)
{
	struct fields *f = arguments_parse(text);
	bool good = f != NULL;
	for (int i = 0; good && i < fields_count(f); i++)
		good = strchr("=0123456789", fields_value(f, i)[0]) == NULL && strchr(fields_value(f, i), '=');
	fields_free(f);
	return good;
}

bool order_valid_rlimits(const char *text)
{
	return valid_has_only(text, "=,_");
}

bool order_valid_line(const char *text)
{
	if (strlen(text) > 1024)
		return false;
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return false;
	return true;
}

bool order_valid_filled_line(const char *text)
{
	return *text && order_valid_line(text);
}

bool order_valid_attempt(const char *text)
{
	static const char digits[] = "0123456789";
	size_t job = strspn(text, digits), step = text[job] == '.' ? strspn(text + job + 1, digits) : 0;
	const char *dot = text + job + 1 + step;
	size_t attempt = job && step && *dot == '.' ? strspn(dot + 1, digits) : 0;
	return attempt && dot[1 + attempt] == '\0';
}

bool order_valid_absolute(const char *text)
{
	return *text == '/' && strlen(text) < PATH_MAX;
}

bool order_valid_absolute_or_empty(const char *text)
{
	return !*text || order_valid_absolute(text);
}

bool order_valid_pattern(const char *text)
{
	return strlen(text) < PATH_MAX;
}

bool order_valid_shell(const char *text)
{
	return order_valid_absolute_or_empty(text) || strcmp(text, "login") == 0 || strcmp(text, "mover") == 0;
}

bool order_valid_transfers(const char *text)
{
	struct fields *f = arguments_parse(text);
	bool good = f && fields_count(f) % ORDER_TRANSFER_ITEMS == 1 && order_valid_absolute_or_empty(fields_value(f, 0));
	fields_free(f);
	return good;
}

bool order_valid_credentials(const char *text)
{
	struct credential list[CREDENTIALS_MOST];
	return credential_list_read(text, list) > 0;
}

bool order_valid_checkpoint(const char *text)
{
	static const char script[] = "script:";
	size_t length = sizeof script - 1;
	if (strncmp(text, script, length) != 0)
		return strcmp(text, "app") == 0 || strcmp(text, "auto") == 0 || strcmp(text, "dmtcp") == 0 ||
		       strcmp(text, "criu") == 0;
	return order_valid_name(text + length) && text[length] != '.' && text[length] != '-';
}

bool order_valid_if_changed(const char *text)
{
	size_t length = strlen(text), at = 0;
	int colons = 0;
	bool good = length < PATH_MAX;
	while (good && at <= length) {
		size_t path = strcspn(text + at, ",:");
		good = path > 0;
		colons += text[at + path] == ':';
		at += path + 1;
	}
	return good && colons == 1;
}
