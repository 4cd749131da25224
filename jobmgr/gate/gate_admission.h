/* gate_admission.h - caches for a second which users the database has admitted to HTTPS, which saves a query. For gate*.c
 * only. */
#ifndef ROTA_GATE_ADMISSION_H
#define ROTA_GATE_ADMISSION_H

#include <stdbool.h>
#include <sys/types.h>

/* The facts of a request by which api.remote_admit decides whether to admit it; other facts are in the database. */
struct gate_admission {
	uid_t uid;
	const char *user, *address;
	bool submits; /* the request submits jobs, and gate.node_submit is off */
};

struct gate_admissions;

struct gate_admissions *gate_admissions_new(void);
void gate_admissions_free(struct gate_admissions *all);

/* Cache that the database has admitted a request with these facts. */
void gate_admission_remember(struct gate_admissions *all, const struct gate_admission *admission);

/* Has the database admitted a request with these facts within the last second? */
bool gate_admission_is_known(const struct gate_admissions *all, const struct gate_admission *admission);

#endif
