/* fields.c - the field format of launch requests, journal records and launcher messages.
 *
 * Called by: writers and readers of such texts. An attacker may have written the text that is parsed.
 * Invariants:
 * - `text` is the exact spelling of the entries in their order. Any other spelling is refused.
 * - No name occurs twice.
 * - A pointer from fields_get() is valid until fields_free(). */
#include "lib/fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MOST = 1024, NAME_LONGEST = 63 }; /* more fields are a mistake or an attack; bounds the search for duplicates */

struct entry {
	const char *name, *value;
	uint32_t hash; /* hash of the name, which tells most names apart */
};

/* A block of memory for NUL-terminated names and values of fields. It never moves. */
struct block {
	struct block *next;
	size_t used, room;
	char bytes[];
};

enum { BLOCK_ROOM = 512 };

struct fields {
	char *text;
	size_t length, room;
	struct block *blocks;
	struct entry *entries;
	int count, entry_room;
	int owners; /* number of owners besides the first */
};

struct fields *fields_new(void)
{
	struct fields *f = xcalloc(1, sizeof *f);
	f->room = 256;
	f->text = xmalloc(f->room);
	*f->text = '\0';
	return f;
}

void fields_free(struct fields *f)
{
	if (!f || f->owners-- > 0)
		return;
	for (struct block *b = f->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(f->entries);
	free(f->text);
	free(f);
}

struct fields *fields_share(const struct fields *f)
{
	struct fields *shared = (struct fields *)f;
	shared->owners++;
	return shared;
}

static bool name_is_good(const char *name, size_t length)
{
	if (length == 0 || length > NAME_LONGEST)
		return false;
	for (size_t i = 0; i < length; i++) {
		char c = name[i];
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'))
			return false;
	}
	return true;
}

static void text_append(struct fields *f, const char *bytes, size_t size)
{
	if (f->length + size + 1 > f->room) {
		f->room = (f->length + size + 1) * 2;
		f->text = xrealloc(f->text, f->room);
	}
	memcpy(f->text + f->length, bytes, size);
	f->length += size;
	f->text[f->length] = '\0';
}

static void block_add(struct fields *f, size_t room)
{
	struct block *b = xmalloc(sizeof *b + room);
	b->next = f->blocks;
	b->used = 0;
	b->room = room;
	f->blocks = b;
}

/* Returns memory for `size` bytes from the blocks of `f`. It never moves. */
static char *block_take(struct fields *f, size_t size)
{
	if (!f->blocks || f->blocks->room - f->blocks->used < size)
		block_add(f, size > BLOCK_ROOM ? size : BLOCK_ROOM);
	struct block *b = f->blocks;
	b->used += size;
	return b->bytes + b->used - size;
}

static char *text_copy(char *to, const char *from, size_t length)
{
	char *end = mempcpy(to, from, length);
	*end++ = '\0';
	return end;
}

static uint32_t hash_of(const char *name, size_t length)
{
	uint32_t hash = 2166136261u;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	return hash;
}

static int fields_find(const struct fields *f, const char *name, uint32_t hash)
{
	for (int i = 0; i < f->count; i++)
		if (f->entries[i].hash == hash && strcmp(f->entries[i].name, name) == 0)
			return i;
	return -1;
}

static void entry_append(struct fields *f, const char *name, size_t name_length, const char *value, size_t value_length)
{
	if (f->count == f->entry_room) {
		f->entry_room = f->entry_room ? f->entry_room * 2 : 32;
		f->entries = xrealloc(f->entries, (size_t)f->entry_room * sizeof *f->entries);
	}
	char *its = block_take(f, name_length + value_length + 2), *beside = text_copy(its, name, name_length);
	text_copy(beside, value, value_length);
	f->entries[f->count++] = (struct entry){its, beside, hash_of(name, name_length)};
}

/* Write `number` in decimal so that its last digit is before `end`. Returns its first digit. Most of a plan, journal or launch
 * request is numbers, so this replaces snprintf(). */
static char *digits(char *end, uint64_t number)
{
	do
		*--end = (char)('0' + number % 10);
	while (number /= 10);
	return end;
}

void fields_add(struct fields *f, const char *name, const char *value)
{
	size_t name_length = strlen(name), value_length = strlen(value);
	if (!name_is_good(name, name_length) || fields_get(f, name) || f->count == FIELDS_MOST)
		die("field \"%s\" cannot be added: bad name, added before, or too many fields", name);
	char length[21] = {[20] = ':'}, *first = digits(length + 20, value_length);
	entry_append(f, name, name_length, value, value_length);
	text_append(f, name, name_length);
	text_append(f, "=", 1);
	text_append(f, first, (size_t)(length + sizeof length - first));
	text_append(f, fields_value(f, f->count - 1), value_length); /* `value` may lie in f->text, which moves */
	text_append(f, "\n", 1);
}

void fields_add_int(struct fields *f, const char *name, int64_t value)
{
	char text[22] = "", *first = digits(text + 21, value < 0 ? -(uint64_t)value : (uint64_t)value);
	if (value < 0)
		*--first = '-';
	fields_add(f, name, first);
}

const char *fields_text(const struct fields *f, size_t *length)
{
	if (length)
		*length = f->length;
	return f->text;
}

/* Parse the length of a field at *at: "0" or digits without a leading zero, then a colon. Moves *at to after the colon. */
static bool parse_length(const char **at, const char *end, size_t *value)
{
	const char *p = *at;
	size_t n = 0;
	if (p == end || *p < '0' || *p > '9')
		return false;
	if (*p == '0' && p + 1 < end && p[1] != ':')
		return false;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		n = n * 10 + (size_t)(*p - '0');
		if (n > (size_t)(end - *at)) /* longer than the rest of the text; also prevents overflow of n */
			return false;
	}
	if (p == end || *p != ':')
		return false;
	*at = p + 1;
	*value = n;
	return true;
}

