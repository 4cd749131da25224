/* token.c - `rota token`: prints a credential for one request by another program, for example curl. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "lib/auth.h"
#include "lib/http_url.h"

enum { TOKEN_MOST = 256 << 20 };

const struct verb_option token_options[] = {
	{'d', "data", "TEXT", "the body of the request; @FILE reads it from a file, @- from standard input"},
	{'s', "server", "NAME",
	 "the host name in the URL of the request, for HTTPS; without it, the jobmgrd that rota itself calls"},
	VERB_OPTION_JSON_OWN,
	{0, NULL, NULL, NULL},
};

/* Returns the body of the request that --data gives; malloc'ed. */
static char *body_read(const struct verb *verb, const char *data, size_t *size)
{
	const char *path = data + 1;
	char *body = NULL;
	FILE *in;

	*size = strlen(data);
	if (data[0] != '@')
		return xstrdup(data);
	in = strcmp(path, "-") ? fopen(path, "re") : stdin;
	if (!in)
		verb_misuse(verb, "could not read \"%s\"", path);
	*size = 0;
	do {
		body = xrealloc(body, *size + 65536);
		*size += fread(body + *size, 1, 65536, in);
	} while (!feof(in) && !ferror(in) && *size < TOKEN_MOST);
	if (ferror(in))
		verb_misuse(verb, "could not read \"%s\"", path);
	if (in != stdin)
		fclose(in);
	return body;
}

/* Make the credential. `server` is the value of --server, or NULL. */
static char *credential_make(const char *server, const struct auth_request *request, struct err *e)
{
	const struct conf *conf = call_conf();
	char *name = server ? xstrdup(server) : http_url_server(conf, e);
	char *credential = name ? auth_encode(conf->munge_socket, name, request, e) : NULL;

	free(name);
	return credential;
}

int verb_token(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	const char *data = "", *server = NULL;
	char *credential, *body;
	struct err e = {0};
	bool json = false;
	size_t size;

	for (int id; (id = verb_next(&scan));) {
		data = id == 'd' ? scan.value : data;
		server = id == 's' ? scan.value : server;
		json |= id == VERB_JSON;
	}
	verb_operands(&scan, 2, 2);
	body = body_read(scan.verb, data, &size);
	credential = credential_make(server, &(struct auth_request){argv[scan.at], argv[scan.at + 1], body, size}, &e);
	free(body);
	if (!credential) {
		call_error(&e);
		return EXIT_NO_GATE;
	}
	printf(json ? "{\"credential\":\"%s\"}\n" : "%s\n", credential);
	free(credential);
	return EXIT_OK;
}
