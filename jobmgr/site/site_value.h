/* site_value.h - values of options as values of fields of the site's script job_submit, with Slurm's units, and back. */
#ifndef ROTA_SITE_VALUE_H
#define ROTA_SITE_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* Slurm's numbers for "not given" and "no limit". A field that is not given is absent, and rota-lua shows it as these numbers where
 * Slurm does (runner/lua/script_unset.def). */
#define SITE_NO_VAL16 INT64_C(0xfffe)
#define SITE_NO_VAL INT64_C(0xfffffffe)
#define SITE_INFINITE INT64_C(0xffffffff)
#define SITE_NO_VAL64 (-INT64_C(2)) /* 0xfffffffffffffffe as a number with sign */
#define SITE_MEM_PER_CPU 0x1p63	    /* added to MiB for each CPU; a fraction of a double, so MiB are rounded to 2048 */
#define SITE_NICE_OFFSET INT64_C(0x80000000)

enum site_kind {	       /* value of the field */
		 SITE_TEXT,    /* text; nil: not given */
		 SITE_NUMBER,  /* number; NO_VAL: not given */
		 SITE_SHORT,   /* number; NO_VAL16: not given */
		 SITE_NICE,    /* number above NICE_OFFSET; NO_VAL: not given */
		 SITE_MINUTES, /* number of minutes; NO_VAL: not given; INFINITE: no limit */
		 SITE_MOMENT,  /* seconds since 1970; 0: not given */
		 SITE_FLAG,    /* 0 or 1; NO_VAL16: not given */
		 SITE_SHARED,  /* 0: --exclusive; NO_VAL16: not given */
		 SITE_LIST,    /* names with commas between; nil: not given */
		 SITE_AMOUNTS, /* gpu:2,fpga:1; nil: not given */
		 SITE_TRES,    /* gres:gpu:2,gres:fpga:1; nil: not given */
		 SITE_ARRAY,   /* 0-15:4%2; nil: not given */
		 SITE_MAIL,    /* sum of Slurm's MAIL_ numbers; 0: not given */
};

/* Returns the value of a field from the value of its option (NULL: not given); JSON null stands for nil. */
json_t *site_value_read(enum site_kind kind, const json_t *value);

/* Write the value of a field as the text of its option, malloc'ed, to *text: NULL if the value stands for "not given". `now` is
 * the time of the submission. Returns false with an error if no text of the option stands for this value. */
bool site_value_write(enum site_kind kind, const json_t *value, int64_t now, char **text, struct err *e);

/* Get a number that a script has set, without its fraction. Returns false if the value is no number. */
bool site_value_number(const json_t *value, int64_t *number);

/* Returns a value of a field as a text for people, malloc'ed; NULL: not given. */
char *site_value_show(const json_t *value);

#endif
