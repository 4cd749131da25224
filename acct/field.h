/* field.h - the fields of accounting: what a row of `rota acct` has, in the words of GET /v1/acct and schema acct. */
#ifndef ROTA_ACCT_FIELD_H
#define ROTA_ACCT_FIELD_H

/* What a field's value is, and so how people read it. */
enum acct_kind { ACCT_TEXT, ACCT_LABEL, ACCT_NUMBER, ACCT_SECONDS, ACCT_WHEN, ACCT_KILOBYTES, ACCT_BYTES, ACCT_EXIT, ACCT_STATE };

struct acct_field {
	const char *name;  /* as in the answer of the gate */
	const char *slurm; /* what sacct calls it, in upper or lower case; NULL where it has no such field */
	const char *title; /* of its column */
	enum acct_kind kind;
	int shrink; /* fewest columns of a terminal it may be cut to, 0 = never cut */
	const char *help;
};

/* All fields, and how many. */
const struct acct_field *acct_fields(int *count);

/* The field of that name, ours or Slurm's, NULL where there is none. */
const struct acct_field *acct_field(const char *name);

#endif
