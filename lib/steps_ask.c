/* steps_ask.c - questions to a step manager, each of which waits for its answer.
 *
 * Called by: programs. */
#include <stdlib.h>
#include <string.h>

#include "lib/steps_inside.h"

/* Send a question and wait for its answer. Returns NULL after a refusal. */
static json_t *steps_ask(struct rota_steps *s, json_t *o)
{
	struct steps_question question = {.id = ++s->last_id};

	json_object_set_new(o, "id", json_integer(question.id));
	question.text = steps_request_text(s, o);
	if (question.text && steps_is_open(s)) {
		s->question = &question;
		steps_add_line(s, question.text);
		while (!question.answer && rota_steps_poll(s, -1))
			;
		s->question = NULL;
	}
	free(question.text);
	if (!question.refused)
		return question.answer;
	json_decref(question.answer);
	return NULL;
}

/* Send the question `op` and wait for its answer. Returns the list `member` of the answer. */
static json_t *steps_ask_list(struct rota_steps *s, const char *op, const char *member)
{
	json_t *answer = steps_ask(s, json_pack("{ss}", "op", op)), *list = json_incref(json_object_get(answer, member));

	if (answer && !list)
		steps_fail(s, "the step manager sent no \"%s\"", member);
	json_decref(answer);
	return list;
}

json_t *rota_steps_list(struct rota_steps *s)
{
	return steps_ask_list(s, "list", "substeps");
}

json_t *rota_steps_usage(struct rota_steps *s)
{
	return steps_ask_list(s, "usage", "substeps");
}

json_t *rota_steps_resources(struct rota_steps *s)
{
	return steps_ask_list(s, "resources", "nodes");
}

json_t *rota_steps_shrink(struct rota_steps *s, const char *nodes, int count, bool force)
{
	json_t *answer = steps_ask(s, json_pack("{ss ss si sb}", "op", "shrink", "nodes", nodes, "count", count, "force", force)),
	       *list = json_incref(json_object_get(answer, "nodes"));

	json_decref(answer);
	return list;
}

bool rota_steps_cancel(struct rota_steps *s, int substep)
{
	json_t *answer = steps_ask(s, json_pack("{ss si}", "op", "cancel", "substep", substep));

	json_decref(answer);
	return answer != NULL;
}

bool rota_steps_signal(struct rota_steps *s, int substep, int signal)
{
	json_t *answer = steps_ask(s, json_pack("{ss si si}", "op", "signal", "substep", substep, "signal", signal));

	json_decref(answer);
	return answer != NULL;
}

bool rota_steps_hold(struct rota_steps *s, struct rota_end *end)
{
	json_t *answer = steps_ask(s, json_pack("{ss}", "op", "hold"));

	if (!answer)
		return false;
	json_decref(s->answer);
	s->answer = answer;
	*end = steps_event_end(answer);
	return true;
}

bool rota_steps_wait_for(struct rota_steps *s, int substep, struct rota_end *end)
{
	json_t *answer = steps_ask(s, json_pack("{ss si}", "op", "wait", "substep", substep));

	if (!answer)
		return false;
	json_decref(s->answer);
	s->answer = answer;
	*end = steps_event_end(answer);
	return true;
}
