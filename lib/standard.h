/* standard.h - the three files that every program begins with. */
#ifndef ROTA_STANDARD_H
#define ROTA_STANDARD_H

/* What a main does first: of standard input, output and error one that is closed becomes one that cannot be read or written. Else what
 * is opened next would take its number, and what is printed or logged would go there: into a connection, or a journal. */
void standard_files(void);

#endif
