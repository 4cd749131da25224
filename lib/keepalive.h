/* keepalive.h - detects that the machine at the other end of a TCP connection has gone without closing it. */
#ifndef ROTA_KEEPALIVE_H
#define ROTA_KEEPALIVE_H

/* Set a TCP socket so that the loss of the peer's machine is detected within about a minute, and small messages are sent at once.
 * Does nothing to a Unix socket. */
void keepalive_watch(int fd);

#endif
