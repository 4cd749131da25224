/* order_valid.h - which texts are valid in a launch request or spec. Each function returns true if `text` is. */
#ifndef ROTA_ORDER_VALID_H
#define ROTA_ORDER_VALID_H

#include <stdbool.h>

bool order_valid_name(const char *text); /* 1 to 64 letters, digits, _ . - */
bool order_valid_name_or_empty(const char *text);
bool order_valid_node(const char *text);      /* name of a node */
bool order_valid_nodes(const char *text);     /* node names with commas between */
bool order_valid_hosts(const char *text);     /* short list of nodes (lib/hosts.h) */
bool order_valid_user(const char *text);      /* name of an account */
bool order_valid_hash(const char *text);      /* SHA-256, 64 lower-case hex digits */
bool order_valid_label(const char *text);     /* label of a step, "812.solve[7]" */
bool order_valid_gres(const char *text);      /* devices, "gpu:0+3,fpga:1" */
bool order_valid_list(const char *text);      /* list of array elements (order_element.h) */
bool order_valid_folded(const char *text);    /* numbers with repetitions, "4(x2),2" */
bool order_valid_variables(const char *text); /* "NAME=value" as arguments_write() writes a list */
bool order_valid_rlimits(const char *text);   /* "nofile=1024,core=0" */
bool order_valid_line(const char *text);      /* up to 1024 bytes without control characters */
bool order_valid_filled_line(const char *text);
bool order_valid_attempt(const char *text);  /* "812.0.1" */
bool order_valid_absolute(const char *text); /* absolute path */
bool order_valid_absolute_or_empty(const char *text);
bool order_valid_pattern(const char *text);	/* pattern of a path */
bool order_valid_shell(const char *text);	/* "", "login", "mover" or an absolute path */
bool order_valid_transfers(const char *text);	/* list of transfers as order.h says */
bool order_valid_credentials(const char *text); /* "krb5,archive" */
bool order_valid_checkpoint(const char *text);	/* a driver of checkpoints: app, auto or script:NAME */
bool order_valid_if_changed(const char *text);	/* OUT[,OUT]...:IN[,IN]..., with one colon and no empty path */

#endif
