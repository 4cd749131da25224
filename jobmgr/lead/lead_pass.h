/* lead_pass.h - one scheduling pass: read, decide, sign, commit, plan. */
#ifndef ROTA_LEAD_PASS_H
#define ROTA_LEAD_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/conf.h"
#include "lib/db.h"
#include "lib/err.h"
#include "lib/seal.h"

struct lead_pass;

/* How a pass ended. */
struct lead_outcome {
	bool good; /* false: `e` says what went wrong; what was committed stays */
	struct err e;
	size_t moved;	   /* steps that it started or refused: they are not pending any more */
	bool spoiled;	   /* a start that was committed apart failed, and was left to itself */
	bool left_over;	   /* starts were left for the next pass, on purpose */
	bool locked;	   /* so were some, as somebody had locked their jobs */
	bool plan_is_late; /* the plan has changed, but was written too short a time ago */
	double next_in;	   /* seconds until time alone brings something, INFINITY: nothing known */
	double whole_in;   /* seconds until a pass is due that looks further than this one, INFINITY: it saw all that a pass looks at */
};

typedef void lead_pass_done(const struct lead_outcome *outcome, void *arg);

/* Everything is the caller's and outlives the pass. */
struct lead_pass *lead_pass_new(struct db *db, const struct conf *conf, const struct seal_mac_key *mac,
				const struct seal_sign_key *sign, lead_pass_done *done, void *arg);
void lead_pass_free(struct lead_pass *pass);

/* Run a pass in this term; `done` is called once, from the loop. `apart`: see lead_orders_make. `around`: jobs that somebody has locked
 * are left out; otherwise a pass fails with 55P03 where they stay so. */
void lead_pass_run(struct lead_pass *pass, int64_t term, bool apart, bool around);
bool lead_pass_is_running(const struct lead_pass *pass);

/* A new term: what earlier passes found counts no more. */
void lead_pass_forget(struct lead_pass *pass);

#endif
