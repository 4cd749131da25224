/* table.h - a table of lines and how often each was seen: open addressing, grown by doubling. */
#ifndef TALLY_TABLE_H
#define TALLY_TABLE_H

#include <stddef.h>

struct entry {
	char *line; /* owned by the table, NUL behind it */
	size_t length;
	unsigned long count;
};

struct table;

struct table *table_new(void);
void table_free(struct table *t);

/* Add 1 to the count of a line of text. Ends the program when memory is exhausted. */
void table_add(struct table *t, const char *line, size_t length);

/* How many different lines there are. */
size_t table_size(const struct table *t);

/* All entries, most frequent first (`rarest`: last), equal ones in byte order. Free the array, not the lines. */
struct entry *table_sorted(const struct table *t, int rarest);

#endif
