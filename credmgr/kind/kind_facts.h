/* kind_facts.h - the facts that a secret itself has, such as its expiry, and their JSON for rota-credd:
 * {"subject", "expires", "renewable", "renew_until"}. */
#ifndef ROTA_CREDMGR_KIND_FACTS_H
#define ROTA_CREDMGR_KIND_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

enum { KIND_SUBJECT_MOST = 200 };

static const int64_t KIND_TIME_MOST = 253402300799; /* the end of year 9999 */

/* Times are in epoch seconds; 0: none is known. */
struct kind_facts {
	char *subject; /* whom the secret stands for, malloc'ed; NULL: the secret does not say */
	int64_t expires;
	bool renewable;
	int64_t renew_until;
	const char *asked; /* result of a test: what a server has answered; NULL: no server was asked */
};

void kind_facts_free(struct kind_facts *facts);

/* Set the subject to a text that somebody else wrote: cut, and without control characters. */
void kind_facts_subject(struct kind_facts *facts, const char *text);

/* Lower `expires` to this time. Fails if the time is over; `what` is the subject of the message, such as "the ticket". */
bool kind_facts_expire(struct kind_facts *facts, int64_t at, int64_t now, const char *what, struct err *e);

/* Write a time as people read it. */
enum { KIND_TIME_SIZE = 32 };
void kind_facts_time(int64_t at, char text[KIND_TIME_SIZE]);

/* Returns the facts as one line of JSON; malloc'ed. */
char *kind_facts_write(const struct kind_facts *facts);

/* Read facts that a program of the site wrote. Absent members are unknown. Without an error, `facts` is filled. */
bool kind_facts_read(const char *text, size_t size, struct kind_facts *facts, struct err *e);

#endif
