/* schedule_judge.h - what can be said of a request before it is placed. */
#ifndef ROTA_SCHEDULE_JUDGE_H
#define ROTA_SCHEDULE_JUDGE_H

#include "jobmgr/schedule/schedule_request.h"

/* Fill in a new request from its step: numbers, nodes, time; refuse what cannot start whatever is free. */
void schedule_judge(const struct schedule_cluster *cluster, struct schedule_request *request);

#endif
