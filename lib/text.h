/* text.h - what a program printed, made fit to be kept. */
#ifndef ROTA_TEXT_H
#define ROTA_TEXT_H

/* Make it UTF-8 without control characters other than tab and newline: each byte that is not becomes '?'. The length stays. */
void text_clean(char *text);

#endif
