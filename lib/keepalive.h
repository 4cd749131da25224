/* keepalive.h - TCP connections whose peer may vanish without a word. */
#ifndef ROTA_KEEPALIVE_H
#define ROTA_KEEPALIVE_H

/* See within about a minute that the peer's machine has gone, and send small messages at once. Does nothing to a Unix socket. */
void keepalive_watch(int fd);

#endif
