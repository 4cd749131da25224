/* cred_admin.c - `rota admin cred rotate`: asks for the next key of rota-credd.
 *
 * Called by: `rota admin`. */
#include "bin/rota/admin/cred_admin.h"

#include <jansson.h>
#include <stdio.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/print/format.h"

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
