/* standard.h - makes sure that standard input, output and error are open. */
#ifndef ROTA_STANDARD_H
#define ROTA_STANDARD_H

/* Open /dev/null for each of standard input, output and error that is closed, so that reading or writing it fails. Every main
 * calls this first. Otherwise the next file that the program opens, such as a socket or a journal, would get the free descriptor,
 * and log lines would be written into it. */
void standard_files(void);

#endif
