/* lead_value.h - readers of single values, from PostgreSQL's text form into a member of a struct. */
#ifndef ROTA_LEAD_VALUE_H
#define ROTA_LEAD_VALUE_H

#include <stdbool.h>

struct schedule_arena;

/* Read `text` (NULL: SQL null) into the member at `target`. Lists and strings go to the arena. A list has two adjacent members,
 * a pointer
 * and a size_t. False if the text is malformed. */
typedef bool lead_reader(struct schedule_arena *arena, const char *text, void *target);

lead_reader lead_read_int;	   /* int; null: 0 */
lead_reader lead_read_int_or_none; /* int; null: -1 */
lead_reader lead_read_int64;	   /* int64_t; null: 0 */
lead_reader lead_read_double;	   /* double; null: 0 */
lead_reader lead_read_time;	   /* double; null: INFINITY */
lead_reader lead_read_bool;	   /* bool; null: false */
lead_reader lead_read_text;	   /* const char *; null: NULL */
lead_reader lead_read_usable;	   /* bool: is a node's state "up"? */
lead_reader lead_read_state;	   /* enum schedule_state of a partition */
lead_reader lead_read_ints;	   /* list of int, from int[] */
lead_reader lead_read_texts;	   /* list of const char *, from text[] */
lead_reader lead_read_amounts;	   /* list of struct schedule_amount, from {"gpu": 2} */
lead_reader lead_read_devices;	   /* list of struct schedule_devices, from {"gpu": [0, 3]} */
lead_reader lead_read_gres_total;  /* list of struct schedule_gres, from {"gpu": 4}; then */
lead_reader lead_read_gres_free;   /* the free devices of each, from {"gpu": [1, 2]} */

#endif
