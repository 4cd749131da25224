/* admin_objects.c - the objects of `rota admin` and the actions of each.
 *
 * Called by: `rota admin` and the completion. */
#include <stddef.h>

#include "bin/rota/admin/admin.h"

#define ROW_ACTIONS "create", "change", "show", "delete"
const struct admin_object ADMIN_OBJECTS[ADMIN_OBJECTS_MOST] = {
	{"partition", {ROW_ACTIONS}},
	{"node",
	 {ROW_ACTIONS, "drain", "resume", "dead", "enroll", "revoke", "reboot", "cancel-reboot", "reboots", "evacuate",
	  "cancel-evacuation", "evacuations", "change-all", "changes", "cancel-change", "health"}},
	{"account", {ROW_ACTIONS}},
	{"user", {ROW_ACTIONS}},
	{"association", {ROW_ACTIONS}},
	{"qos", {ROW_ACTIONS}},
	{"license", {ROW_ACTIONS}},
	{"setting", {ROW_ACTIONS}},
	{"price", {ROW_ACTIONS}},
	{"grant", {ROW_ACTIONS}},
	{"carbon", {ROW_ACTIONS}},
	{"image", {ROW_ACTIONS}},
	{"prep", {ROW_ACTIONS}},
	{"check", {ROW_ACTIONS}},
	{"reservation", {ROW_ACTIONS}},
	{"hook", {"list", "show", "retry", "status"}},
	{"pool", {"list"}},
	{"power", {"on", "off", "list"}},
	{"cred", {"rotate"}},
	{"usage", {"rebuild"}},
	{"db", {"upgrade", "check", "restored", "accept"}},
	{"export", {NULL}},
	{"range", {"list", "drop"}},
	{"pki", {"init", "issue", "renew", "show"}},
	{NULL, {NULL}},
};
#undef ROW_ACTIONS
