/* http_url.c - reads gate.url, and names the jobmgrd to which a client connects.
 *
 * Called by: http.c and `rota token` for credentials, http_tls.c to connect, jobmgrd for the name of its socket. */
#include "lib/http_url.h"

#include <stdlib.h>
#include <string.h>

bool http_url_split(const char *url, char **host, char **port, struct err *e)
{
	static const char scheme[] = "https://";
	size_t head = sizeof scheme - 1;
	*host = *port = NULL;
	if (strncmp(url, scheme, head) != 0)
		goto fail;
	const char *start = url + head, *end;
	if (*start == '[') {
		start++;
		end = start + strcspn(start, "]");
		if (!*end || end == start)
			goto fail;
		*host = xstrndup(start, (size_t)(end - start));
		end++;
	} else {
		end = start + strcspn(start, ":/");
		if (end == start)
			goto fail;
		*host = xstrndup(start, (size_t)(end - start));
	}
	size_t length = *end == ':' ? strspn(end + 1, "0123456789") : 0;
	*port = length ? xstrndup(end + 1, length) : xstrdup("6820");
	end += length ? length + 1 : 0;
	if (strcmp(end, "") == 0 || strcmp(end, "/") == 0)
		return true;
fail:
	free(*host);
	free(*port);
	return err_set(e, "\"url\" in section \"gate\": \"%s\" is not like https://host:6820", url);
}

char *http_url_server(const struct conf *conf, struct err *e)
{
	char *host, *port;
	if (!*conf->gate_url)
		return http_url_socket_name(conf);
	if (!http_url_split(conf->gate_url, &host, &port, e))
		return NULL;
	free(port);
	return host;
}

char *http_url_socket_name(const struct conf *conf)
{
	return xasprintf("unix:%s", conf->instance_name);
}