/* Parse one field at *at, and move *at to after its newline. */
static bool parse_field(struct fields *f, const char **at, const char *end, struct err *e)
{
	const char *name = *at;
	const char *equals = memchr(name, '=', (size_t)(end - name));
	size_t name_length = equals ? (size_t)(equals - name) : 0;
	if (!name_is_good(name, name_length))
		return err_set(e, "field number %d has an invalid name", f->count + 1);
	const char *value = equals + 1;
	size_t length;
	if (!parse_length(&value, end, &length) || length >= (size_t)(end - value) || value[length] != '\n')
		return err_set(e, "field \"%.*s\" has an invalid length", (int)name_length, name);
	if (memchr(value, '\0', length))
		return err_set(e, "field \"%.*s\" holds a NUL byte", (int)name_length, name);
	if (f->count == FIELDS_MOST)
		return err_set(e, "more than %d fields", (int)FIELDS_MOST);
	entry_append(f, name, name_length, value, length);
	const struct entry *last = &f->entries[f->count - 1];
	if (fields_find(f, last->name, last->hash) < f->count - 1)
		return err_set(e, "field \"%s\" is given twice", last->name);
	*at = value + length + 1;
	return true;
}

struct fields *fields_parse(const char *text, size_t length, struct err *e)
{
	struct fields *f = fields_new();
	const char *at = text, *end = text + length;
	block_add(f, length); /* no field needs more bytes in the block than in the text */
	while (at < end)
		if (!parse_field(f, &at, end, e)) {
			fields_free(f);
			return NULL;
		}
	if (length)
		text_append(f, text, length);
	return f;
}

const char *fields_get(const struct fields *f, const char *name)
{
	int i = fields_find(f, name, hash_of(name, strlen(name)));
	return i < 0 ? NULL : f->entries[i].value;
}

int fields_count(const struct fields *f)
{
	return f->count;
}

const char *fields_name(const struct fields *f, int i)
{
	return f->entries[i].name;
}

const char *fields_value(const struct fields *f, int i)
{
	return f->entries[i].value;
}

/* Parse an integer in its only valid spelling: no sign but '-', no leading zero, no "-0". */
static bool parse_int(const char *text, int64_t *value)
{
	const char *digits = text + (*text == '-');
	bool negative = digits != text;
	if (*digits < '0' || *digits > '9' || (*digits == '0' && (digits[1] || negative)))
		return false;
	int64_t n = 0;
	for (; *digits; digits++) {
		if (*digits < '0' || *digits > '9')
			return false;
		int digit = negative ? '0' - *digits : *digits - '0';
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, digit, &n))
			return false;
	}
	*value = n;
	return true;
}

bool fields_int(const struct fields *f, const char *name, int64_t lowest, int64_t highest, int64_t *value, struct err *e)
{
	const char *text = fields_get(f, name);
	if (!text)
		return err_set(e, "field \"%s\" is missing", name);
	int64_t n;
	if (!parse_int(text, &n))
		return err_set(e, "field \"%s\" is not an integer: \"%.40s\"", name, text);
	if (n < lowest || n > highest)
		return err_set(e, "field \"%s\" is %" PRId64 ", not within %" PRId64 " to %" PRId64, name, n, lowest, highest);
	*value = n;
	return true;
}

bool fields_int_or(const struct fields *f, const char *name, int64_t lowest, int64_t highest, int64_t otherwise, int64_t *value,
		   struct err *e)
{
	if (fields_get(f, name))
		return fields_int(f, name, lowest, highest, value, e);
	*value = otherwise;
	return true;
}
