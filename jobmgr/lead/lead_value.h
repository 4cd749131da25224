/* lead_value.h - readers of single values: text form of PostgreSQL to a member of a struct. */
#ifndef ROTA_LEAD_VALUE_H
#define ROTA_LEAD_VALUE_H

#include <stdbool.h>

struct schedule_arena;

/* Read `text` (NULL: SQL null) into the member at `target`; what has several parts goes to the arena. A list is two members, a
 * pointer and behind it a size_t. False where the text is not of the form that the reader wants. */
typedef bool lead_reader(struct schedule_arena *arena, const char *text, void *target);

lead_reader lead_read_int;	   /* int; null: 0 */
lead_reader lead_read_int_or_none; /* int; null: -1 */
lead_reader lead_read_int64;	   /* int64_t; null: 0 */
lead_reader lead_read_double;	   /* double; null: 0 */
lead_reader lead_read_time;	   /* double; null: INFINITY */
lead_reader lead_read_bool;	   /* bool; null: false */
lead_reader lead_read_text;	   /* const char *; null: NULL */
lead_reader lead_read_usable;	   /* bool: whether a node's state is "up" */
lead_reader lead_read_state;	   /* enum schedule_state of a partition */
lead_reader lead_read_ints;	   /* list of int, from int[] */
lead_reader lead_read_texts;	   /* list of const char *, from text[] */
lead_reader lead_read_amounts;	   /* list of struct schedule_amount, from {"gpu": 2} */
lead_reader lead_read_devices;	   /* list of struct schedule_units, from {"gpu": [0, 3]} */
lead_reader lead_read_gres_total;  /* list of struct schedule_gres, from {"gpu": 4}; then */
lead_reader lead_read_gres_free;   /* the free units of each, from {"gpu": [1, 2]} */

#endif
