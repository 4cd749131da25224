/* keeper_pam.c - asks PAM whether the user of a step may use this node now (launcher.pam_service).
 *
 * Called by: keeper.c before the prologs.
 * Invariants: PAM and its modules run in a process of their own, as root, with the time limit of a hook. So a module may block or
 * crash, and what it allocates or opens ends with that process. */
#include <security/pam_appl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "procmgr/keeper/keeper_parts.h"

/* Exit codes of the process that asks PAM. */
enum verdict { ADMITTED, REFUSED, UNKNOWN };

struct question {
	const char *service, *user;
};

/* The conversation function of PAM. A question of a module fails, since nobody can answer it; a message of a module is
 * dropped. */
static int pam_answer(int count, const struct pam_message **messages, struct pam_response **answers, void *unused)
{
	(void)unused;
	for (int i = 0; i < count; i++)
		if (messages[i]->msg_style != PAM_TEXT_INFO && messages[i]->msg_style != PAM_ERROR_MSG)
			return PAM_CONV_ERR;
	*answers = xcalloc((unsigned long)count, sizeof **answers);
	return PAM_SUCCESS;
}

/* Is the result a decision about the account? All other results are failures of PAM. */
static bool is_refusal(int result)
{
	return result == PAM_ACCT_EXPIRED || result == PAM_NEW_AUTHTOK_REQD || result == PAM_PERM_DENIED ||
	       result == PAM_AUTH_ERR || result == PAM_USER_UNKNOWN;
}

static int pam_ask(const void *argument)
{
	const struct question *q = argument;
	const struct pam_conv conversation = {pam_answer, NULL};
	pam_handle_t *pam = NULL;
	int result = pam_start(q->service, q->user, &conversation, &pam);
	if (result == PAM_SUCCESS)
		result = pam_acct_mgmt(pam, PAM_SILENT);
	if (result == PAM_SUCCESS)
		return ADMITTED;
	dprintf(STDOUT_FILENO, "%s", pam_strerror(pam, result));
	return is_refusal(result) ? REFUSED : UNKNOWN;
}

bool keeper_pam_admits(struct keeper *k)
{
	const struct question q = {k->job->conf->launcher_pam_service, k->owner.user};
	char reason[KEEPER_TAIL_SIZE];
	if (!*q.service || geteuid() != 0)
		return true;
	int verdict = keeper_hook_call(k, false, pam_ask, &q, reason);
	if (verdict == ADMITTED)
		return true;
	k->failure = verdict == REFUSED ? KEEPER_FAILURE_LAUNCH : KEEPER_FAILURE_NODE;
	snprintf(k->message, sizeof k->message, "PAM does not let user \"%s\" use node \"%s\": %.300s", q.user, k->order->node,
		 *reason ? reason : "it gave no answer");
	return false;
}
