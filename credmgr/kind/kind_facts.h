/* kind_facts.h - facts that are read from a secret itself, such as its expiry, and their JSON for rota-credd: {"subject",
 * "expires", "renewable", "renew_until"}. */
#ifndef ROTA_CREDMGR_KIND_FACTS_H
#define ROTA_CREDMGR_KIND_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

enum { KIND_SUBJECT_MOST = 200 };

static const int64_t KIND_TIME_MOST = 253402300799; /* the end of year 9999 */

/* Times are in epoch seconds; 0: the time is not known. */
struct kind_facts {
	char *subject; /* name of the user or machine in the secret, malloc'ed; NULL: none */
	int64_t expires;
	bool renewable;
	int64_t renew_until;
	/* what a server said that was asked whether it accepts the credential; NULL: no server was asked */
	const char *asked;
};

void kind_facts_free(struct kind_facts *facts);

/* Set the subject to a text from outside: cut to a length, and without control characters. */
void kind_facts_subject(struct kind_facts *facts, const char *text);

/* Lower facts->expires to `at`. Fails if `at` is not after `now`; `what` is the subject of the error message, such as "the
 * ticket". */
bool kind_facts_expire(struct kind_facts *facts, int64_t at, int64_t now, const char *what, struct err *e);

/* Write a time (epoch seconds) as a date and time for messages. */
enum { KIND_TIME_SIZE = 32 };
void kind_facts_time(int64_t at, char text[KIND_TIME_SIZE]);

/* Returns the facts as one line of JSON; malloc'ed. */
char *kind_facts_write(const struct kind_facts *facts);

/* Read facts that a program of the site wrote as JSON, and fill `facts`. Absent members are unknown. */
bool kind_facts_read(const char *text, size_t size, struct kind_facts *facts, struct err *e);

#endif
