/* lead_value.h - readers of single values, from PostgreSQL's text form into a member of a struct. */
#ifndef ROTA_LEAD_VALUE_H
#define ROTA_LEAD_VALUE_H

#include <stdbool.h>

struct schedule_arena;

/* Read `text` (NULL: SQL null) into the struct member at `target`. Lists and strings go to the arena. A list has two adjacent
 * members, a pointer and a size_t. Returns false if the text is malformed. */
typedef bool lead_reader(struct schedule_arena *arena, const char *text, void *target);

lead_reader lead_read_int;	   /* int; SQL null gives 0 */
lead_reader lead_read_int_or_none; /* int; SQL null gives -1 */
lead_reader lead_read_int64;	   /* int64_t; SQL null gives 0 */
lead_reader lead_read_double;	   /* double; SQL null gives 0 */
lead_reader lead_read_time;	   /* time as double; SQL null gives INFINITY */
lead_reader lead_read_bool;	   /* bool; SQL null gives false */
lead_reader lead_read_text;	   /* const char *; SQL null gives NULL */
lead_reader lead_read_usable;	   /* bool, from the state of a node; true only for "up" */
lead_reader lead_read_power;	   /* enum schedule_power, from the power of a node */
lead_reader lead_read_state;	   /* enum schedule_state of a partition */
lead_reader lead_read_ints;	   /* list of int, from int[] */
lead_reader lead_read_texts;	   /* list of const char *, from text[] */
lead_reader lead_read_amounts;	   /* list of struct schedule_amount, from {"gpu": 2} */
lead_reader lead_read_claims;  /* list of struct schedule_claim, from [{job, step, node, cpus, mem_mb, gres, licenses, tier}] */
lead_reader lead_read_devices; /* list of struct schedule_devices, from {"gpu": [0, 3]} */
lead_reader lead_read_gres_total; /* list of struct schedule_gres with the total number of devices of each, from {"gpu": 4} */
lead_reader lead_read_gres_free;  /* adds the free devices to the list that lead_read_gres_total made, from {"gpu": [1, 2]} */

#endif
