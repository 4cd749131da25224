/* unreachable.h - the message and the next step for users when the database cannot be reached, in one form for all programs. */
#ifndef ROTA_UNREACHABLE_H
#define ROTA_UNREACHABLE_H

#define UNREACHABLE "the database cannot be reached"
#define UNREACHABLE_NEXT "`rota status` shows whether PostgreSQL runs; in a private instance, `rota up` starts it."

#endif
