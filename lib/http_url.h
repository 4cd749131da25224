/* http_url.h - the parts of gate.url, and the name by which a client calls its jobmgrd. */
#ifndef ROTA_HTTP_URL_H
#define ROTA_HTTP_URL_H

#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

/* Split "https://host[:port]" or "https://[address][:port]" into malloc'ed host and port. */
bool http_url_split(const char *url, char **host, char **port, struct err *e);

/* Returns the malloc'ed name of the jobmgrd to which a client with this configuration connects: the host of gate.url, or
 * http_url_socket_name(). Returns NULL if gate.url is malformed. A credential names the server for which it was made. */
char *http_url_server(const struct conf *conf, struct err *e);

/* Returns the malloc'ed name by which credentials name the jobmgrd behind the instance's Unix socket. No host can have it. */
char *http_url_socket_name(const struct conf *conf);

#endif
