/* enroll.h - opens logins of nodes in the database with passwords made here. */
#ifndef ROTA_BIN_ENROLL_H
#define ROTA_BIN_ENROLL_H

#include "bin/rota/admin/password_file.h"
#include "lib/conf.h"

/* Open the login of nodes with a new password, and set the password in `file`. `names` is one name, or with `login` a list like
 * n[1-16]; if `login` is NULL, the login is the node's own. The server gets the verifier of the password and never the password
 * itself. Returns the login, malloc'ed; NULL with an error on failure, when an earlier password is still valid. */
char *enroll(const struct conf *conf, const char *names, const char *login, struct password_file *file, struct err *e);

/* Returns true if `verifier`, a SCRAM verifier as in pg_authid.rolpassword, is that of the password. By RFC 5802 it has, in
 * base64, the salt and SHA-256(HMAC(PBKDF2(password, salt), "Client Key")). Only for ASCII passwords, which need no SASLprep. */
bool enroll_fits(const char *verifier, const char *password);

/* Run `rota admin node enroll NAMES`: without `login`, each of the nodes gets a password. `path` is the file for the passwords; if
 * it is NULL, db_passfile() names it. Returns the exit status. */
int enroll_nodes(const char *names, const char *login, const char *path, bool json);

#endif
