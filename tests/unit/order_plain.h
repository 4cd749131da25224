/* order_plain.h - the members of a spec that most samples of launch requests leave empty. */
#ifndef ROTA_TESTS_ORDER_PLAIN_H
#define ROTA_TESTS_ORDER_PLAIN_H

/* clang-format off */
#define ORDER_SPEC_PLAIN                                                                                                         \
	.output = "", .error = "", .input = "", .shell = "", .user_prolog = "", .user_epilog = "", .group = "", .rlimits = "",     \
	.submit_ntasks = 1, .cpus_per_task = 1
/* clang-format on */

#endif
