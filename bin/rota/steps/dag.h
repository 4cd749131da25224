/* dag.h - the graph of `rota run --file`: which steps and elements of arrays may start, and which never will. */
#ifndef ROTA_BIN_DAG_H
#define ROTA_BIN_DAG_H

#include <jansson.h>
#include <stdbool.h>

enum dag_state {
	DAG_OPEN,    /* it is not decided whether the unit starts */
	DAG_SENT,    /* the caller of dag_next() is starting the unit (DAG_START) */
	DAG_STARTED, /* the tasks of the unit run */
	DAG_COMPLETED,
	DAG_FAILED,
	DAG_SKIPPED, /* never starts: the step is a handler of failures, and the step that it handles did not fail */
	DAG_NEVER,   /* never starts, since a step that this step waits for did not complete */
};

/* A step, or one element of an array. */
struct dag_unit {
	int step;  /* index of the unit's step */
	int index; /* index of the element; -1: the step is no array */
	bool started;
	enum dag_state state;
};

enum dag_condition { DAG_OK, DAG_ANY, DAG_FAIL, DAG_START_OF, DAG_CORR };

struct dag_edge {
	int peer; /* index of the step that the condition waits for */
	enum dag_condition condition;
};

struct dag_step {
	const json_t *plan; /* the step of the plan */
	int first, count;   /* index of the first unit of the step, and number of its units */
	int first_edge, edge_count;
	/* any: one condition of --after is enough; has_corr: a condition is of kind `corr`, element by element */
	bool any, has_corr;
	long limit; /* most elements at a time; 0: no limit */
	long under_way, started, completed, skipped, bad;
	int topo;
	int next; /* all units of the step before this position are decided */
};

struct dag {
	struct dag_step *steps;
	struct dag_unit *units;
	struct dag_edge *edges;
	int *order; /* indices of all steps, in an order in which each step follows the steps that it waits for */
	int step_count, unit_count, edge_count;
};

/* Make the graph of all steps of a plan (translate.h). The plan must outlive the graph. Edges are those of kind "after" between steps
 * of the plan. */
void dag_make(struct dag *d, const json_t *plan);
void dag_free(struct dag *d);

/* The action that dag_next() requests of its caller for a unit. */
enum dag_turn {
	DAG_WAIT,   /* nothing can start before a unit that was started has ended */
	DAG_START,  /* start the unit, which is now DAG_SENT */
	DAG_SKIP,   /* the unit is now DAG_SKIPPED */
	DAG_CANNOT, /* the unit is now DAG_NEVER */
};

/* Decide one unit. With DAG_SKIP and DAG_CANNOT, *peer is the index of the step that decided it. */
enum dag_turn dag_next(struct dag *d, int *unit, int *peer);

/* Set the state of a unit: DAG_STARTED, DAG_COMPLETED or DAG_FAILED. A unit that an earlier `rota run` completed is set from
 * DAG_OPEN to DAG_COMPLETED. */
void dag_note(struct dag *d, int unit, enum dag_state state);

#endif
