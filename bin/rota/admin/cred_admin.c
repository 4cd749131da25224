/* cred_admin.c - `rota admin cred`: the next key of rota-credd, and the keys of nodes.
 *
 * Called by: `rota admin`. */
#include "bin/rota/admin/cred_admin.h"

#include <jansson.h>
#include <stdio.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"
#include "lib/box.h"
#include "lib/err.h"
#include "lib/seal.h"

int cred_admin_rotate(bool json)
{
	json_t *answer = call_gate("credential_admin", json_pack("{ss}", "action", "rotate"));

	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		printf("rota-credd makes key %s, and seals all credentials with it\n",
		       format_count(json_object_get(answer, "key")).s);
	json_decref(answer);
	return EXIT_OK;
}

int cred_admin_key(const char *nodes, const char *file, bool json)
{
	unsigned char key[BOX_KEY];
	char hex[2 * BOX_KEY + 1];
	struct err e = {0};
	json_t *answer;

	if (!box_public_read(file, key, &e))
		return call_refuse(&e);
	seal_hex(key, BOX_KEY, hex);
	answer = call_gate("credential_admin", json_pack("{ss ss ss}", "action", "node_key", "nodes", nodes, "key", hex));
	if (!answer)
		return call_status();
	if (json)
		call_print_json();
	else
		printf("node %s: credentials are sealed for this key\n", nodes);
	json_decref(answer);
	return EXIT_OK;
}
