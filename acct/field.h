/* field.h - the fields of an accounting row of `rota acct`, with their names in GET /v1/acct, in schema acct and in sacct. */
#ifndef ROTA_ACCT_FIELD_H
#define ROTA_ACCT_FIELD_H

/* Kind of value of an accounting field. It decides how the value is printed for people. */
enum acct_kind {
	ACCT_TEXT,
	ACCT_LABEL,
	ACCT_NUMBER,
	ACCT_SECONDS,
	ACCT_WHEN,
	ACCT_KILOBYTES,
	ACCT_MEGABYTES,
	ACCT_BYTES,
	ACCT_EXIT,
	ACCT_STATE
};

struct acct_field {
	const char *name;  /* name of the field in the answer of GET /v1/acct */
	const char *slurm; /* name of the field in sacct, matched in upper or lower case; NULL: sacct has no such field */
	const char *title; /* title of the column in a table */
	enum acct_kind kind;
	int shrink; /* least width to which the column may be cut on a terminal, 0 = never cut */
	const char *help;
};

/* Returns the table of all accounting fields, and sets *count to their number. */
const struct acct_field *acct_fields(int *count);

/* Returns the accounting field whose name, in Rota or in sacct, is `name`. Returns NULL if there is none. */
const struct acct_field *acct_field(const char *name);

#endif
