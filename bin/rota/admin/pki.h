/* pki.h - `rota admin pki`: a certificate authority of the site, in a folder, and the certificates that it signs. */
#ifndef ROTA_BIN_PKI_H
#define ROTA_BIN_PKI_H

#include <stdbool.h>

/* The command line of `rota admin pki ACTION NAME --to=DIR --names=A,B --user=USER --days=N`. */
struct pki_line {
	const char *action; /* init, issue, renew or show */
	const char *name;   /* name of the certificate; with init, of the authority; NULL: the command line has none */
	const char *folder;
	const char *names; /* host names and addresses in the certificate; NULL: only `name` */
	const char *user;  /* issue: the certificate names this user; NULL: it is for servers and clients called `names` */
	int days;	   /* 0: the default */
	bool json;
};

/* Run the action; returns the exit status. */
int pki_run(const struct pki_line *line);

#endif
